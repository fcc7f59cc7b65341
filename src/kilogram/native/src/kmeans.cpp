// Lloyd's step: every row to its nearest centre, and the sums of the new clusters, in one pass.
// No matrix of n by k is made. A strip of rows is packed, the centres pass by in blocks of four, and
// the rows are added to their clusters while they are in cache. Strips are dealt to fixed lanes and
// the lanes added in order, so the result does not depend on the threads.
//
// With the labels of an earlier pass, rows are taken cluster by cluster, and a block of centres is
// left out where no row of the strip can be nearer to it than to its own centre a:
//     |x - c_a| <= |c_a - c_b| / 2   implies   |x - c_a| <= |x - c_b|            (Elkan 2003)
#include "kmeans.hpp"
#include "loops.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <omp.h>
#include <vector>

namespace kg {
namespace {

constexpr i64 kFour = 4;
constexpr i64 kLaneCount = 16;
constexpr i64 kLaneBytes = i64(1) << 26;  // all lanes' sums together
constexpr i64 kMostPruned = 4096;         // centres whose mutual distances are kept

// Centres in blocks of four, near ones together, and what a row of cluster a must reach to need them.
template <class T> class Blocks {
 public:
  Blocks(const T* C, i64 k, i64 d, bool apart, int threads)
      : count(ceil_div(k, kFour)), order_(count * kFour, -1), packed_(1, count * kFour * d),
        half_(1, count * kFour) {
    if (apart)
      arrange(C, k, d, threads);
    else
      std::iota(order_.begin(), order_.begin() + k, 0);
    std::vector<T> four(kFour * d);
    for (i64 b = 0; b < count; ++b) {
      i64 filled = 0;
      for (; filled < kFour && order_[b * kFour + filled] >= 0; ++filled) {
        const T* c = C + i64(order_[b * kFour + filled]) * d;
        std::copy(c, c + d, four.data() + filled * d);
      }
      loops<T>().pack_four(four.data(), filled, d, centres() + b * kFour * d, half() + b * kFour);
    }
  }
  T* centres() const { return packed_.block(0); }
  T* half() const { return half_.block(0); }
  // a quarter of the squared distance of centre a from the nearest of every block
  const T* reach(i64 a) const { return reach_.data() + a * count; }
  std::int32_t name(i64 place) const { return order_[place]; }

  const i64 count;

 private:
  void arrange(const T* C, i64 k, i64 d, int threads) {
    std::vector<T> apart(k * k);
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads)
    for (i64 a = 0; a < k; ++a)
      for (i64 b = 0; b < k; ++b)
        apart[a * k + b] = b == a ? T(0) : loops<T>().squared_distance(C + a * d, C + b * d, d);
    std::vector<char> taken(k, 0);
    i64 place = 0;
    for (i64 lead = 0; lead < k; ++lead) {
      if (taken[lead]) continue;
      taken[lead] = 1;
      order_[place++] = static_cast<std::int32_t>(lead);
      for (i64 more = 1; more < kFour; ++more) {
        i64 best = -1;
        for (i64 b = lead + 1; b < k; ++b)
          if (!taken[b] && (best < 0 || apart[lead * k + b] < apart[lead * k + best])) best = b;
        if (best < 0) break;
        taken[best] = 1;
        order_[place++] = static_cast<std::int32_t>(best);
      }
    }
    reach_.assign(k * count, std::numeric_limits<T>::max());
    for (i64 a = 0; a < k; ++a)
      for (i64 p = 0; p < k; ++p) {
        T& r = reach_[a * count + p / kFour];
        r = std::min(r, apart[a * k + order_[p]] / 4);
      }
  }

