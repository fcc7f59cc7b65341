// K(X, Y) tile by tile; when Y is X, the tiles on and below the diagonal, mirrored.
// Tiles do not depend on the number of threads, so neither does the result.
#include "common/interrupt.hpp"
#include "kernels/kernels.hpp"
#include "kernels/tile.hpp"

#include <omp.h>

namespace kg {
namespace {

constexpr i64 kTilesAtOnce = 512;  // tiles between two pauses: some tens of milliseconds

// The diagonal tile is made exactly symmetric, and exactly 1 on the diagonal where theory says so
// (but not where a NaN says otherwise).
template <class T> void settle_diagonal(const Spec& spec, T* tile, i64 n, i64 ld) {
  for (i64 i = 0; i < n; ++i) {
    if (spec.unit_diagonal() && tile[i * ld + i] == tile[i * ld + i]) tile[i * ld + i] = T(1);
    for (i64 j = 0; j < i; ++j) tile[j * ld + i] = tile[i * ld + j];
  }
}

template <class T>
void symmetric(const Spec& spec, const Rows<T>& X, const T* shift, T* out, i64 ld,
               const Scratch<T>& scratch, int threads) {
  const i64 b = kTileRows, blocks = ceil_div(X.n, b);
  const i64 tiles = blocks * (blocks + 1) / 2;
  for (i64 first = 0; first < tiles; first += kTilesAtOnce) {
    check_interrupt();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (i64 t = first; t < std::min(first + kTilesAtOnce, tiles); ++t) {
      // t counts the tiles of the lower triangle row by row
      i64 I = static_cast<i64>((std::sqrt(8.0 * static_cast<double>(t) + 1.0) - 1.0) / 2.0);
      while (I * (I + 1) / 2 > t) --I;
      while ((I + 1) * (I + 2) / 2 <= t) ++I;
      const i64 J = t - I * (I + 1) / 2;
      const i64 i0 = I * b, i1 = std::min(X.n, i0 + b), j0 = J * b, j1 = std::min(X.n, j0 + b);
      Tile<T> tile(spec, shift, X.d, scratch.block(omp_get_thread_num()));
      T* at = out + i0 * ld + j0;
      tile.compute(X, i0, i1, X, j0, j1, at, ld);
      if (I == J)
        settle_diagonal(spec, at, i1 - i0, ld);
      else
        loops<T>().transpose(at, i1 - i0, j1 - j0, ld, out + j0 * ld + i0, ld);
    }
  }
}

}  // namespace

template <class T>
void kernel_block(const Spec& spec, const Rows<T>& X, const Rows<T>& Y, bool same, T* out, i64 ld,
                  int threads) {
  const std::vector<T> mean = common_shift(spec, Y);
  const T* shift = mean.empty() ? nullptr : mean.data();
  const Scratch<T> scratch(threads, Tile<T>::scratch_size(X.d));
  if (same) return symmetric(spec, X, shift, out, ld, scratch, threads);
  const i64 rows = ceil_div(X.n, kTileRows), cols = ceil_div(Y.n, kTileCols);
  for (i64 first = 0; first < rows * cols; first += kTilesAtOnce) {
    check_interrupt();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (i64 t = first; t < std::min(first + kTilesAtOnce, rows * cols); ++t) {
      const i64 i0 = t / cols * kTileRows, j0 = t % cols * kTileCols;
      const i64 i1 = std::min(X.n, i0 + kTileRows), j1 = std::min(Y.n, j0 + kTileCols);
      Tile<T> tile(spec, shift, X.d, scratch.block(omp_get_thread_num()));
      tile.compute(X, i0, i1, Y, j0, j1, out + i0 * ld + j0, ld);
    }
  }
}

template void kernel_block<float>(const Spec&, const Rows<float>&, const Rows<float>&, bool, float*,
                                  i64, int);
template void kernel_block<double>(const Spec&, const Rows<double>&, const Rows<double>&, bool,
                                   double*, i64, int);

}  // namespace kg
