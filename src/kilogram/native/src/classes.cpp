// Sums over the rows of classes, in one pass over rows that come in any order.
// Rows are dealt to fixed lanes and the lanes added in order: the same result for any threads.
#include "core.hpp"
#include "panels.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace kg {
namespace {

constexpr i64 kBufferBytes = i64(6) << 16;  // rows that wait for their class's product, per thread, in L2
constexpr i64 kLaneBytes = i64(1) << 26;    // all lanes' sums together

i64 lane_count(i64 n, i64 doubles) {
  return std::clamp<i64>(kLaneBytes / (8 * std::max<i64>(doubles, 1)), 1, lanes_for(n));
}

// out (size) = the sums of all rows: row(lane, i, sum) adds row i to the sums of a lane, and the
// lanes are added in their order
template <class Row>
void over_rows(i64 n, i64 size, double* out, int threads, Row row) {
  const i64 count = lane_count(n, size);
  const Scratch<double> lanes(count, size);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    double* sum = lanes.block(lane);
    std::fill(sum, sum + size, 0.0);
    for (i64 i = lane * n / count; i < (lane + 1) * n / count; ++i) row(lane, i, sum);
  }
  std::fill(out, out + size, 0.0);
  for (i64 l = 0; l < count; ++l) loops<double>().add(lanes.block(l), 1, size, size, out, size);
}

// S = the sum of the lanes' lower triangles (D, D), both halves; the lanes hold it from `at` on
void add_triangles(const Scratch<double>& lanes, i64 count, i64 at, i64 width, i64 D, double* S,
                   i64 ld) {
  for (i64 i = 0; i < D; ++i) {
    std::fill(S + i * ld, S + i * ld + i + 1, 0.0);
    for (i64 l = 0; l < count; ++l)
      loops<double>().add(lanes.block(l) + at + i * width, 1, i + 1, width, S + i * ld, ld);
  }
  mirror(S, D, ld);
}

// Strips of whole vectors for `depth` rows of [x - shift, 1], or of x - shift.
template <class T> struct Strips {
  T* z;
  i64 d, depth;

  T* row(i64 i) const { return z + i * loops<T>().lanes; }
  T* lane(i64 column, i64 i) const {
    const i64 W = loops<T>().lanes;
    return z + column / W * W * depth + i * W + column % W;
  }
  // what no row writes: `one` in the column after the last, zeros up to a whole vector
  void prepare(T one) const {
    const i64 W = loops<T>().lanes;
    for (i64 c = d; c < ceil_div(d + 1, W) * W; ++c)
      for (i64 i = 0; i < depth; ++i) *lane(c, i) = c == d ? one : T(0);
  }
};

// The rows of one lane, one after another: each waits in the strips of its class, and full strips
// are multiplied while they are in cache and the rows to come are on their way there.
template <class T> struct ClassRows {
  const Rows<T>& X;
  const T* shifts;
  const T* root_w;
  i64 width;             // of the sums
  std::vector<T*> strips;
  std::vector<i64> filled;
  i64 depth, asked = 0;  // rows up to here are on their way

  void multiply(i64 c, i64 i, double* S) {
    asked = std::max(asked, i + 1);
    const i64 rows = asked < i + 4 * depth ? depth : 0;
    const Next<T> next = next_rows(&X, asked, rows);
    loops<T>().gram(strips[c], filled[c], depth, X.d + 1, S + c * width * width, width, next.at,
                    next.bytes);
    asked += rows;
    filled[c] = 0;
  }
  void add(i64 i, i64 c, double* S) {
    const Strips<T> own{strips[c], X.d, depth};
    const T root = root_w ? root_w[i] : T(1);
    loops<T>().put_row(X.at(i, 0), X.d, X.cs, shifts + c * X.d, root, own.row(filled[c]), depth,
                       T(1), nullptr);
    if (root_w) *own.lane(X.d, filled[c]) = root;
    if (++filled[c] == depth) multiply(c, i, S);
  }
};

}  // namespace

