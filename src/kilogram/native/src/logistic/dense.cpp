// One pass over the rows for logistic regression: margins, terms and gradient while a chunk of rows
// is in cache. Chunks are dealt to fixed lanes, and the lanes added in order: the result does not
// depend on the threads. Sums are float64 also for float32 rows.
#include "logistic/logistic.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <omp.h>

namespace kg {
namespace {

constexpr i64 kLanes = 16;  // sums of their own, whatever the threads: at most as many threads are busy
constexpr i64 kChunkBytes = i64(1) << 17;  // a chunk stays in L2 between margins and gradient

}  // namespace

template <class T>
void logistic_pass(const Rows<T>& X, const T* y, const T* c, const T* w, T b, T* h, double* sums,
                   int threads) {
  const Loops<T>& f = loops<T>();
  const i64 rows = std::clamp<i64>(kChunkBytes / i64(sizeof(T)) / std::max<i64>(X.d, 1), 16, 512);
  const i64 chunks = ceil_div(X.n, rows), count = std::max<i64>(1, std::min(kLanes, chunks));
  const Scratch<T> scratch(threads, 2 * rows + X.d);
  const Scratch<double> lanes(count, X.d + 2);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    T *z = scratch.block(omp_get_thread_num()), *r = z + rows;
    double* sum = lanes.block(lane);
    std::fill(sum, sum + X.d + 2, 0.0);
    for (i64 p = lane * chunks / count; p < (lane + 1) * chunks / count; ++p) {
      const i64 r0 = p * rows, m = std::min(rows, X.n - r0);
      double terms[2] = {0, 0};
      f.row_dots(X.at(r0, 0), m, X.d, X.rs, X.cs, w, b, z);
      f.logistic(z, y + r0, c ? c + r0 : nullptr, m, r, h ? h + r0 : nullptr, terms);
      f.add_rows(X.at(r0, 0), m, X.d, X.rs, X.cs, r, r + rows, sum);
      sum[X.d] += terms[1];
      sum[X.d + 1] += terms[0];
    }
  }
  for (i64 k = 0; k < X.d + 2; ++k) {
    sums[k] = 0;
    for (i64 l = 0; l < count; ++l) sums[k] += lanes.block(l)[k];
  }
}

template <class T>
double softmax_pass(T* Z, i64 n, i64 t, const i64* y, const T* c, bool keep, int threads) {
  const i64 rows = std::clamp<i64>(8192 / std::max<i64>(t, 1), 16, 4096);
  const i64 chunks = ceil_div(n, rows);
  const Scratch<double> parts(1, chunks);
  double* part = parts.block(0);
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
  for (i64 p = 0; p < chunks; ++p) {
    const i64 r0 = p * rows, m = std::min(rows, n - r0);
    part[p] = loops<T>().softmax(Z + r0 * t, y + r0, c ? c + r0 : nullptr, m, t, t, keep);
  }
  double loss = 0;
  for (i64 p = 0; p < chunks; ++p) loss += part[p];
  return loss;
}

// W' (d, width) with zeros beyond column t: the thin products take whole vectors.
template <class T> void transposed(const T* W, i64 t, i64 d, i64 width, T* out) {
  for (i64 k = 0; k < d; ++k)
    for (i64 j = 0; j < width; ++j) out[k * width + j] = j < t ? W[j * d + k] : T(0);
}

template <class T>
void softmax_rows(const Rows<T>& X, const i64* y, const T* c, const T* W, const T* b, i64 t,
                  double* sums, int threads) {
  const Loops<T>& f = loops<T>();
  const i64 d = X.d, width = ceil_div(t, f.lanes) * f.lanes;
  const i64 rows = std::clamp<i64>(2 * kChunkBytes / i64(sizeof(T)) / std::max<i64>(d, 1), 32, 1024);
  const i64 chunks = ceil_div(X.n, rows), count = std::max<i64>(1, std::min(kLanes, chunks));
  const i64 size = (d + 1) * width + 1;  // gradient of W' and b, loss
  const Scratch<T> right(1, d * width), scratch(threads, (rows + d) * width);
  const Scratch<double> lanes(count, size);
  transposed(W, t, d, width, right.block(0));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    T *Z = scratch.block(omp_get_thread_num()), *part = Z + rows * width;
    double* sum = lanes.block(lane);
    std::fill(sum, sum + size, 0.0);
    for (i64 p = lane * chunks / count; p < (lane + 1) * chunks / count; ++p) {
      const i64 r0 = p * rows, m = std::min(rows, X.n - r0);
      const T* x = X.at(r0, 0);
      std::fill(Z, Z + m * width, T(0));
      for (i64 i = 0; i < m; ++i) std::copy(b, b + t, Z + i * width);
      f.thin(x, X.rs, X.cs, m, d, right.block(0), width, width, Z, width);
      sum[size - 1] += f.softmax(Z, y + r0, c ? c + r0 : nullptr, m, t, width, false);
      std::fill(part, part + d * width, T(0));
      f.thin(x, X.cs, X.rs, d, m, Z, width, width, part, width);
      f.add(part, d, width, width, sum, width);
      for (i64 i = 0; i < m; ++i)
        for (i64 k = 0; k < t; ++k) sum[d * width + k] += static_cast<double>(Z[i * width + k]);
    }
  }
  for (i64 k = 0; k <= d; ++k)
    for (i64 j = 0; j < t; ++j) {
      double total = 0;
      for (i64 l = 0; l < count; ++l) total += lanes.block(l)[k * width + j];
      sums[k < d ? j * d + k : t * d + j] = total;
    }
  sums[t * (d + 1)] = 0;
  for (i64 l = 0; l < count; ++l) sums[t * (d + 1)] += lanes.block(l)[size - 1];
}

#define KG_INSTANTIATE(T)                                                                        \
  template void logistic_pass<T>(const Rows<T>&, const T*, const T*, const T*, T, T*, double*,   \
                                 int);                                                           \
  template void softmax_rows<T>(const Rows<T>&, const i64*, const T*, const T*, const T*, i64,   \
                                double*, int);                                                   \
  template double softmax_pass<T>(T*, i64, i64, const i64*, const T*, bool, int);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
