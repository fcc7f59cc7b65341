// A = L L', block column by block column, left-looking: before a block column is factored, all
// earlier columns are subtracted from it in one gemm with a long inner dimension,
//     A[j:, j] -= L[j:, :j] L[j, :j]',   L[j, j] = chol(A[j, j]),   L[i, j] = A[i, j] L[j, j]'^-1,
// so nearly all the work runs at gemm's speed. LAPACK's potrf sees only small tiles: one call of
// order 16 000 with two threads crashes OpenBLAS on AVX-512 machines.
// Only the lower triangle is read or written; the strict upper triangle is left as it was.
#include "core.hpp"
#include "blas.hpp"

#include <algorithm>

namespace kg {
namespace {

constexpr i64 kWidth = 256;   // block columns
constexpr i64 kHeight = 512;  // rows per task

// potrf of a tile; OpenBLAS lets a NaN pass as a positive pivot, so the diagonal is looked at again.
template <class T> i64 factor_tile(T* A, i64 n, i64 ld) {
  const i64 info = potrf_lower<T>(n, A, ld);
  if (info) return info;
  for (i64 i = 0; i < n; ++i)
    if (!(A[i * ld + i] > T(0))) return i + 1;
  return 0;
}

}  // namespace

template <class T> i64 cholesky(T* A, i64 n, i64 ld, int threads) {
  i64 failed = 0;
#pragma omp parallel num_threads(threads)
  for (i64 j = 0; j < n; j += kWidth) {
    const i64 w = std::min(kWidth, n - j), below = j + w;
    T* diagonal = A + j * ld + j;
#pragma omp for schedule(dynamic, 1)
    for (i64 task = -1; task < ceil_div(n - below, kHeight); ++task) {
      if (task < 0) {
        if (j) syrk_nt<T>(w, j, T(-1), A + j * ld, ld, T(1), diagonal, ld);
        const i64 info = factor_tile(diagonal, w, ld);
        if (info) failed = j + info;
      } else if (j) {
        const i64 i = below + task * kHeight, m = std::min(kHeight, n - i);
        gemm_nt<T>(m, w, j, T(-1), A + i * ld, ld, A + j * ld, ld, T(1), A + i * ld + j, ld);
      }
    }
    // All threads read `failed` here, between two barriers: it is next written after the second.
    if (failed) break;
#pragma omp for schedule(dynamic, 1)
    for (i64 i = below; i < n; i += kHeight)
      trsm_right_lt<T>(std::min(kHeight, n - i), w, diagonal, ld, A + i * ld + j, ld);
  }
  return failed;
}

template i64 cholesky<float>(float*, i64, i64, int);
template i64 cholesky<double>(double*, i64, i64, int);

}  // namespace kg