// One scatter for every class; the rows are read in their order.
template <class T>
void class_scatter(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* root_w,
                   double* S, i64 ld, int threads) {
  const i64 strip = loops<T>().strip, width = ceil_div(X.d + 1, strip) * strip, size = K * width * width;
  const i64 fit = kBufferBytes / i64(sizeof(T)) / std::max<i64>(K * width, 1);
  const i64 depth = std::clamp<i64>(fit, 16, kChunk), room = depth * width;
  const i64 count = std::min(lane_count(X.n, size), std::max<i64>(1, X.n / (K * depth)));
  const Scratch<T> buffers(threads, K * room);
  const Scratch<double> lanes(count, size);
  std::vector<ClassRows<T>> teams(threads, {X, shifts, root_w, width, std::vector<T*>(K), std::vector<i64>(K), depth});
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    const int thread = omp_get_thread_num();
    ClassRows<T>& mine = teams[thread];
    mine.asked = 0;
    for (i64 c = 0; c < K; ++c) {
      mine.strips[c] = buffers.block(thread) + c * room;
      Strips<T>{mine.strips[c], X.d, depth}.prepare(T(1));
    }
    double* sum = lanes.block(lane);
    std::fill(sum, sum + size, 0.0);
    const i64 end = (lane + 1) * X.n / count;
    for (i64 i = lane * X.n / count; i < end; ++i) mine.add(i, codes[i], sum);
    for (i64 c = 0; c < K; ++c)
      if (mine.filled[c]) mine.multiply(c, end, sum);
  }
  for (i64 c = 0; c < K; ++c)
    add_triangles(lanes, count, c * width * width, width, X.d + 1, S + c * ld * ld, ld);
}

// One scatter for all classes, every row about its own class's shift, and the classes' sums.
template <class T>
void within_scatter(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* root_w,
                    double* S, i64 ld, double* sums, int threads) {
  const Loops<T>& f = loops<T>();
  const i64 d = X.d, width = ceil_div(d, f.strip) * f.strip, size = width * width + K * d;
  const i64 chunks = ceil_div(X.n, kChunk), count = lane_count(X.n, size);
  const Scratch<T> scratch(threads, kChunk * (width + f.lanes));
  const Scratch<double> lanes(count, size);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    const Strips<T> Z{scratch.block(omp_get_thread_num()), d, kChunk};
    Z.prepare(T(0));
    double *product = lanes.block(lane), *sum = product + width * width;
    std::fill(product, product + size, 0.0);
    for (i64 p = lane * chunks / count; p < (lane + 1) * chunks / count; ++p) {
      const i64 r0 = p * kChunk, m = std::min(kChunk, X.n - r0);
      for (i64 i = 0; i < m; ++i) {
        const i64 c = codes[r0 + i] * d;
        const T root = root_w ? root_w[r0 + i] : T(1);
        f.put_row(X.at(r0 + i, 0), d, X.cs, shifts + c, root, Z.row(i), kChunk, root * root, sum + c);
      }
      const Next<T> next = next_rows(&X, r0 + kChunk, kChunk);
      f.gram(Z.z, m, kChunk, d, product, width, next.at, next.bytes);
    }
  }
  add_triangles(lanes, count, 0, width, d, S, ld);
  std::fill(sums, sums + K * d, 0.0);
  for (i64 l = 0; l < count; ++l)
    loops<double>().add(lanes.block(l) + width * width, 1, K * d, K * d, sums, K * d);
}

// out (powers, K, d): sums and squares of the classes' rows; with powers = 3 NaN are left out, and
// the third holds the weight of the values that are there.
template <class T>
void class_powers(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* w,
                  i64 powers, double* out, int threads) {
  const i64 d = X.d, each = K * d;
  over_rows(X.n, powers * each, out, threads, [&](i64, i64 i, double* sum) {
    double* own = sum + codes[i] * d;
    loops<T>().add_powers(X.at(i, 0), d, X.cs, shifts + codes[i] * d, w ? w[i] : T(1), own,
                          powers > 1 ? own + each : nullptr,
                          powers > 2 ? own + 2 * each : nullptr);
  });
}

