// Merge trees from a stored matrix of distances, by the formula of Lance and Williams: the distance
// of a union from a third cluster follows from those of its parts. See linkage/from_rows.cpp for the rows.
#include "linkage/linkage.hpp"
#include "linkage/matrix.hpp"
#include "linkage/rounds.hpp"
#include "common/interrupt.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kg {

template <class T> void tree_of_matrix(const T* D, i64 n, Merge* merges) {
  std::vector<T> near(n, kFar<T>);
  std::vector<std::int32_t> from(n, 0);
  std::vector<char> done(n, 0);
  i64 next = 0;
  for (i64 t = 0; t + 1 < n; ++t) {
    check_interrupt();
    done[next] = 1;
    const T* d = D + next * n;
    i64 best = kNone;
    for (i64 i = 0; i < n; ++i) {
      if (done[i]) continue;
      if (d[i] < near[i]) near[i] = d[i], from[i] = static_cast<std::int32_t>(next);
      if (best < 0 || near[i] < near[best]) best = i;
    }
    next = best;
    merges[t] = {from[next], static_cast<std::int32_t>(next), double(near[next])};
  }
}

namespace {

template <class T> void follow(const std::vector<i64>& order, std::vector<T>& values) {
  for (std::size_t i = 0; i < order.size(); ++i) values[i] = values[order[i]];
}

// A chain of nearest neighbours, until all or half of the slots are merged; mergers so far
template <class T, Linkage linkage>
i64 follow_chain(Square<T>& square, std::vector<T>& size, i64 n, i64 t, Merge* merges) {
  Chain chain(square.m);
  i64 first = 0;
  while (t + 1 < n && !square.loose()) {
    check_interrupt();
    if (chain.empty()) {
      while (!square.live[first]) ++first;
      chain.push(first);
    }
    const i64 a = chain.top(), before = chain.before();
    const T* row = square.row(a);
    i64 b = loops<T>().row_min(row, square.m);
    if (before != kNone && row[before] <= row[b]) b = before;
    if (b != before) {
      chain.push(b);
      continue;
    }
    chain.pop();
    chain.pop();
    const T ab = row[b];
    merges[t++] = {square.name[a], square.name[b], double(ab)};
    square.merge(a, b, [&, sa = size[a], sb = size[b]](T x, T y, i64 k) {
      return lance_williams<linkage>(x, y, sa, sb, ab, size[k]);
    });
    size[a] += size[b];
  }
  return t;
}

// Rounds while they merge enough of the clusters to be worth a reading of the matrix, else a chain
template <class T, Linkage linkage>
void merge_all(Square<T>& square, std::vector<T>& size, i64 n, i64 t, Merge* merges, int threads) {
  constexpr i64 few = 24;  // a round that merges fewer than one of so many clusters is the last
  std::vector<i64> near;
  nearest_slots(square, near, threads);
  while (t + 1 < n) {
    check_interrupt();
    const std::vector<Union> all = united(near);
    if (few * (square.m - i64(all.size())) >= square.m) {
      for (const auto& [a, b] : all)
        if (b != a) merges[t++] = {square.name[a], square.name[b], double(square.row(a)[b])};
      Round<T, linkage>(square, size, all).run(near, threads);
    } else {
      t = follow_chain<T, linkage>(square, size, n, t, merges);
      if (t + 1 == n) break;
      follow(square.tighten(), size);
      nearest_slots(square, near, threads);
    }
  }
}

}  // namespace

template <class T>
void merge_square(Square<T>& square, std::vector<T>& size, i64 n, i64 t, Linkage linkage,
                  Merge* merges, int threads) {
  if (linkage == kComplete)
    merge_all<T, kComplete>(square, size, n, t, merges, threads);
  else if (linkage == kAverage)
    merge_all<T, kAverage>(square, size, n, t, merges, threads);
  else
    merge_all<T, kWard>(square, size, n, t, merges, threads);
}

