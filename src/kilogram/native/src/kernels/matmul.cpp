// K(X, Y) V without storing K: each tile is made in cache, multiplied and forgotten.
// Sums run in an order fixed by the sizes alone: rows of tiles are dealt to a fixed number of
// lanes, each lane adds its tiles in order, and the lanes are added in order at the end.
#include "common/interrupt.hpp"
#include "kernels/kernels.hpp"
#include "kernels/tile.hpp"

#include <omp.h>

namespace kg {
namespace {

constexpr i64 kLanes = 16;  // sums of their own, whatever the threads: at most as many threads are busy
constexpr i64 kThin = 64;  // widest V for which BLAS spends more on its call than on the product
constexpr i64 kTilesAtOnce = 1024;  // of a thread between two looks for Ctrl-C: some tens of ms
constexpr i64 kLaneBytes = i64(1) << 28;  // more than this for lanes, and symmetry is not used

// acc (m,t) += tile (m,n) V (n,t)
template <class T>
void multiply(const T* tile, i64 m, i64 n, i64 ld, const T* V, i64 t, T* acc) {
  if (t == 1)
    gemv_n<T>(m, n, T(1), tile, ld, V, T(1), acc);
  else if (t % loops<T>().lanes == 0 && t <= kThin)
    loops<T>().thin(tile, ld, 1, m, n, V, t, t, acc, t);
  else
    gemm_nn<T>(m, t, n, T(1), tile, ld, V, t, T(1), acc, t);
}

// acc (n,t) += tile(m,n)' V (m,t)
template <class T>
void multiply_t(const T* tile, i64 m, i64 n, i64 ld, const T* V, i64 t, T* acc) {
  if (t == 1)
    gemv_t<T>(m, n, T(1), tile, ld, V, T(1), acc);
  else if (t % loops<T>().lanes == 0 && t <= kThin)
    loops<T>().thin(tile, 1, ld, n, m, V, t, t, acc, t);
  else
    gemm_tn<T>(n, t, m, T(1), tile, ld, V, t, T(1), acc, t);
}

template <class T>
void add_lanes(const Scratch<T>& lanes, i64 count, i64 size, T* out, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 i = 0; i < size; ++i) {
    T s = 0;
    for (i64 l = 0; l < count; ++l) s += lanes.block(l)[i];
    out[i] = s;
  }
}

// Y is X: every tile below the diagonal serves its own rows and, transposed, its columns' rows.
template <class T>
void symmetric(const Spec& spec, const Rows<T>& X, const T* shift, const T* V, i64 t, T* out,
               int threads) {
  const i64 b = kLowRows, blocks = ceil_div(X.n, b), count = std::min(kLanes, blocks);
  const Scratch<T> scratch(threads, Tile<T>::scratch_size(X.d) + b * b);
  const Scratch<T> lanes(count, X.n * t);
  const i64 step = count * std::max<i64>(1, kTilesAtOnce / std::max<i64>(1, count * blocks));
  for (i64 first = 0; first < blocks; first += step) {
    check_interrupt();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (i64 lane = 0; lane < count; ++lane) {
      T* memory = scratch.block(omp_get_thread_num());
      T* tile = memory;
      Tile<T> maker(spec, shift, X.d, memory + b * b);
      T* acc = lanes.block(lane);
      if (first == 0) std::fill(acc, acc + X.n * t, T(0));
      for (i64 I = first + lane; I < std::min(first + step, blocks); I += count)
        for (i64 J = 0; J <= I; ++J) {
          const i64 i0 = I * b, i1 = std::min(X.n, i0 + b), j0 = J * b, j1 = std::min(X.n, j0 + b);
          const i64 m = i1 - i0, n = j1 - j0;
          maker.compute(X, i0, i1, X, j0, j1, tile, b);
          if (I == J && spec.unit_diagonal())
            for (i64 i = 0; i < m; ++i)
              if (tile[i * b + i] == tile[i * b + i]) tile[i * b + i] = T(1);
          multiply(tile, m, n, b, V + j0 * t, t, acc + i0 * t);
          if (I != J) multiply_t(tile, m, n, b, V + i0 * t, t, acc + j0 * t);
        }
    }
  }
  add_lanes(lanes, count, X.n * t, out, threads);
}

}  // namespace

template <class T>
void kernel_matmul(const Spec& spec, const Rows<T>& X, const Rows<T>& Y, bool same, const T* V,
                   i64 t, T* out, int threads) {
  const std::vector<T> mean = common_shift(spec, Y);
  const T* shift = mean.empty() ? nullptr : mean.data();
  if (same && kLanes * X.n * t * i64(sizeof(T)) <= kLaneBytes)
    return symmetric(spec, X, shift, V, t, out, threads);
  // Few rows against many columns (prediction): the columns are dealt to lanes as well.
  const i64 rows = ceil_div(X.n, kLowRows), cols = ceil_div(Y.n, kTileCols);
  const i64 count = std::max<i64>(1, std::min(cols, kLanes / std::max<i64>(rows, 1)));
  const Scratch<T> scratch(threads, Tile<T>::scratch_size(X.d) + kLowRows * kTileCols);
  const Scratch<T> lanes(count, X.n * t);
  const i64 tasks = rows * count;
  const i64 step = threads * std::max<i64>(1, kTilesAtOnce * count / std::max<i64>(cols, 1));
  for (i64 first = 0; first < tasks; first += step) {
    check_interrupt();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (i64 task = first; task < std::min(first + step, tasks); ++task) {
      const i64 i0 = task / count * kLowRows, i1 = std::min(X.n, i0 + kLowRows);
      const i64 lane = task % count;
      T* memory = scratch.block(omp_get_thread_num());
      Tile<T> maker(spec, shift, X.d, memory + kLowRows * kTileCols);
      T* acc = lanes.block(lane) + i0 * t;
      std::fill(acc, acc + (i1 - i0) * t, T(0));
      for (i64 J = lane * cols / count; J < (lane + 1) * cols / count; ++J) {
        const i64 j0 = J * kTileCols, j1 = std::min(Y.n, j0 + kTileCols);
        maker.compute(X, i0, i1, Y, j0, j1, memory, kTileCols);
        multiply(memory, i1 - i0, j1 - j0, kTileCols, V + j0 * t, t, acc);
      }
    }
  }
  add_lanes(lanes, count, X.n * t, out, threads);
}

template void kernel_matmul<float>(const Spec&, const Rows<float>&, const Rows<float>&, bool,
                                   const float*, i64, float*, int);
template void kernel_matmul<double>(const Spec&, const Rows<double>&, const Rows<double>&, bool,
                                    const double*, i64, double*, int);

}  // namespace kg
