// Complete and average linkage of rows under Euclidean distance. The first rounds, when clusters are
// many and small, find every cluster's nearest from the rows themselves, so that the matrix of
// distances is stored only for the clusters that are left; linkage/from_matrix.cpp goes on from there.
#include "linkage/linkage.hpp"
#include "linkage/matrix.hpp"
#include "linkage/rounds.hpp"
#include "common/interrupt.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <omp.h>
#include <vector>

namespace kg {
namespace {

// The rows cluster by cluster, small clusters first, in panels (simd/loops_linkage.hpp).
template <class T, Linkage linkage> class Cloud {
 public:
  Cloud(const Rows<T>& X, const T* weight)
      : X_(X), weight_(weight), lanes_(loops<T>().panel), panels_(ceil_div(X.n, lanes_)),
        data_(1, panels_ * lanes_ * X.d), order_(X.n), starts_(X.n + 1), w_(X.n) {
    std::iota(order_.begin(), order_.end(), 0);
    std::iota(starts_.begin(), starts_.end(), 0);
    pack();
  }

  i64 clusters() const { return i64(starts_.size()) - 1; }
  std::int32_t name(i64 p) const { return order_[starts_[p]]; }
  T weight(i64 p) const {
    return std::accumulate(w_.data() + starts_[p], w_.data() + starts_[p + 1], T(0));
  }
  i64 buffer_size() const { return panels_ * lanes_ + X_.d; }

  // out[q] = how far cluster p is from cluster q, for all of them; away has `buffer_size()` entries
  void distances(i64 p, T* away, T* out) const {
    const i64 m = clusters();
    T* row = away + panels_ * lanes_;
    std::fill(out, out + m, T(0));
    for (i64 i = starts_[p]; i < starts_[p + 1]; ++i) {
      for (i64 k = 0; k < X_.d; ++k) row[k] = *X_.at(order_[i], k);
      loops<T>().panel_distances(data_.block(0), X_.d, panels_, row, away);
      if (linkage == kAverage)
        for (i64 j = 0; j < X_.n; ++j) away[j] = w_[j] * std::sqrt(away[j]);
      for (const Group& group : groups_) add(group, away, w_[i], out);
    }
    for (i64 q = 0; q < m; ++q)
      out[q] = linkage == kAverage ? out[q] / (own_[p] * own_[q]) : std::sqrt(out[q]);
    out[p] = kFar<T>;
  }

  // every cluster's nearest and how far it is
  void nearest(std::vector<i64>& near, std::vector<T>& least, int threads) const {
    const i64 m = clusters();
    near.resize(m);
    least.resize(m);
    const Scratch<T> away(threads, buffer_size()), out(threads, m);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (i64 p = 0; p < m; ++p) {
      T* mine = out.block(omp_get_thread_num());
      distances(p, away.block(omp_get_thread_num()), mine);
      near[p] = loops<T>().row_min(mine, m);
      least[p] = mine[near[p]];
    }
  }

  // D (m, m), symmetric to the last digit
  void matrix(T* D, int threads) const {
    const i64 m = clusters();
    const Scratch<T> away(threads, buffer_size()), out(threads, m);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (i64 p = 0; p < m; ++p) {
      T* mine = out.block(omp_get_thread_num());
      distances(p, away.block(omp_get_thread_num()), mine);
      std::copy(mine + p, mine + m, D + p * m + p);
    }
    constexpr i64 side = 64;  // of a tile that is mirrored in cache: 32 KiB in float64
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (i64 i = 0; i < m; i += side)
      for (i64 j = i; j < m; j += side)
        for (i64 q = j; q < std::min(j + side, m); ++q)
          for (i64 p = i; p < std::min(i + side, q); ++p) D[q * m + p] = D[p * m + q];
  }

  // the rows in the order of the unions, small ones first
  void merge(std::vector<Union> all) {
    const auto size = [&](const Union& u) {
      const i64 a = starts_[u.a + 1] - starts_[u.a];
      return u.a == u.b ? a : a + starts_[u.b + 1] - starts_[u.b];
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Union& u, const Union& v) { return size(u) < size(v); });
    std::vector<std::int32_t> order;
    std::vector<i64> starts{0};
    for (const auto& [a, b] : all) {
      order.insert(order.end(), order_.data() + starts_[a], order_.data() + starts_[a + 1]);
      if (b != a)
        order.insert(order.end(), order_.data() + starts_[b], order_.data() + starts_[b + 1]);
      starts.push_back(i64(order.size()));
    }
    order_.swap(order);
    starts_.swap(starts);
    pack();
  }

