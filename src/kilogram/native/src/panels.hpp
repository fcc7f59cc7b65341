// S (D,D) = Z' Z for rows of Z that are made panel by panel and never all stored.
// Two ways, chosen by D alone so that the result does not depend on the threads:
//   narrow Z: fixed lanes of rows, each with its own S, one syrk per cache-sized panel;
//   wide Z:   one S for all; a large panel is filled by the team, then the tiles of S are updated.
// Sums are float64 also for float32 panels.
#pragma once
#include "blas.hpp"
#include "loops.hpp"
#include "rows.hpp"

#include <algorithm>
#include <omp.h>

namespace kg {

constexpr i64 kNarrow = 400;                    // widest Z for which every lane keeps its own S
constexpr i64 kPanelLanes = 16;
constexpr i64 kPanelBytes = i64(1) << 18;       // a narrow panel stays in L2
constexpr i64 kWidePanelBytes = i64(1) << 25;   // a wide one is long enough for gemm's full speed
constexpr i64 kSumTile = 384;                   // tiles of a wide S

template <class T> i64 narrow_rows(i64 D) {
  return std::clamp<i64>(kPanelBytes / i64(sizeof(T)) / D, 64, 4096);
}

// S += Z' Z (lower triangle)
inline void add_gram(const double* Z, i64 rows, i64 D, double* S, double*) {
  syrk_tn<double>(D, rows, 1.0, Z, D, 1.0, S, D);
}
inline void add_gram(const float* Z, i64 rows, i64 D, double* S, float* part) {
  syrk_tn<float>(D, rows, 1.0f, Z, D, 0.0f, part, D);
  for (i64 i = 0; i < D; ++i) loops<float>().add(part + i * D, 1, i + 1, D, S + i * D, D);
}

inline void mirror(double* S, i64 D) {
  for (i64 i = 0; i < D; ++i)
    for (i64 j = 0; j < i; ++j) S[j * D + i] = S[i * D + j];
}

template <class T, class Fill>
void gram_narrow(i64 n, i64 D, double* S, int threads, Fill fill) {
  const i64 rows = narrow_rows<T>(D), panels = ceil_div(n, rows);
  const i64 count = std::max<i64>(1, std::min(kPanelLanes, panels));
  const Scratch<T> scratch(threads, rows * D + D * D);
  const Scratch<double> lanes(count, D * D);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    T* Z = scratch.block(omp_get_thread_num());
    double* sum = lanes.block(lane);
    std::fill(sum, sum + D * D, 0.0);
    for (i64 p = lane * panels / count; p < (lane + 1) * panels / count; ++p) {
      const i64 r0 = p * rows, r1 = std::min(n, r0 + rows);
      fill(r0, r1, Z);
      add_gram(Z, r1 - r0, D, sum, Z + rows * D);
    }
  }
  for (i64 i = 0; i < D * D; ++i) {
    double s = 0;
    for (i64 l = 0; l < count; ++l) s += lanes.block(l)[i];
    S[i] = s;
  }
}

// One tile of S: rows i.., columns j.. of Z' Z, for j <= i.
inline void add_tile(const double* Z, i64 rows, i64 D, i64 i, i64 m, i64 j, i64 n, double* S,
                     double*) {
  if (i == j)
    syrk_tn<double>(m, rows, 1.0, Z + i, D, 1.0, S + i * D + i, D);
  else
    gemm_tn<double>(m, n, rows, 1.0, Z + i, D, Z + j, D, 1.0, S + i * D + j, D);
}
inline void add_tile(const float* Z, i64 rows, i64 D, i64 i, i64 m, i64 j, i64 n, double* S,
                     float* part) {
  gemm_tn<float>(m, n, rows, 1.0f, Z + i, D, Z + j, D, 0.0f, part, kSumTile);
  loops<float>().add(part, m, n, kSumTile, S + i * D + j, D);
}

template <class T, class Fill>
void gram_wide(i64 n, i64 D, double* S, int threads, Fill fill) {
  const i64 rows = std::clamp<i64>(kWidePanelBytes / i64(sizeof(T)) / D, 256, 8192);
  const i64 step = 64, blocks = ceil_div(D, kSumTile);
  const Scratch<T> panel(1, std::min(rows, n) * D);
  const Scratch<T> parts(threads, kSumTile * kSumTile);
  std::fill(S, S + D * D, 0.0);
#pragma omp parallel num_threads(threads)
  for (i64 r0 = 0; r0 < n; r0 += rows) {
    const i64 r1 = std::min(n, r0 + rows);
#pragma omp for schedule(dynamic, 1)
    for (i64 r = r0; r < r1; r += step) fill(r, std::min(r1, r + step), panel.block(0) + (r - r0) * D);
#pragma omp for schedule(dynamic, 1)
    for (i64 task = 0; task < blocks * blocks; ++task) {
      // tiles off the diagonal first: the half-sized diagonal ones fill the gaps at the end
      const i64 I = task / blocks, J = (task + I + 1) % blocks;
      if (J > I) continue;
      const i64 i = I * kSumTile, j = J * kSumTile;
      add_tile(panel.block(0), r1 - r0, D, i, std::min(kSumTile, D - i), j,
               std::min(kSumTile, D - j), S, parts.block(omp_get_thread_num()));
    }
  }
}

// fill(r0, r1, Z) writes rows r0..r1 of Z, leading dimension D.
template <class T, class Fill> void gram_of_rows(i64 n, i64 D, double* S, int threads, Fill fill) {
  if (D <= kNarrow)
    gram_narrow<T>(n, D, S, threads, fill);
  else
    gram_wide<T>(n, D, S, threads, fill);
  mirror(S, D);
}

}  // namespace kg
