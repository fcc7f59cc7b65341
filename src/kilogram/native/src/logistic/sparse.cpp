// One pass over sparse rows for logistic regression: margins, terms and gradient while a few rows
// are in cache. Rows are dealt to fixed lanes of about equal entries, each with a gradient of its
// own, and the lanes added in order: the result does not depend on the threads.
#include "common/sparse.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <cstdint>
#include <omp.h>

namespace kg {
namespace {

constexpr i64 kRows = 64;  // whose entries stay in cache between margins and gradient

// A lane's gradient is filled and added once: that must stay small beside the work on its entries.
template <class T, class I> i64 lanes_of(const SparseRows<T, I>& X) {
  const i64 entries = X.starts[X.n] - X.starts[0];
  return X.n < 2 * kRows ? 1 : std::clamp<i64>(entries / (8 * std::max<i64>(X.d, 1)), 2, 16);
}

// The first row of a lane.
template <class T, class I> i64 first_row(const SparseRows<T, I>& X, i64 lane, i64 lanes) {
  if (lane >= lanes) return X.n;
  const i64 start = X.starts[0] + (X.starts[X.n] - X.starts[0]) * lane / lanes;
  return std::lower_bound(X.starts, X.starts + X.n, static_cast<I>(start)) - X.starts;
}

template <class T, class I> T dot(const T* x, const I* columns, i64 m, const T* w) {
  T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  i64 k = 0;
  for (; k + 4 <= m; k += 4) {
    s0 += x[k] * w[columns[k]];
    s1 += x[k + 1] * w[columns[k + 1]];
    s2 += x[k + 2] * w[columns[k + 2]];
    s3 += x[k + 3] * w[columns[k + 3]];
  }
  for (; k < m; ++k) s0 += x[k] * w[columns[k]];
  return (s0 + s1) + (s2 + s3);
}

// sums[k] <- the lanes' entries at(k), for the threads' parts of k.
template <class At>
void add_lanes(const Scratch<double>& lanes, i64 count, i64 size, double* sums, int threads, At at) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 k = 0; k < size; ++k) {
    double total = 0;
    for (i64 l = 0; l < count; ++l) total += lanes.block(l)[at(k)];
    sums[k] = total;
  }
}

}  // namespace

template <class T, class I>
void logistic_sparse(const SparseRows<T, I>& X, const T* y, const T* c, const T* w, T b, T* h,
                     double* sums, int threads) {
  const i64 d = X.d, count = lanes_of(X);
  const Scratch<double> lanes(count, d + 2);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    T z[kRows], r[kRows];
    double* __restrict sum = lanes.block(lane);
    std::fill(sum, sum + d + 2, 0.0);
    const i64 end = first_row(X, lane + 1, count);
    for (i64 r0 = first_row(X, lane, count); r0 < end; r0 += kRows) {
      const i64 m = std::min(kRows, end - r0);
      double terms[2] = {0, 0};
      for (i64 i = 0; i < m; ++i) {
        const i64 s = X.starts[r0 + i];
        z[i] = b + dot(X.entries + s, X.columns + s, X.starts[r0 + i + 1] - s, w);
      }
      loops<T>().logistic(z, y + r0, c ? c + r0 : nullptr, m, r, h ? h + r0 : nullptr, terms);
      for (i64 i = 0; i < m; ++i)
        for (i64 k = X.starts[r0 + i]; k < X.starts[r0 + i + 1]; ++k)
          sum[X.columns[k]] += static_cast<double>(r[i] * X.entries[k]);
      sum[d] += terms[1];
      sum[d + 1] += terms[0];
    }
  }
  add_lanes(lanes, count, d + 2, sums, threads, [](i64 k) { return k; });
}

template <class T, class I>
void softmax_sparse(const SparseRows<T, I>& X, const i64* y, const T* c, const T* W, const T* b,
                    i64 t, double* sums, int threads) {
  const i64 d = X.d, count = lanes_of(X), size = t * (d + 1) + 1;
  const Scratch<T> right(1, d * t), scratch(threads, kRows * t);
  const Scratch<double> lanes(count, size);  // rows of t for every column, then sum R and the loss
  T* V = right.block(0);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 k = 0; k < d; ++k)
    for (i64 j = 0; j < t; ++j) V[k * t + j] = W[j * d + k];
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    T* Z = scratch.block(omp_get_thread_num());
    double* sum = lanes.block(lane);
    std::fill(sum, sum + size, 0.0);
    const i64 end = first_row(X, lane + 1, count);
    for (i64 r0 = first_row(X, lane, count); r0 < end; r0 += kRows) {
      const i64 m = std::min(kRows, end - r0);
      for (i64 i = 0; i < m; ++i) {
        T* __restrict z = Z + i * t;
        std::copy(b, b + t, z);
        for (i64 k = X.starts[r0 + i]; k < X.starts[r0 + i + 1]; ++k) {
          const T *__restrict v = V + X.columns[k] * t, x = X.entries[k];
          for (i64 j = 0; j < t; ++j) z[j] += x * v[j];
        }
      }
      sum[size - 1] += loops<T>().softmax(Z, y + r0, c ? c + r0 : nullptr, m, t, t, false);
      for (i64 i = 0; i < m; ++i) {
        const T* __restrict z = Z + i * t;
        for (i64 k = X.starts[r0 + i]; k < X.starts[r0 + i + 1]; ++k) {
          double* __restrict g = sum + X.columns[k] * t;
          const T x = X.entries[k];
          for (i64 j = 0; j < t; ++j) g[j] += static_cast<double>(x * z[j]);
        }
        for (i64 j = 0; j < t; ++j) sum[d * t + j] += static_cast<double>(z[j]);
      }
    }
  }
  add_lanes(lanes, count, size, sums, threads,
            [=](i64 k) { return k < t * d ? (k % d) * t + k / d : k; });
}

#define KG_INSTANTIATE(T, I)                                                                     \
  template void logistic_sparse<T, I>(const SparseRows<T, I>&, const T*, const T*, const T*, T,  \
                                      T*, double*, int);                                         \
  template void softmax_sparse<T, I>(const SparseRows<T, I>&, const i64*, const T*, const T*,    \
                                     const T*, i64, double*, int);
KG_INSTANTIATE(float, std::int32_t)
KG_INSTANTIATE(float, i64)
KG_INSTANTIATE(double, std::int32_t)
KG_INSTANTIATE(double, i64)

}  // namespace kg