 private:
  struct Group {  // clusters first .. last of one size; their rows begin at `row`
    i64 first, last, size, row;
  };

  // a row's part of its cluster's distances from the clusters of a group
  static void add(const Group& g, const T* away, T by, T* out) {
    switch (g.size) {
      case 1: return add_of<1>(g, 1, away, by, out);
      case 2: return add_of<2>(g, 2, away, by, out);
      case 3: return add_of<3>(g, 3, away, by, out);
      case 4: return add_of<4>(g, 4, away, by, out);
      default: return add_of<0>(g, g.size, away, by, out);
    }
  }
  template <int fixed>
  static void add_of(const Group& g, i64 size, const T* __restrict away, T by, T* __restrict out) {
    const i64 s = fixed ? fixed : size;
    const T* rows = away + g.row;
    for (i64 q = g.first; q < g.last; ++q, rows += s) {
      T found = rows[0];
      for (i64 j = 1; j < s; ++j)
        found = linkage == kComplete ? std::max(found, rows[j]) : found + rows[j];
      out[q] = linkage == kComplete ? std::max(out[q], found) : out[q] + by * found;
    }
  }

  void pack() {
    groups_.clear();
    for (i64 p = 0; p < clusters(); ++p) {
      const i64 size = starts_[p + 1] - starts_[p];
      if (groups_.empty() || groups_.back().size != size)
        groups_.push_back({p, p, size, starts_[p]});
      groups_.back().last = p + 1;
    }
    std::fill(data_.block(0), data_.block(0) + panels_ * lanes_ * X_.d, T(0));
    for (i64 i = 0; i < X_.n; ++i) {
      w_[i] = weight_[order_[i]];
      for (i64 k = 0; k < X_.d; ++k)
        data_.block(0)[(i / lanes_ * X_.d + k) * lanes_ + i % lanes_] = *X_.at(order_[i], k);
    }
    own_.resize(clusters());
    for (i64 p = 0; p < clusters(); ++p) own_[p] = weight(p);
  }

  const Rows<T>& X_;
  const T* weight_;
  const i64 lanes_, panels_;
  const Scratch<T> data_;
  std::vector<std::int32_t> order_;
  std::vector<i64> starts_;
  std::vector<T> w_, own_;
  std::vector<Group> groups_;
};

// Whether a round over all n rows costs less than what it spares of a matrix of m clusters: fresh
// memory is dear, and a third of it will do after a round. Nanoseconds an entry.
bool worth(i64 n, i64 m, i64 d) {
  return 8.0 * double(m) * double(m) > (1.0 + 0.12 * double(d)) * double(n) * double(n);
}

template <class T, Linkage linkage>
void link(const Rows<T>& X, const T* weight, i64 memory_limit, Merge* merges, int threads) {
  constexpr i64 few = 24;  // as in linkage/from_matrix.cpp
  Cloud<T, linkage> cloud(X, weight);
  std::vector<i64> near;
  std::vector<T> least;
  i64 t = 0, m = X.n;
  for (; m * m * i64(sizeof(T)) > memory_limit && worth(X.n, m, X.d); m = cloud.clusters()) {
    check_interrupt();
    cloud.nearest(near, least, threads);
    const std::vector<Union> all = united(near);
    if (few * (m - i64(all.size())) < m) break;
    for (const auto& [a, b] : all)
      if (b != a) merges[t++] = {cloud.name(a), cloud.name(b), double(least[a])};
    cloud.merge(all);
  }
  const Scratch<T> D(1, m * m);
  cloud.matrix(D.block(0), threads);
  Square<T> square(D.block(0), m);
  std::vector<T> size(m);
  for (i64 p = 0; p < m; ++p) square.name[p] = cloud.name(p), size[p] = cloud.weight(p);
  merge_square<T>(square, size, X.n, t, linkage, merges, threads);
}

}  // namespace

template <class T>
void link_cloud(const Rows<T>& X, const T* size, Linkage linkage, i64 memory_limit, Merge* merges,
                int threads) {
  if (linkage == kComplete)
    link<T, kComplete>(X, size, memory_limit, merges, threads);
  else
    link<T, kAverage>(X, size, memory_limit, merges, threads);
}

template void link_cloud<float>(const Rows<float>&, const float*, Linkage, i64, Merge*, int);
template void link_cloud<double>(const Rows<double>&, const double*, Linkage, i64, Merge*, int);

}  // namespace kg
