// Gradients from kernel rows, made tile by tile or read from a cache, and the choice of the block.
// Each thread owns some columns of g, so sums run in one order whatever the number of threads.
#include "svm/loops.hpp"
#include "svm/smo.hpp"
#include "simd/dispatch.hpp"

#include <cstring>
#include <limits>
#include <omp.h>
#include <utility>
#include <vector>

namespace kg {

KG_TABLE(SmoLoops, smo_table)
const SmoLoops& smo_loops() { KG_PICK(smo_table) }

namespace {

void add(const float* const* rows, const double* delta, i64 m, i64 cols, double* g) {
  smo_loops().add_f32(rows, delta, m, cols, g);
}
void add(const double* const* rows, const double* delta, i64 m, i64 cols, double* g) {
  smo_loops().add_f64(rows, delta, m, cols, g);
}
void keep(const double* from, float* to, i64 n) { smo_loops().narrow(from, to, n); }
void keep(const double* from, double* to, i64 n) { std::memcpy(to, from, n * sizeof(double)); }
void keep(const float* from, float* to, i64 n) { std::memcpy(to, from, n * sizeof(float)); }

template <class S>
void add_cached(const S* cache, i64 ld, const i64* slot, const double* delta, i64 m, i64 j0, i64 n,
                double* g, const S** rows) {
  for (i64 i = 0; i < m; ++i) rows[i] = cache + slot[i] * ld + j0;
  add(rows, delta, m, n, g + j0);
}

}  // namespace

template <class T, class S>
void smo_gradient(const Spec& spec, const Rows<T>& X, const Rows<T>& A, const i64* slot,
                  const double* delta, S* cache, i64 ld, const i64* old, const double* old_delta,
                  i64 m_old, double* g, int threads) {
  const i64 tiles = ceil_div(X.n, kTileCols);
  const Scratch<T> scratch(threads, Tile<T>::scratch_size(X.d) + kTileRows * kTileCols);
  const Scratch<const S*> pointers(threads, std::max<i64>(m_old, 1));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 J = 0; J < tiles; ++J) {
    const i64 j0 = J * kTileCols, j1 = std::min(X.n, j0 + kTileCols), n = j1 - j0;
    T* out = scratch.block(omp_get_thread_num());
    Tile<T> tile(spec, nullptr, X.d, out + kTileRows * kTileCols);
    const T* made[kTileRows];
    for (i64 i0 = 0; i0 < A.n; i0 += kTileRows) {
      const i64 i1 = std::min(A.n, i0 + kTileRows);
      tile.compute(A, i0, i1, X, j0, j1, out, kTileCols);
      for (i64 i = i0; i < i1; ++i) {
        made[i - i0] = out + (i - i0) * kTileCols;
        if (slot[i] >= 0) keep(made[i - i0], cache + slot[i] * ld + j0, n);
      }
      add(made, delta + i0, i1 - i0, n, g + j0);
    }
    add_cached(cache, ld, old, old_delta, m_old, j0, n, g,
               pointers.block(omp_get_thread_num()));
  }
}

template <class S>
void smo_add(const S* cache, i64 n, i64 ld, const i64* slot, const double* delta, i64 m, double* g,
             int threads) {
  const i64 width = 1024, tiles = ceil_div(n, width);
  const Scratch<const S*> pointers(threads, std::max<i64>(m, 1));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 J = 0; J < tiles; ++J)
    add_cached(cache, ld, slot, delta, m, J * width, std::min(width, n - J * width), g,
               pointers.block(omp_get_thread_num()));
}

template <class S>
void smo_square(const S* cache, i64 ld, const i64* slot, const i64* at, i64 q, const S* made, S* out,
                int threads) {
  std::vector<i64> lacking;
  for (i64 i = 0; i < q; ++i)
    if (slot[i] < 0) lacking.push_back(i);
  const i64 m = static_cast<i64>(lacking.size()), width = 32, strips = ceil_div(m, width);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (i64 i = 0; i < q; ++i) {
      if (slot[i] < 0) continue;
      const S* row = cache + slot[i] * ld;
      for (i64 j = 0; j < q; ++j) out[i * q + j] = row[at[j]];
    }
#pragma omp for schedule(static)
    for (i64 strip = 0; strip < strips; ++strip) {
      const i64 r0 = strip * width, r1 = std::min(m, r0 + width);
      for (i64 j = 0; j < q; ++j)
        if (slot[j] >= 0)
          for (i64 r = r0; r < r1; ++r) out[lacking[r] * q + j] = out[j * q + lacking[r]];
      for (i64 r = r0; r < r1; ++r)
        for (i64 k = 0; k < m; ++k) out[lacking[r] * q + lacking[k]] = made[r * m + k];
    }
  }
}