// out (K, d): sums of the classes' rows; low (d): the least value of each column
template <class T>
void class_counts(const Rows<T>& X, const i64* codes, i64 K, const T* w, double* out, T* low,
                  int threads) {
  const i64 d = X.d, count = lane_count(X.n, K * d);
  const Scratch<T> lows(count, d);
  for (i64 l = 0; l < count; ++l)
    std::fill(lows.block(l), lows.block(l) + d, std::numeric_limits<T>::infinity());
  over_rows(X.n, K * d, out, threads, [&](i64 lane, i64 i, double* sum) {
    loops<T>().add_counts(X.at(i, 0), d, X.cs, w ? w[i] : T(1), sum + codes[i] * d,
                          lows.block(lane));
  });
  std::copy(lows.block(0), lows.block(0) + d, low);
  for (i64 l = 1; l < count; ++l)
    for (i64 k = 0; k < d; ++k) low[k] = std::min(low[k], lows.block(l)[k]);
}

// out (2, K, d): the weight of the classes' values above a threshold, and of those that are there
template <class T>
void class_presence(const Rows<T>& X, const i64* codes, i64 K, T threshold, const T* w, double* out,
                    int threads) {
  const i64 d = X.d, each = K * d;
  over_rows(X.n, 2 * each, out, threads, [&](i64, i64 i, double* sum) {
    double* own = sum + codes[i] * d;
    loops<T>().add_presence(X.at(i, 0), d, X.cs, threshold, w ? w[i] : T(1), own, own + each);
  });
}

// out (3, d): the least and the greatest value of each column, and 1 where one is no whole number
template <class T> void column_ranges(const Rows<T>& X, T most, T* out, int threads) {
  const i64 d = X.d, count = lane_count(X.n, 3 * d);
  const Scratch<T> lanes(count, 3 * d);
  const T inf = std::numeric_limits<T>::infinity();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    T *low = lanes.block(lane), *high = low + d, *odd = high + d;
    std::fill(low, high, inf);
    std::fill(high, odd, -inf);
    std::fill(odd, odd + d, T(0));
    for (i64 i = lane * X.n / count; i < (lane + 1) * X.n / count; ++i)
      loops<T>().column_ranges(X.at(i, 0), d, X.cs, most, low, high, odd);
  }
  std::copy(lanes.block(0), lanes.block(0) + 3 * d, out);
  for (i64 l = 1; l < count; ++l)
    for (i64 k = 0; k < 3 * d; ++k)
      out[k] = k < d ? std::min(out[k], lanes.block(l)[k]) : std::max(out[k], lanes.block(l)[k]);
}

// out (K, offsets[d]): the weight of every category, those of column k from offsets[k] on
template <class T>
void class_categories(const Rows<T>& X, const i64* codes, i64 K, const i64* offsets, const T* w,
                      double* out, int threads) {
  const i64 d = X.d, total = offsets[d];
  std::vector<T> sizes(d);
  for (i64 k = 0; k < d; ++k) sizes[k] = static_cast<T>(offsets[k + 1] - offsets[k]);
  over_rows(X.n, K * total, out, threads, [&](i64, i64 i, double* sum) {
    loops<T>().add_categories(X.at(i, 0), d, X.cs, offsets, sizes.data(), w ? w[i] : T(1),
                              sum + codes[i] * total);
  });
}

#define KG_INSTANTIATE(T)                                                                        \
  template void class_scatter<T>(const Rows<T>&, const i64*, i64, const T*, const T*, double*,   \
                                 i64, int);                                                      \
  template void within_scatter<T>(const Rows<T>&, const i64*, i64, const T*, const T*, double*,  \
                                  i64, double*, int);                                            \
  template void class_powers<T>(const Rows<T>&, const i64*, i64, const T*, const T*, i64,        \
                                double*, int);                                                   \
  template void class_counts<T>(const Rows<T>&, const i64*, i64, const T*, double*, T*, int);    \
  template void class_presence<T>(const Rows<T>&, const i64*, i64, T, const T*, double*, int);   \
  template void column_ranges<T>(const Rows<T>&, T, T*, int);                                    \
  template void class_categories<T>(const Rows<T>&, const i64*, i64, const i64*, const T*,       \
                                    double*, int);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
