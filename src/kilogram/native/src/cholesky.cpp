// A = L L', recursively on halves:
//     L11 = chol(A11),   L21 = A21 L11'^-1,   A22 -= L21 L21',   L22 = chol(A22).
// Nearly all the work is in the products of the two middle steps, which the threads share as large
// tiles, each thread calling BLAS by itself: measured level with or ahead of a threaded BLAS, and
// LAPACK's potrf sees only small tiles (one call of order 16 000 with two threads crashes some
// OpenBLAS builds on AVX-512 machines).
// Only the lower triangle is read or written; the strict upper triangle is left as it was.
#include "core.hpp"
#include "blas.hpp"

#include <algorithm>

namespace kg {
namespace {

constexpr i64 kTile = 256;  // order of a tile that potrf or trsm sees
constexpr i64 kUnit = 64;   // sizes are split at multiples of this

// potrf of a tile; OpenBLAS lets a NaN pass as a positive pivot, so the diagonal is looked at again.
template <class T> i64 factor_tile(T* A, i64 n, i64 ld) {
  const i64 info = potrf_lower<T>(n, A, ld);
  if (info) return info;
  for (i64 i = 0; i < n; ++i)
    if (!(A[i * ld + i] > T(0))) return i + 1;
  return 0;
}

i64 half(i64 n) { return ceil_div(n / 2, kUnit) * kUnit; }

// B (m, n) := B L'^-1 on one thread.
template <class T> void solve_rows(i64 m, i64 n, const T* L, i64 ldl, T* B, i64 ldb) {
  if (n <= kTile) return trsm_right_lt<T>(m, n, L, ldl, B, ldb);
  const i64 h = half(n);
  solve_rows<T>(m, h, L, ldl, B, ldb);
  gemm_nt<T>(m, n - h, h, T(-1), B, ldb, L + h * ldl, ldl, T(1), B + h, ldb);
  solve_rows<T>(m, n - h, L + h * ldl + h, ldl, B + h, ldb);
}

// The same, the rows of B shared among the threads: they need nothing of each other.
template <class T> void solve(i64 m, i64 n, const T* L, i64 ldl, T* B, i64 ldb, int threads) {
  const i64 step = ceil_div(ceil_div(m, threads), kUnit) * kUnit;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (i64 i = 0; i < m; i += step)
    solve_rows<T>(std::min(step, m - i), n, L, ldl, B + i * ldb, ldb);
}

// The lower triangle of C (n, n) -= A A', A (n, k), in tiles: the full ones first, then the halves.
template <class T> void subtract_square(i64 n, i64 k, const T* A, i64 lda, T* C, i64 ldc, int threads) {
  const i64 step = ceil_div(ceil_div(n, 2 * i64(threads)), kUnit) * kUnit;
  const i64 blocks = ceil_div(n, step), full = blocks * (blocks - 1) / 2;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (i64 tile = 0; tile < full + blocks; ++tile) {
    i64 i = tile - full, j = i;
    if (tile < full) {
      i = 1;
      j = tile;
      while (j >= i) j -= i++;
    }
    const i64 rows = std::min(step, n - i * step), columns = std::min(step, n - j * step);
    T* out = C + i * step * ldc + j * step;
    if (i == j)
      syrk_nt<T>(rows, k, T(-1), A + i * step * lda, lda, T(1), out, ldc);
    else
      gemm_nt<T>(rows, columns, k, T(-1), A + i * step * lda, lda, A + j * step * lda, lda, T(1),
                 out, ldc);
  }
}

}  // namespace

template <class T> i64 cholesky(T* A, i64 n, i64 ld, int threads) {
  if (n <= kTile) return factor_tile<T>(A, n, ld);
  const i64 h = half(n);
  if (const i64 failed = cholesky<T>(A, h, ld, threads)) return failed;
  solve<T>(n - h, h, A, ld, A + h * ld, ld, threads);
  subtract_square<T>(n - h, h, A + h * ld, ld, A + h * ld + h, ld, threads);
  const i64 failed = cholesky<T>(A + h * ld + h, n - h, ld, threads);
  return failed ? h + failed : 0;
}

template i64 cholesky<float>(float*, i64, i64, int);
template i64 cholesky<double>(double*, i64, i64, int);

}  // namespace kg
