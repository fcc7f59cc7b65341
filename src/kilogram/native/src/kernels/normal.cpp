// K' (w * (K V)), the product of the normal equations, reading or making K once: a chunk of rows
// of K is used for u = w * (K V) and, still in cache, for K' u.
// Row chunks are dealt to fixed lanes, and the lanes added in order: same result for any threads.
#include "common/interrupt.hpp"
#include "kernels/kernels.hpp"
#include "kernels/tile.hpp"

#include <omp.h>

namespace kg {
namespace {

constexpr i64 kLanes = 16;  // sums of their own, whatever the threads: at most as many threads are busy
constexpr i64 kChunkBytes = i64(1) << 19;
constexpr i64 kEntriesAtOnce = i64(1) << 22;  // of a lane between two looks for Ctrl-C

// Lane sums are float64: a float32 lane would lose digits over hundreds of thousands of rows.
template <class T> struct Accumulator {
  const T* V;
  i64 m, t;
  const T* w;

  // sum (m,t) += K' (w * (K V)) for the rows r0.. of K (rows, m; ld)
  void add(const T* K, i64 rows, i64 ld, i64 r0, T* u, T* part, double* sum) const {
    if (t == 1)
      gemv_n<T>(rows, m, T(1), K, ld, V, T(0), u);
    else
      gemm_nn<T>(rows, t, m, T(1), K, ld, V, t, T(0), u, t);
    if (w)
      for (i64 i = 0; i < rows; ++i)
        for (i64 j = 0; j < t; ++j) u[i * t + j] *= w[r0 + i];
    if (t == 1)
      gemv_t<T>(rows, m, T(1), K, ld, u, T(0), part);
    else
      gemm_tn<T>(m, t, rows, T(1), K, ld, u, t, T(0), part, t);
    loops<T>().add(part, 1, m * t, m * t, sum, m * t);
  }
};

template <class T>
void add_lanes(const Scratch<double>& lanes, i64 count, i64 size, T* out) {
  for (i64 i = 0; i < size; ++i) {
    double s = 0;
    for (i64 l = 0; l < count; ++l) s += lanes.block(l)[i];
    out[i] = static_cast<T>(s);
  }
}

// chunk(r0, rows, thread) returns where rows r0.. of K lie, and their leading dimension.
template <class T, class Chunk>
void accumulate(i64 n, i64 m, i64 rows, const T* V, i64 t, const T* w, T* out, int threads,
                Chunk chunk) {
  const i64 chunks = ceil_div(n, rows), count = std::max<i64>(1, std::min(kLanes, chunks));
  const Scratch<T> scratch(threads, (rows + m) * t);
  const Scratch<double> lanes(count, m * t);
  const Accumulator<T> accumulator{V, m, t, w};
  const i64 step = std::max<i64>(1, kEntriesAtOnce / std::max<i64>(1, rows * m));
  for (i64 first = 0; first <= chunks / count; first += step) {
    check_interrupt();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (i64 lane = 0; lane < count; ++lane) {
      const int thread = omp_get_thread_num();
      T* u = scratch.block(thread);
      double* sum = lanes.block(lane);
      if (first == 0) std::fill(sum, sum + m * t, 0.0);
      const i64 begin = lane * chunks / count + first, end = (lane + 1) * chunks / count;
      for (i64 c = begin; c < std::min(begin + step, end); ++c) {
        const i64 r0 = c * rows, r1 = std::min(n, r0 + rows);
        i64 ld = 0;
        const T* K = chunk(r0, r1, thread, ld);
        accumulator.add(K, r1 - r0, ld, r0, u, u + rows * t, sum);
      }
    }
  }
  add_lanes(lanes, count, m * t, out);
}

}  // namespace

template <class T>
void normal_matmul(const Rows<T>& K, const T* V, i64 t, const T* w, T* out, int threads) {
  const i64 rows = std::clamp<i64>(kChunkBytes / i64(sizeof(T)) / std::max<i64>(K.d, 1), 16, 512);
  accumulate<T>(K.n, K.d, rows, V, t, w, out, threads, [&](i64 r0, i64, int, i64& ld) {
    ld = std::max<i64>(K.rs, 1);
    return K.at(r0, 0);
  });
}

template <class T>
void kernel_normal_matmul(const Spec& spec, const Rows<T>& X, const Rows<T>& C, const T* V, i64 t,
                          const T* w, T* out, int threads) {
  const std::vector<T> mean = common_shift(spec, C);
  const T* shift = mean.empty() ? nullptr : mean.data();
  const i64 m = C.n, rows = kLowRows;
  const Scratch<T> tiles(threads, rows * m + Tile<T>::scratch_size(X.d));
  accumulate<T>(X.n, m, rows, V, t, w, out, threads, [&](i64 r0, i64 r1, int thread, i64& ld) {
    T* K = tiles.block(thread);
    Tile<T> maker(spec, shift, X.d, K + rows * m);
    for (i64 j = 0; j < m; j += kTileCols)
      maker.compute(X, r0, r1, C, j, std::min(m, j + kTileCols), K + j, m);
    ld = std::max<i64>(m, 1);
    return static_cast<const T*>(K);
  });
}

#define KG_INSTANTIATE(T)                                                                       \
  template void normal_matmul<T>(const Rows<T>&, const T*, i64, const T*, T*, int);             \
  template void kernel_normal_matmul<T>(const Spec&, const Rows<T>&, const Rows<T>&, const T*,  \
                                        i64, const T*, T*, int);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
