// Sums over the rows of classes, in one pass over rows that come in any order.
// Rows are dealt to fixed lanes and the lanes added in order: the same result for any threads.
#include "core.hpp"
#include "panels.hpp"

#include <vector>

namespace kg {
namespace {

constexpr i64 kBufferBytes = i64(1) << 20;  // rows that wait for their class's product, per lane
constexpr i64 kLaneBytes = i64(1) << 26;    // all lanes' sums together

i64 lane_count(i64 n, i64 doubles) {
  const i64 most = std::clamp<i64>(kLaneBytes / (8 * std::max<i64>(doubles, 1)), 1, kPanelLanes);
  return std::max<i64>(1, std::min(most, ceil_div(n, kChunk)));
}

// out = sum of the lanes, in their order
void add_lanes(const Scratch<double>& lanes, i64 count, i64 size, double* out) {
  std::fill(out, out + size, 0.0);
  for (i64 l = 0; l < count; ++l) loops<double>().add(lanes.block(l), 1, size, size, out, size);
}

// Rows of one class that wait, less their class's shift, for a product of many rows at once.
template <class T> struct Waiting {
  T* rows;
  T* root;  // sqrt of their weights
  i64 filled;
};

template <class T> struct ClassProducts {
  i64 d, width;
  T* strips;

  // S (width, width) += Z'Z with Z = root [rows, 1]
  void add(Waiting<T>& class_rows, bool weighted, double* S) const {
    const Chunk<T> Z{strips, class_rows.filled};
    const T* root = weighted ? class_rows.root : nullptr;
    Z.put(0, class_rows.rows, d, d, 1, nullptr, root);
    Z.put_ones(d, root);
    Z.pad(d + 1, width);
    loops<T>().gram(strips, class_rows.filled, d + 1, S, width);
    class_rows.filled = 0;
  }
};

}  // namespace

// One scatter for every class: a row waits in the buffer of its class, so the rows are read in
// their order, and a full buffer is multiplied while it is in cache.
template <class T>
void class_scatter(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* root_w,
                   double* S, i64 ld, int threads) {
  const Loops<T>& f = loops<T>();
  const i64 d = X.d, width = ceil_div(d + 1, f.strip) * f.strip, size = K * width * width;
  const i64 depth = std::clamp<i64>(kBufferBytes / i64(sizeof(T)) / std::max<i64>(K * d, 1), 16, kChunk);
  const i64 count = lane_count(X.n, size), room = (d + 1) * depth;
  const Scratch<T> buffers(threads, K * room + depth * width);
  const Scratch<double> lanes(count, size);
  std::vector<Waiting<T>> waiting(threads * K);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    const int thread = omp_get_thread_num();
    T* buffer = buffers.block(thread);
    const ClassProducts<T> products{d, width, buffer + K * room};
    Waiting<T>* mine = waiting.data() + thread * K;
    for (i64 c = 0; c < K; ++c) mine[c] = {buffer + c * room, buffer + c * room + d * depth, 0};
    double* sum = lanes.block(lane);
    std::fill(sum, sum + size, 0.0);
    for (i64 i = lane * X.n / count; i < (lane + 1) * X.n / count; ++i) {
      const i64 c = codes[i];
      Waiting<T>& own = mine[c];
      if (root_w) own.root[own.filled] = root_w[i];
      f.pack(X.at(i, 0), 1, d, X.rs, X.cs, shifts + c * d, nullptr, own.rows + own.filled * d, d);
      if (++own.filled == depth) products.add(own, root_w, sum + c * width * width);
    }
    for (i64 c = 0; c < K; ++c)
      if (mine[c].filled) products.add(mine[c], root_w, sum + c * width * width);
  }
  for (i64 c = 0; c < K; ++c)
    for (i64 i = 0; i <= d; ++i) {
      double* row = S + (c * ld + i) * ld;
      std::fill(row, row + i + 1, 0.0);
      for (i64 l = 0; l < count; ++l)
        loops<double>().add(lanes.block(l) + (c * width + i) * width, 1, i + 1, width, row, ld);
    }
  for (i64 c = 0; c < K; ++c) mirror(S + c * ld * ld, d + 1, ld);
}

