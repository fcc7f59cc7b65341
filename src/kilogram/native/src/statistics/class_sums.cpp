// Sums over the rows of classes, in one pass over rows that come in any order.
// Rows are dealt to fixed lanes and the lanes added in order: the same result for any threads.
#include "statistics/panels.hpp"
#include "statistics/sums.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace kg {
namespace {

constexpr i64 kWaitingBytes = i64(5) << 16;  // rows that wait for their class's product, per thread, in L2
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

// The rows of one lane. Those of a class wait, by their numbers, until they are as many as the strips
// have steps; then they are put there and multiplied while the rows to come are on their way.
template <class T> struct ClassRows {
  const Rows<T>& X;
  const T* shifts;
  const T* root_w;
  i64 width;  // of the sums
  Strips<T> strips;
  std::vector<i64> waiting, count;  // the numbers (K, depth), and how many
  i64 asked = 0;                    // rows up to here are on their way

  void add(i64 i, i64 c, double* S) {
    waiting[c * strips.depth + count[c]++] = i;
    if (count[c] == strips.depth) multiply(c, i, S);
  }
  void multiply(i64 c, i64 i, double* S) {
    const i64 *rows = waiting.data() + c * strips.depth, depth = strips.depth;
    loops<T>().gather_strips(X.at(0, 0), rows, count[c], X.d, X.rs, X.cs, shifts + c * X.d, root_w,
                             strips.z, depth);
    for (i64 r = 0; root_w && r < count[c]; ++r) *strips.lane(X.d, r) = root_w[rows[r]];
    asked = std::max(asked, i + 1);
    const i64 ahead = asked < i + 4 * depth ? depth : 0;
    const Next<T> next = next_rows(&X, asked, ahead);
    loops<T>().gram(strips.z, count[c], depth, X.d + 1, S + c * width * width, width, next.at,
                    next.bytes);
    asked += ahead;
    count[c] = 0;
  }
};

bool is_code(i64 c, i64 K) { return static_cast<std::uint64_t>(c) < static_cast<std::uint64_t>(K); }

}  // namespace

// One scatter for every class; the rows are read in their order.
template <class T>
bool class_scatter(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* root_w,
                   double* S, i64 ld, int threads) {
  const i64 strip = loops<T>().strip, width = ceil_div(X.d + 1, strip) * strip, size = K * width * width;
  const i64 fit = kWaitingBytes / i64(sizeof(T)) / std::max<i64>(K * width, 1);
  const i64 depth = std::clamp<i64>(fit / 4 * 4, 16, kChunk);
  const i64 count = std::min(lane_count(X.n, size), std::max<i64>(1, X.n / (K * depth)));
  const Scratch<T> buffers(threads, depth * width);
  const Scratch<double> lanes(count, size);
  bool wrong = false;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(|| : wrong)
  for (i64 lane = 0; lane < count; ++lane) {
    const Strips<T> strips{buffers.block(omp_get_thread_num()), X.d, depth};
    strips.prepare(T(1));
    ClassRows<T> mine{X, shifts, root_w, width, strips, std::vector<i64>(K * depth), std::vector<i64>(K)};
    double* sum = lanes.block(lane);
    std::fill(sum, sum + size, 0.0);
    const i64 end = (lane + 1) * X.n / count;
    for (i64 i = lane * X.n / count; i < end; ++i)
      if (is_code(codes[i], K))
        mine.add(i, codes[i], sum);
      else
        wrong = true;
    for (i64 c = 0; c < K; ++c)
      if (mine.count[c]) mine.multiply(c, end, sum);
  }
  for (i64 c = 0; c < K; ++c)
    add_triangles(lanes, count, c * width * width, width, X.d + 1, S + c * ld * ld, ld);
  return !wrong;
}

// One scatter for all classes, every row about its own class's shift, and the classes' sums: of a
// lane (width, width), then (K, d) and the classes' numbers of rows.
template <class T>
bool within_scatter(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* root_w,
                    double* S, i64 ld, double* sums, double* counts, int threads) {
  const Loops<T>& f = loops<T>();
  const i64 d = X.d, width = ceil_div(d, f.strip) * f.strip, square = width * width;
  const i64 chunks = ceil_div(X.n, kChunk), size = square + K * d + K, count = lane_count(X.n, size);
  const Scratch<T> scratch(threads, kChunk * (width + f.lanes));
  const Scratch<double> lanes(count, size);
  bool wrong = false;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(|| : wrong)
  for (i64 lane = 0; lane < count; ++lane) {
    const Strips<T> Z{scratch.block(omp_get_thread_num()), d, kChunk};
    Z.prepare(T(0));
    double *product = lanes.block(lane), *sum = product + square, *seen = sum + K * d;
    std::fill(product, product + size, 0.0);
    for (i64 p = lane * chunks / count; p < (lane + 1) * chunks / count; ++p) {
      const i64 r0 = p * kChunk, m = std::min(kChunk, X.n - r0);
      for (i64 i = 0; i < m; i += 2) {
        const i64 rows = std::min<i64>(2, m - i);
        const T *x[2] = {}, *shift[2] = {};
        double* own[2] = {};
        for (i64 r = 0; r < rows; ++r) {
          i64 c = codes[r0 + i + r];
          if (!is_code(c, K)) wrong = true, c = 0;  // refused in the end: any place will do
          x[r] = X.at(r0 + i + r, 0), shift[r] = shifts + c * d, own[r] = sum + c * d;
          seen[c] += 1.0;
        }
        f.put_rows(x, rows, d, X.cs, shift, root_w ? root_w + r0 + i : nullptr, Z.row(i), kChunk, own);
      }
      const Next<T> next = next_rows(&X, r0 + kChunk, kChunk);
      f.gram(Z.z, m, kChunk, d, product, width, next.at, next.bytes);
    }
  }
  add_triangles(lanes, count, 0, width, d, S, ld);
  std::fill(sums, sums + K * d, 0.0);
  std::fill(counts, counts + K, 0.0);
  for (i64 l = 0; l < count; ++l) {
    loops<double>().add(lanes.block(l) + square, 1, K * d, K * d, sums, K * d);
    loops<double>().add(lanes.block(l) + square + K * d, 1, K, K, counts, K);
  }
  return !wrong;
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

// present (size): 1 for every label that occurs; false if one is negative or not below size
bool labels_present(const i64* labels, i64 n, i64 size, std::uint8_t* present) {
  std::fill(present, present + size, std::uint8_t(0));
  for (i64 i = 0; i < n; ++i) {
    if (!is_code(labels[i], size)) return false;
    present[labels[i]] = 1;
  }
  return true;
}

#define KG_INSTANTIATE(T)                                                                        \
  template bool class_scatter<T>(const Rows<T>&, const i64*, i64, const T*, const T*, double*,   \
                                 i64, int);                                                      \
  template bool within_scatter<T>(const Rows<T>&, const i64*, i64, const T*, const T*, double*,  \
                                  i64, double*, double*, int);                                   \
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