  std::vector<std::int32_t> order_;
  Scratch<T> packed_, half_;
  std::vector<T> reach_;
};

// rows of one cluster after another, each cluster's in their order
std::vector<std::int32_t> by_cluster(const std::int32_t* labels, i64 n, i64 k) {
  std::vector<i64> start(k + 1, 0);
  for (i64 i = 0; i < n; ++i) ++start[labels[i] + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::int32_t> order(n);
  for (i64 i = 0; i < n; ++i) order[start[labels[i]]++] = static_cast<std::int32_t>(i);
  return order;
}

// One thread's strip of rows on its way.
template <class T> class Strip {
 public:
  static i64 room(i64 d) { return 2 * d * loops<T>().strip + 4 * loops<T>().strip; }

  Strip(const ClusterPass<T>& pass, const Blocks<T>& blocks, const std::int32_t* order, T* room)
      : pass_(pass), blocks_(blocks), order_(order), size_(loops<T>().strip), d_(pass.X.d),
        rows_(room), packed_(room + size_ * d_), own_(packed_ + size_ * d_),
        index_(size_), needed_(blocks.count), listed_(blocks.count) {
    std::iota(listed_.begin(), listed_.end(), 0);
  }

  i64 row(i64 i) const { return order_ ? order_[i] : i; }

  // rows first.. of the order; adds to sums (k, d + 1); returns inertia, adds to `looked`
  double take(i64 first, i64 m, double* sums, double& looked) {
    const Loops<T>& f = loops<T>();
    const bool lean = pass_.follow && !order_ && !pass_.measure && pass_.X.cs == 1;
    if (lean) {
      f.pack_lanes(pass_.X.at(first, 0), m, d_, pass_.X.rs, packed_);
    } else {
      load(first, m);
      f.pack_lanes(rows_, m, d_, d_, packed_);
    }
    i64 count = blocks_.count;
    if (order_) count = needed(first, m);
    looked += double(count);
    for (i64 i = ceil_div(m, size_ / 3) * (size_ / 3) * d_; i < size_ * d_; ++i) packed_[i] = T(0);
    if (lean && pass_.shift) f.shift_lanes(packed_, d_, pass_.shift);
    f.nearest(packed_, d_, blocks_.centres(), blocks_.half(), listed_.data(), count, index_.data());
    double inertia = 0;
    for (i64 i = 0; i < m; ++i) inertia += settle(row(first + i), i, sums, lean);
    return inertia;
  }

 private:
  void load(i64 first, i64 m) {
    const Rows<T>& X = pass_.X;
    if (!order_)
      return loops<T>().pack(X.at(first, 0), m, d_, X.rs, X.cs, pass_.shift, nullptr, rows_, d_);
    for (i64 i = 0; i < m; ++i)
      loops<T>().pack(X.at(row(first + i), 0), 1, d_, X.rs, X.cs, pass_.shift, nullptr,
                      rows_ + i * d_, d_);
  }

  // lists the blocks that some row needs; a little more than needed, for rounding
  i64 needed(i64 first, i64 m) {
    const T wider = T(1) + 16 * std::numeric_limits<T>::epsilon() * T(1 + d_ / 8);
    std::fill(needed_.begin(), needed_.end(), 0);
    for (i64 i = 0; i < m;) {
      const i64 a = pass_.labels[row(first + i)];
      T most = 0;
      for (; i < m && pass_.labels[row(first + i)] == a; ++i) {
        own_[i] = loops<T>().squared_distance(rows_ + i * d_, pass_.C + a * d_, d_);
        most = std::max(most, own_[i] * wider);
      }
      const T* reach = blocks_.reach(a);
      for (i64 b = 0; b < blocks_.count; ++b) needed_[b] |= most >= reach[b];
    }
    i64 count = 0;
    for (i64 b = 0; b < blocks_.count; ++b) {
      listed_[count] = static_cast<std::int32_t>(b);
      count += needed_[b];
    }
    return count;
  }

  double settle(i64 at, i64 i, double* sums, bool lean) {
    const Loops<T>& f = loops<T>();
    const std::int32_t label = blocks_.name(index_[i]), old = pass_.follow ? pass_.labels[at] : -1;
    const bool same = order_ && label == pass_.labels[at];
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
    const T away = same ? own_[i] : f.squared_distance(row, pass_.C + label * d_, d_);
    if (pass_.distances) pass_.distances[at] = away;
    return static_cast<double>(w) * static_cast<double>(away);
  }

  void add(const T* row, T w, double* sum) const {
    loops<T>().add_row(row, d_, w, sum);
    sum[d_] += static_cast<double>(w);
  }

  const ClusterPass<T>& pass_;
  const Blocks<T>& blocks_;
  const std::int32_t* order_;
  const i64 size_, d_;
  T *rows_, *packed_, *own_;
  std::vector<std::int32_t> index_;
  std::vector<unsigned char> needed_;
  std::vector<std::int32_t> listed_;
};

}  // namespace

template <class T> PassTerms cluster_pass(const ClusterPass<T>& pass, int threads) {
  const i64 n = pass.X.n, d = pass.X.d, k = pass.k, strip = loops<T>().strip;
  const bool known = pass.known && k > kFour && k <= kMostPruned;
  const Blocks<T> blocks(pass.C, k, d, known, threads);
  const std::vector<std::int32_t> order =
      known ? by_cluster(pass.labels, n, k) : std::vector<std::int32_t>();
  const i64 size = k * (d + 1), strips = ceil_div(n, strip);
  const i64 most = std::clamp<i64>(kLaneBytes / (8 * size), 1, kLaneCount);
  const i64 count = std::max<i64>(1, std::min(most, strips));
  const Scratch<double> lanes(count, size + 2);
  const Scratch<T> rooms(threads, Strip<T>::room(d));
  std::vector<Strip<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t)
    team.emplace_back(pass, blocks, known ? order.data() : nullptr, rooms.block(t));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    double* sums = lanes.block(lane);
    std::fill(sums, sums + size + 2, 0.0);
    Strip<T>& mine = team[omp_get_thread_num()];
    for (i64 s = lane * strips / count; s < (lane + 1) * strips / count; ++s)
      sums[size] += mine.take(s * strip, std::min(strip, n - s * strip), sums, sums[size + 1]);
  }
  PassTerms terms{0, 0};
  if (!pass.follow) std::fill(pass.sums, pass.sums + size, 0.0);
  for (i64 l = 0; l < count; ++l) {
    loops<double>().add(lanes.block(l), 1, size, size, pass.sums, size);
    terms.inertia += lanes.block(l)[size];
    terms.looked += lanes.block(l)[size + 1];
  }
  terms.looked /= double(strips * blocks.count);
  return terms;
}