void smo_add_bits(const BitProblem& P, const double* delta, const double* table, double* g,
                  int threads) {
  // as many rows of A as stay in L1 beside the table, and columns in pieces for the threads
  const i64 width = 512, deep = std::max<i64>(16, 1024 / P.words), tiles = ceil_div(P.n, width);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 J = 0; J < tiles; ++J) {
    const i64 j0 = J * width;
    BitProblem part = P;
    part.B = P.B + j0 * P.words;
    part.n = std::min(width, P.n - j0);
    for (i64 i0 = 0; i0 < P.m; i0 += deep) {
      part.A = P.A + i0 * P.words;
      part.m = std::min(deep, P.m - i0);
      smo_loops().add_bits(part, delta + i0, table, g + j0);
    }
  }
}

namespace {
void values(const BitProblem& P, const float* table, float* out, i64 ld) {
  smo_loops().bits_f32(P, table, out, ld);
}
void values(const BitProblem& P, const double* table, double* out, i64 ld) {
  smo_loops().bits_f64(P, table, out, ld);
}
}  // namespace

template <class S> void smo_bit_square(const BitProblem& P, const S* table, S* out, int threads) {
  const i64 height = 16, strips = ceil_div(P.m, height);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 strip = 0; strip < strips; ++strip) {
    const i64 i0 = strip * height;
    BitProblem part = P;
    part.A = P.A + i0 * P.words;
    part.m = std::min(height, P.m - i0);
    values(part, table, out + i0 * P.n, P.n);
  }
}

namespace {

using Violator = std::pair<double, i64>;  // how far, then which: ties go to the smaller index

// The `ask` smallest of `found`, into chosen.
i64 take(std::vector<Violator>& found, i64 ask, i64* chosen) {
  const i64 count = std::min<i64>(ask, static_cast<i64>(found.size()));
  std::nth_element(found.begin(), found.begin() + count, found.end());
  for (i64 k = 0; k < count; ++k) chosen[k] = found[k].second;
  return count;
}

}  // namespace

i64 smo_select(const Variables& v, const unsigned char* kept, i64 ask, double* f, i64* chosen,
               double* extremes) {
  double smallest = std::numeric_limits<double>::infinity(), largest = -smallest;
  for (i64 i = 0; i < v.m; ++i) {
    f[i] = v.g[v.point[i]] + v.s[i] * v.b[i] - v.t[i];
    if (v.b[i] < v.upper[i]) smallest = std::min(smallest, f[i]);
    if (v.b[i] > v.lower[i]) largest = std::max(largest, f[i]);
  }
  extremes[0] = smallest;
  extremes[1] = largest;
  std::vector<Violator> rise, fall;
  for (i64 i = 0; i < v.m; ++i)
    if (!kept[i] && v.b[i] < v.upper[i] && f[i] < largest) rise.emplace_back(f[i], i);
  i64 count = take(rise, ask / 2, chosen);
  std::vector<unsigned char> taken(v.m, 0);
  for (i64 k = 0; k < count; ++k) taken[chosen[k]] = 1;
  for (i64 i = 0; i < v.m; ++i)
    if (!kept[i] && !taken[i] && v.b[i] > v.lower[i] && f[i] > smallest) fall.emplace_back(-f[i], i);
  return count + take(fall, ask - count, chosen + count);
}

#define KG_SMO(T, S)                                                                              \
  template void smo_gradient<T, S>(const Spec&, const Rows<T>&, const Rows<T>&, const i64*,        \
                                   const double*, S*, i64, const i64*, const double*, i64, double*, \
                                   int);
KG_SMO(float, float)
KG_SMO(double, float)
KG_SMO(double, double)
template void smo_square<float>(const float*, i64, const i64*, const i64*, i64, const float*, float*,
                                int);
template void smo_square<double>(const double*, i64, const i64*, const i64*, i64, const double*,
                                 double*, int);
template void smo_bit_square<float>(const BitProblem&, const float*, float*, int);
template void smo_bit_square<double>(const BitProblem&, const double*, double*, int);
template void smo_add<float>(const float*, i64, i64, const i64*, const double*, i64, double*, int);
template void smo_add<double>(const double*, i64, i64, const i64*, const double*, i64, double*, int);

}  // namespace kg
