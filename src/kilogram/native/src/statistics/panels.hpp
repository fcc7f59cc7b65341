// S = Z' Z for rows of Z that are made in chunks, packed in strips, and never all stored.
// Two ways, chosen by the width alone so that the result does not depend on the threads:
//   narrow Z: fixed lanes of rows, each with its own S; one chunk at a time, in L2;
//   wide Z:   one S for all; the team fills a panel of many chunks, then shares the tiles of S, so
//             that a tile of S stays in cache over all chunks of the panel.
// Sums are float64 also for float32 rows.
#pragma once
#include "common/rows.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <omp.h>

namespace kg {

constexpr i64 kNarrow = 400;                   // widest Z for which every lane keeps its own S
constexpr i64 kPanelLanes = 16;
constexpr i64 kChunk = 160;                    // rows; three narrow strips of a chunk stay in L1
constexpr i64 kWidePanelBytes = i64(1) << 24;
constexpr i64 kSumTile = 96;                   // whole strips everywhere; with two chunks of operands in L2

// Lanes for n rows: a lane costs its own S, so it must have some rows to add up.
inline i64 lanes_for(i64 n) { return std::clamp<i64>(n / (4 * kChunk), 1, kPanelLanes); }

// Some rows of Z being made: at most kChunk rows, all columns, in strips.
template <class T> struct Chunk {
  T* z;
  i64 rows;

  // columns c.. = (x - shift) * scale[row]
  void put(i64 c, const T* x, i64 cols, i64 rs, i64 cs, const T* shift, const T* scale) const {
    loops<T>().pack_column_strips(x, rows, cols, rs, cs, shift, scale, z, c);
  }
  // column c = scale[row], or 1
  void put_ones(i64 c, const T* scale) const {
    static const T one = 1;
    put(c, &one, 1, 0, 0, nullptr, scale);
  }
  // zeros beyond column c, up to whole strips: padding must not hold NaN from elsewhere
  void pad(i64 c, i64 width) const {
    static const T zero = 0;
    put(c, &zero, width - c, 0, 0, nullptr, nullptr);
  }
};

// What follows row r of rows that lie one after another: some bytes to ask memory for in time.
template <class T> struct Next {
  const T* at;
  i64 bytes;
};
template <class T> Next<T> next_rows(const Rows<T>* X, i64 r, i64 rows) {
  if (!X || X->cs != 1 || X->rs < X->d || X->rs > 2 * X->d || r >= X->n) return {nullptr, 0};
  return {X->at(r, 0), std::min(rows, X->n - r) * X->rs * i64(sizeof(T))};
}

// S has leading dimension ld >= whole strips of D; only its lower triangle is filled.
template <class T, class Fill>
void gram_narrow(i64 n, i64 D, double* S, i64 ld, int threads, const Rows<T>* X, Fill fill) {
  const Loops<T>& f = loops<T>();
  const i64 width = ceil_div(D, f.strip) * f.strip, chunks = ceil_div(n, kChunk);
  const i64 count = lanes_for(n);
  const Scratch<T> scratch(threads, kChunk * width);
  const Scratch<double> lanes(count, width * width);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    T* Z = scratch.block(omp_get_thread_num());
    double* sum = lanes.block(lane);
    std::fill(sum, sum + width * width, 0.0);
    for (i64 p = lane * chunks / count; p < (lane + 1) * chunks / count; ++p) {
      const i64 r0 = p * kChunk;
      const Chunk<T> chunk{Z, std::min(kChunk, n - r0)};
      fill(r0, chunk);
      chunk.pad(D, ceil_div(D, f.lanes) * f.lanes);
      const Next<T> next = next_rows(X, r0 + kChunk, kChunk);
      f.gram(Z, chunk.rows, chunk.rows, D, sum, width, next.at, next.bytes);
    }
  }
  for (i64 i = 0; i < D; ++i) {
    std::fill(S + i * ld, S + i * ld + i + 1, 0.0);
    for (i64 l = 0; l < count; ++l)
      loops<double>().add(lanes.block(l) + i * width, 1, i + 1, width, S + i * ld, ld);
  }
}

// The tile at (i, j) of S += Z' Z over one chunk.
template <class T>
void add_tile(const Chunk<T>& chunk, i64 D, i64 i, i64 j, double* S, i64 ld) {
  const T *zi = chunk.z + i * chunk.rows, *zj = chunk.z + j * chunk.rows;
  const i64 m = std::min(kSumTile, D - i), n = std::min(kSumTile, D - j);
  if (i == j)
    loops<T>().gram(zi, chunk.rows, chunk.rows, m, S + i * ld + j, ld, nullptr, 0);
  else
    loops<T>().cross(zi, zj, chunk.rows, m, n, S + i * ld + j, ld);
}

template <class T, class Fill>
void gram_wide(i64 n, i64 D, double* S, i64 ld, int threads, Fill fill) {
  const Loops<T>& f = loops<T>();
  const i64 width = ceil_div(D, f.strip) * f.strip, blocks = ceil_div(D, kSumTile);
  const i64 chunk_size = kChunk * width, most = kWidePanelBytes / i64(sizeof(T)) / chunk_size;
  const i64 panel = std::clamp<i64>(most, 4, 64) * kChunk;
  const Scratch<T> scratch(std::min(ceil_div(n, kChunk), panel / kChunk), chunk_size);
  std::fill(S, S + width * ld, 0.0);
#pragma omp parallel num_threads(threads)
  for (i64 r0 = 0; r0 < n; r0 += panel) {
    const i64 r1 = std::min(n, r0 + panel);
    const auto chunk = [&](i64 r) {
      return Chunk<T>{scratch.block((r - r0) / kChunk), std::min(kChunk, r1 - r)};
    };
#pragma omp for schedule(dynamic, 1)
    for (i64 r = r0; r < r1; r += kChunk) {
      fill(r, chunk(r));
      chunk(r).pad(D, width);
    }
#pragma omp for schedule(dynamic, 1)
    for (i64 task = 0; task < blocks * (blocks + 1) / 2; ++task) {
      // diagonal by diagonal from the corner: the half-sized tiles on the main one end the queue
      i64 k = 0, first = 0;
      while (first + k + 1 <= task) first += ++k;
      const i64 J = task - first, I = J + blocks - 1 - k;
      for (i64 r = r0; r < r1; r += kChunk)
        add_tile(chunk(r), D, I * kSumTile, J * kSumTile, S, ld);
    }
  }
}

inline void mirror(double* S, i64 D, i64 ld) {
  constexpr i64 b = 64;
  for (i64 i = 0; i < D; i += b) {
    const i64 m = std::min(b, D - i);
    for (i64 j = 0; j < i; j += b)
      loops<double>().transpose(S + i * ld + j, m, b, ld, S + j * ld + i, ld);
    for (i64 r = i; r < i + m; ++r)
      for (i64 c = i; c < r; ++c) S[c * ld + r] = S[r * ld + c];
  }
}

// fill(r0, chunk) writes the rows r0.. of Z into the chunk, from the rows of X if that is given.
template <class T, class Fill>
void gram_of_rows(i64 n, i64 D, double* S, i64 ld, int threads, const Rows<T>* X, Fill fill) {
  if (D <= kNarrow)
    gram_narrow<T>(n, D, S, ld, threads, X, fill);
  else
    gram_wide<T>(n, D, S, ld, threads, fill);
  mirror(S, D, ld);
}

}  // namespace kg
