// A = L L' by recursion on the columns of a panel of all the rows below:
//     factor the left half of the columns,  C -= P P' for the right half,  factor the right half,
// where P are the rows of the left half from the right half's first row down. Nearly all the work is
// in C -= P P', which has its own packed product here: every row of P is packed once and serves both
// sides, and the threads share blocks of rows of C. LAPACK's potrf sees only tiles of order 64 (one
// call of order 16 000 with two threads crashes some OpenBLAS builds).
// Floor: n^3/3 flops at the rate of the multiply-add units; measured at 80 % of that rate, where a
// large gemm of OpenBLAS is at 75 %.
// Only the lower triangle is read or written; the strict upper triangle is left as it was.
#include "common/interrupt.hpp"
#include "linalg/blas.hpp"
#include "linalg/cholesky.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <omp.h>

namespace kg {
namespace {

constexpr i64 kTile = 64;        // order of a tile that potrf sees; kFactorTile
constexpr i64 kRowBlock = 96;    // rows of C that one thread takes at a time; whole strips everywhere
constexpr i64 kSolveRows = 192;  // rows that one thread solves at a time

// potrf of a tile; OpenBLAS lets a NaN pass as a positive pivot, so the diagonal is looked at again.
template <class T> i64 factor_tile(T* A, i64 n, i64 ld) {
  const i64 info = potrf_lower<T>(n, A, ld);
  if (info) return info;
  for (i64 i = 0; i < n; ++i)
    if (!(A[i * ld + i] > T(0))) return i + 1;
  return 0;
}

// Rows w..m of a panel of one tile's width: B := B L'^-1, the threads share the rows.
template <class T> void solve_below(T* A, i64 m, i64 w, i64 ld, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (m - w > kSolveRows)
  for (i64 i = w; i < m; i += kSolveRows)
    loops<T>().solve_lanes(A, w, A + i * ld, std::min(kSolveRows, m - i), ld);
}

template <class T> struct Factor {
  T* packed;  // every row of the matrix, `steps` columns at a time
  i64 ld;
  int threads;

  // C (m, columns) -= P P' on and below the diagonal, P (m, depth) to the left of C.
  void update(T* C, i64 m, i64 columns, i64 depth) const {
    const Loops<T>& f = loops<T>();
    const i64 blocks = ceil_div(m, kRowBlock);
    for (i64 k = 0; k < depth; k += f.factor_steps) {
      check_interrupt();  // between parallel regions: a factor of order 20 000 takes minutes
      const i64 steps = std::min(f.factor_steps, depth - k);
      const T* P = C - depth + k;
#pragma omp parallel num_threads(threads) if (m > kRowBlock)
      {
#pragma omp for schedule(static)
      for (i64 b = 0; b < blocks; ++b)
        f.pack_lanes(P + b * kRowBlock * ld, std::min(kRowBlock, m - b * kRowBlock), steps, ld,
                     packed + b * kRowBlock * steps);
      // the longest blocks first, so that the threads end together
#pragma omp for schedule(dynamic, 1)
      for (i64 b = blocks - 1; b >= 0; --b)
        f.subtract_rows(packed, steps, b * kRowBlock, std::min(m, (b + 1) * kRowBlock), columns, C, ld);
      }
    }
  }

  // L in the columns of A (m, w), m >= w; 0 or the order of the failing minor
  i64 panel(T* A, i64 m, i64 w) const {
    if (w <= kTile) {
      const i64 failed = factor_tile<T>(A, w, ld);
      if (!failed) solve_below<T>(A, m, w, ld, threads);
      return failed;
    }
    const i64 h = ceil_div(w / 2, kTile) * kTile;
    if (const i64 failed = panel(A, m, h)) return failed;
    T* right = A + h * ld + h;
    update(right, m - h, w - h, h);
    const i64 failed = panel(right, m - h, w - h);
    return failed ? h + failed : 0;
  }
};

}  // namespace

template <class T> i64 cholesky(T* A, i64 n, i64 ld, int threads) {
  // whole strips, three of them read at a time
  const i64 rows = ceil_div(n, kRowBlock) * kRowBlock + kRowBlock;
  const Scratch<T> packed(1, n > kTile ? rows * loops<T>().factor_steps : 0);
  return Factor<T>{packed.block(0), ld, threads}.panel(A, n, n);
}

template i64 cholesky<float>(float*, i64, i64, int);
template i64 cholesky<double>(double*, i64, i64, int);

}  // namespace kg
