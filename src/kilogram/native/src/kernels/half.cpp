// A V for a symmetric A of which only the lower half is stored: every entry is read once and serves its
// row and its column. The half lies in bands of kHalfRows rows, one after another, each as long as its
// last row: no memory is touched above the diagonal but within a band. Sums run in an order fixed by the
// sizes alone: the rows are cut into parts of equal area, each part has its own sums, and they are added
// in order at the end. The columns of V travel in groups of one vector: memory, not arithmetic, sets the
// pace.
#include "kernels/kernels.hpp"
#include "kernels/tile.hpp"

#include <omp.h>

namespace kg {
namespace {

constexpr i64 kParts = 16;  // sums of their own, whatever the threads: at most as many threads are busy
constexpr i64 kPanelRows = 60;   // whole blocks of the loop, and a part of a band; a panel of
constexpr i64 kPanelCols = 256;  // 60 x 256 entries stays in cache for all groups of columns
static_assert(kHalfRows % kPanelRows == 0);

// First row of a part: the area above row r is r^2 / 2.
i64 part_start(i64 part, i64 n) {
  const double fraction = static_cast<double>(part) / static_cast<double>(kParts);
  const i64 row = static_cast<i64>(std::sqrt(fraction) * static_cast<double>(n));
  return std::min(n, row / kPanelRows * kPanelRows);
}

// V (n,t) -> groups of W columns, each (n,W), zeros beyond the last column
template <class T> void pack_groups(const T* V, i64 n, i64 t, i64 W, T* out) {
  for (i64 c0 = 0; c0 < t; c0 += W, out += n * W)
    for (i64 i = 0; i < n; ++i)
      for (i64 c = 0; c < W; ++c) out[i * W + c] = c0 + c < t ? V[i * t + c0 + c] : T(0);
}

// y += rows i0..i1 of the lower half, as rows and as columns, for every group of columns
template <class T>
void panel(const T* half, i64 n, i64 i0, i64 i1, const T* V, i64 groups, i64 W, T* y, T* sum) {
  const i64 rows = i1 - i0, own = kPanelRows * W, band = i0 / kHalfRows;
  const i64 ld = std::min(n, (band + 1) * kHalfRows);
  const T* A = half + kHalfRows * kHalfRows * band * (band + 1) / 2 + i0 % kHalfRows * ld;
  std::fill(sum, sum + groups * own, T(0));
  for (i64 j0 = 0; j0 < i0; j0 += kPanelCols)
    for (i64 g = 0; g < groups; ++g) {
      const T* v = V + g * n * W;
      loops<T>().half_rows(A + j0, ld, rows, std::min(kPanelCols, i0 - j0), v + j0 * W,
                           y + (g * n + j0) * W, v + i0 * W, sum + g * own);
    }
  for (i64 g = 0; g < groups; ++g) {
    const T* v = V + (g * n + i0) * W;
    T *out = y + (g * n + i0) * W, *mine = sum + g * own;
    for (i64 r = 0; r < rows; ++r) {  // within the panel, up to the diagonal
      loops<T>().half_rows(A + r * ld + i0, ld, 1, r, v, out, v + r * W, mine + r * W);
      const T diagonal = A[r * ld + i0 + r];
      for (i64 c = 0; c < W; ++c) mine[r * W + c] += diagonal * v[r * W + c];
    }
    for (i64 e = 0; e < rows * W; ++e) out[e] += mine[e];
  }
}

}  // namespace

template <class T>
void half_matmul(const T* half, i64 n, const T* V, i64 t, T* out, int threads) {
  const i64 W = loops<T>().lanes, groups = ceil_div(t, W), size = n * groups * W;
  const Scratch<T> packed(1, size), sums(kParts, size);
  const Scratch<T> scratch(threads, kPanelRows * groups * W);
  pack_groups(V, n, t, W, packed.block(0));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 part = 0; part < kParts; ++part) {
    const i64 stop = part + 1 == kParts ? n : part_start(part + 1, n);
    T* y = sums.block(part);
    std::fill(y, y + size, T(0));
    T* sum = scratch.block(omp_get_thread_num());
    for (i64 i0 = part_start(part, n); i0 < stop; i0 += kPanelRows)
      panel(half, n, i0, std::min(stop, i0 + kPanelRows), packed.block(0), groups, W, y, sum);
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 i = 0; i < n; ++i)
    for (i64 c = 0; c < t; ++c) {
      T s = 0;
      for (i64 part = 0; part < kParts; ++part)
        s += sums.block(part)[(c / W * n + i) * W + c % W];
      out[i * t + c] = s;
    }
}

template void half_matmul<float>(const float*, i64, const float*, i64, float*, int);
template void half_matmul<double>(const double*, i64, const double*, i64, double*, int);

}  // namespace kg