template <class T>
void distances_to(const Rows<T>& X, const T* shift, const T* C, i64 k, const T* norms, T* out,
                  int threads) {
  const Loops<T>& f = loops<T>();
  const i64 n = X.n, d = X.d, strip = f.strip, strips = ceil_div(n, strip);
  const Blocks<T> blocks(C, k, d, false, 1);
  const Scratch<T> rooms(threads, strip * (2 * d + kFour));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 s = 0; s < strips; ++s) {
    const i64 first = s * strip, m = std::min(strip, n - first);
    T *rows = rooms.block(omp_get_thread_num()), *packed = rows + strip * d, *found = packed + strip * d;
    f.pack(X.at(first, 0), m, d, X.rs, X.cs, shift, nullptr, rows, d);
    std::fill(packed, packed + strip * d, T(0));
    f.pack_lanes(rows, m, d, d, packed);
    for (i64 b = 0; b < blocks.count; ++b) {
      f.half_distances(packed, d, blocks.centres() + b * kFour * d, blocks.half() + b * kFour, found,
                       strip);
      for (i64 c = b * kFour; c < std::min(k, (b + 1) * kFour); ++c)
        for (i64 i = 0; i < m; ++i)
          out[c * n + first + i] =
              std::max(T(0), norms[first + i] + 2 * found[(c % kFour) * strip + i]);
    }
  }
}

#define KG_INSTANTIATE(T)                                                                        \
  template PassTerms cluster_pass<T>(const ClusterPass<T>&, int);                                \
  template void distances_to<T>(const Rows<T>&, const T*, const T*, i64, const T*, T*, int);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