// One scatter for all classes, every row about its own class's shift, and the classes' sums.
template <class T>
void within_scatter(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* root_w,
                    double* S, i64 ld, double* sums, int threads) {
  const Loops<T>& f = loops<T>();
  const i64 d = X.d, width = ceil_div(d, f.strip) * f.strip, size = width * width + K * d;
  const i64 chunks = ceil_div(X.n, kChunk), count = lane_count(X.n, size);
  const Scratch<T> scratch(threads, kChunk * (width + d));
  const Scratch<double> lanes(count, size);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    T *strips = scratch.block(omp_get_thread_num()), *rows = strips + kChunk * width;
    double* product = lanes.block(lane);
    double* sum = product + width * width;
    std::fill(product, product + size, 0.0);
    for (i64 p = lane * chunks / count; p < (lane + 1) * chunks / count; ++p) {
      const i64 r0 = p * kChunk, m = std::min(kChunk, X.n - r0);
      for (i64 i = 0; i < m; ++i) {
        const i64 c = codes[r0 + i];
        const T w = root_w ? root_w[r0 + i] * root_w[r0 + i] : T(1);
        f.pack(X.at(r0 + i, 0), 1, d, X.rs, X.cs, shifts + c * d, nullptr, rows + i * d, d);
        f.add_powers(rows + i * d, d, 1, nullptr, w, sum + c * d, nullptr, nullptr);
      }
      const Chunk<T> Z{strips, m};
      Z.put(0, rows, d, d, 1, nullptr, root_w ? root_w + r0 : nullptr);
      Z.pad(d, width);
      f.gram(strips, m, d, product, width);
    }
  }
  for (i64 i = 0; i < d; ++i) {
    std::fill(S + i * ld, S + i * ld + i + 1, 0.0);
    for (i64 l = 0; l < count; ++l)
      loops<double>().add(lanes.block(l) + i * width, 1, i + 1, width, S + i * ld, ld);
  }
  std::fill(sums, sums + K * d, 0.0);
  for (i64 l = 0; l < count; ++l)
    loops<double>().add(lanes.block(l) + width * width, 1, K * d, K * d, sums, K * d);
  mirror(S, d, ld);
}

// out (powers, K, d): sums and squares of the classes' rows; with powers = 3 NaN are left out, and
// the third holds the weight of the values that are there.
template <class T>
void class_powers(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* w,
                  i64 powers, double* out, int threads) {
  const i64 d = X.d, each = K * d, size = powers * each;
  const i64 count = lane_count(X.n, size);
  const Scratch<double> lanes(count, size);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    double* sum = lanes.block(lane);
    std::fill(sum, sum + size, 0.0);
    for (i64 i = lane * X.n / count; i < (lane + 1) * X.n / count; ++i) {
      double* own = sum + codes[i] * d;
      loops<T>().add_powers(X.at(i, 0), d, X.cs, shifts + codes[i] * d, w ? w[i] : T(1), own,
                            powers > 1 ? own + each : nullptr,
                            powers > 2 ? own + 2 * each : nullptr);
    }
  }
  add_lanes(lanes, count, size, out);
}

#define KG_INSTANTIATE(T)                                                                        \
  template void class_scatter<T>(const Rows<T>&, const i64*, i64, const T*, const T*, double*,   \
                                 i64, int);                                                      \
  template void within_scatter<T>(const Rows<T>&, const i64*, i64, const T*, const T*, double*,  \
                                  i64, double*, int);                                            \
  template void class_powers<T>(const Rows<T>&, const i64*, i64, const T*, const T*, i64,        \
                                double*, int);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