template <class T>
void chain_of_matrix(T* D, i64 n, const T* size_of, Linkage linkage, Merge* merges, int threads) {
  Square<T> square(D, n);
  std::vector<T> size(size_of, size_of + n);
  merge_square<T>(square, size, n, 0, linkage, merges, threads);
}

namespace {

// The medoid of every cluster: sums[i] = sum over the members j of i's cluster of w_j d_ij.
template <class T> class MedoidOf {
 public:
  MedoidOf(const T* D, i64 n, const T* w) : D_(D), n_(n), w_(w), sums_(n, 0.0), members_(n), medoid_(n) {
    for (i64 i = 0; i < n; ++i) members_[i] = {i}, medoid_[i] = i;
  }
  T distance(i64 a, i64 b) const { return D_[medoid_[a] * n_ + medoid_[b]]; }
  void merge(i64 a, i64 b) {
    for (i64 i : members_[a])
      for (i64 j : members_[b]) {
        const double d = D_[i * n_ + j];
        sums_[i] += double(w_[j]) * d;
        sums_[j] += double(w_[i]) * d;
      }
    members_[a].insert(members_[a].end(), members_[b].begin(), members_[b].end());
    members_[b].clear();
    medoid_[a] = *std::min_element(members_[a].begin(), members_[a].end(), [this](i64 i, i64 j) {
      return sums_[i] < sums_[j] || (sums_[i] == sums_[j] && i < j);
    });
  }

 private:
  const T* D_;
  i64 n_;
  const T* w_;
  std::vector<double> sums_;
  std::vector<std::vector<i64>> members_;
  std::vector<i64> medoid_;
};

}  // namespace

template <class T> void closest_pairs(T* D, i64 n, const T* size_of, bool medoids, Merge* merges) {
  std::vector<T> copy(medoids ? n * n : 0), size(size_of, size_of + n), least(n);
  if (medoids) std::copy(D, D + n * n, copy.begin());
  MedoidOf<T> centre(copy.data(), medoids ? n : 0, size_of);
  Square<T> square(D, n);
  std::vector<i64> nearest(n);
  const auto look = [&](i64 i) {
    nearest[i] = loops<T>().row_min(square.row(i), square.m);
    least[i] = square.row(i)[nearest[i]];
  };
  for (i64 i = 0; i < n; ++i) look(i);
  for (i64 t = 0; t + 1 < n; ++t) {
    check_interrupt();
    const i64 i = loops<T>().row_min(least.data(), n), j = nearest[i], a = std::min(i, j), b = std::max(i, j);
    const T ab = square.row(a)[b];
    merges[t] = {square.name[a], square.name[b], double(ab)};
    if (medoids) {
      centre.merge(a, b);
      square.merge(a, b, [&](T, T, i64 k) { return centre.distance(a, k); });
    } else {
      square.merge(a, b, [&, sa = size[a], sb = size[b]](T x, T y, i64 k) {
        return lance_williams<kCentroid>(x, y, sa, sb, ab, size[k]);
      });
      size[a] += size[b];
    }
    least[b] = kFar<T>;
    if (t + 2 == n) break;
    look(a);
    for (i64 k = 0; k < n; ++k) {
      if (!square.live[k] || k == a) continue;
      const T v = square.row(k)[a];
      if (nearest[k] == a || nearest[k] == b)
        look(k);
      else if (v < least[k])
        nearest[k] = a, least[k] = v;
    }
  }
}

#define KG_INSTANTIATE(T)                                                \
  template void tree_of_matrix<T>(const T*, i64, Merge*);                \
  template void chain_of_matrix<T>(T*, i64, const T*, Linkage, Merge*, int);  \
  template void merge_square<T>(Square<T>&, std::vector<T>&, i64, i64, Linkage, Merge*, int);  \
  template void closest_pairs<T>(T*, i64, const T*, bool, Merge*);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
