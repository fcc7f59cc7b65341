// Lloyd's iteration: every row to its nearest centre, and the sums of the new clusters, in one pass.
// No matrix of n by k is made. A strip of rows is packed, the centres pass by in blocks of four, and
// the rows are added to their clusters while they are in cache. Strips are dealt to fixed lanes and
// the lanes added in order, so the result does not depend on the threads.
// kmeans/bounds.cpp has the pass that leaves distances out.
#include "kmeans/packed_centres.hpp"
#include "kmeans/lanes.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kg {
namespace {

// One thread's strip of rows in a pass.
template <class T> class Strip {
 public:
  static i64 buffer_size(i64 d) { return 2 * d * loops<T>().strip; }

  Strip(const ClusterPass<T>& pass, const Blocks<T>& blocks, T* buffer)
      : pass_(pass), blocks_(blocks), size_(loops<T>().strip), d_(pass.X.d), rows_(buffer),
        packed_(buffer + size_ * d_), index_(size_), listed_(blocks.count) {
    std::iota(listed_.begin(), listed_.end(), 0);
  }

  // rows first.. ; adds to sums (k, d + 1); returns inertia
  double take(i64 first, i64 m, double* sums) {
    const Loops<T>& f = loops<T>();
    const Rows<T>& X = pass_.X;
    const bool lean = pass_.follow && !pass_.measure && X.cs == 1;
    if (lean) {
      f.pack_lanes(X.at(first, 0), m, d_, X.rs, packed_);
    } else {
      f.pack(X.at(first, 0), m, d_, X.rs, X.cs, pass_.shift, nullptr, rows_, d_);
      f.pack_lanes(rows_, m, d_, d_, packed_);
    }
    for (i64 i = ceil_div(m, size_ / 3) * (size_ / 3) * d_; i < size_ * d_; ++i) packed_[i] = T(0);
    if (lean && pass_.shift) f.shift_lanes(packed_, d_, pass_.shift);
    f.nearest(packed_, d_, blocks_.centres(), blocks_.half(), listed_.data(), blocks_.count,
              index_.data());
    double inertia = 0;
    for (i64 i = 0; i < m; ++i) inertia += settle(first + i, i, sums, lean);
    return inertia;
  }

 private:
  double settle(i64 at, i64 i, double* sums, bool lean) {
    const Loops<T>& f = loops<T>();
    const std::int32_t label = index_[i], old = pass_.follow ? pass_.labels[at] : -1;
    const T w = pass_.w ? pass_.w[at] : T(1);
    T* row = rows_ + i * d_;
    if (label != old) {
      if (lean)
        f.pack(pass_.X.at(at, 0), 1, d_, pass_.X.rs, pass_.X.cs, pass_.shift, nullptr, row, d_);
      if (old >= 0) add(row, -w, sums + old * (d_ + 1));
      add(row, w, sums + label * (d_ + 1));
      pass_.labels[at] = label;
    }
    if (!pass_.measure) return 0;
    const T away = f.squared_distance(row, pass_.C + label * d_, d_);
    if (pass_.distances) pass_.distances[at] = away;
    return static_cast<double>(w) * static_cast<double>(away);
  }

  void add(const T* row, T w, double* sum) const {
    loops<T>().add_row(row, d_, w, sum);
    sum[d_] += static_cast<double>(w);
  }

  const ClusterPass<T>& pass_;
  const Blocks<T>& blocks_;
  const i64 size_, d_;
  T *rows_, *packed_;
  std::vector<std::int32_t> index_, listed_;
};

}  // namespace

template <class T> PassTerms cluster_pass(const ClusterPass<T>& pass, int threads) {
  const i64 n = pass.X.n, d = pass.X.d, strip = loops<T>().strip, strips = ceil_div(n, strip);
  const Blocks<T> blocks(pass.C, pass.k, d);
  const Scratch<T> buffers(threads, Strip<T>::buffer_size(d));
  std::vector<Strip<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t) team.emplace_back(pass, blocks, buffers.block(t));
  return in_lanes(pass, strips, threads, [&](i64 s, int thread, double* sums) {
    return team[thread].take(s * strip, std::min(strip, n - s * strip), sums);
  });
}

template <class T>
void distances_to(const Rows<T>& X, const T* shift, const T* C, i64 k, const T* norms, T* out,
                  int threads) {
  const Loops<T>& f = loops<T>();
  const i64 n = X.n, d = X.d, strip = f.strip, strips = ceil_div(n, strip);
  const Blocks<T> blocks(C, k, d);
  const Scratch<T> buffers(threads, strip * (2 * d + kBlockCentres));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 s = 0; s < strips; ++s) {
    const i64 first = s * strip, m = std::min(strip, n - first);
    T *rows = buffers.block(omp_get_thread_num()), *packed = rows + strip * d, *found = packed + strip * d;
    f.pack(X.at(first, 0), m, d, X.rs, X.cs, shift, nullptr, rows, d);
    std::fill(packed, packed + strip * d, T(0));
    f.pack_lanes(rows, m, d, d, packed);
    for (i64 b = 0; b < blocks.count; ++b) {
      f.half_distances(packed, d, blocks.centres() + b * kBlockCentres * d, blocks.half() + b * kBlockCentres, found,
                       strip);
      for (i64 c = b * kBlockCentres; c < std::min(k, (b + 1) * kBlockCentres); ++c)
        for (i64 i = 0; i < m; ++i)
          out[c * n + first + i] =
              std::max(T(0), norms[first + i] + 2 * found[(c % kBlockCentres) * strip + i]);
    }
  }
}

#define KG_INSTANTIATE(T)                                                                        \
  template PassTerms cluster_pass<T>(const ClusterPass<T>&, int);                                \
  template void distances_to<T>(const Rows<T>&, const T*, const T*, i64, const T*, T*, int);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
