// Merge trees from a stored matrix of distances, by the formula of Lance and Williams: the distance
// of a union from a third cluster follows from those of its parts. See linkage.cpp for the rows.
#include "linkage_chain.hpp"
#include "loops.hpp"
#include "structure.hpp"

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

// A square matrix of distances between slots; those done with lie at infinity, and every time half of
// them are, the others move together.
template <class T> class Square {
 public:
  Square(T* D, i64 n) : m(n), name(n), live(n, 1), D_(D), alive_(n) {
    std::iota(name.begin(), name.end(), 0);
    for (i64 i = 0; i < n; ++i) D_[i * n + i] = kFar<T>;
  }
  T* row(i64 i) const { return D_ + i * m; }
  // slot a becomes the union of a and b, with distance f(d_ka, d_kb, k); b is done with
  template <class F> void merge(i64 a, i64 b, F f) {
    T *ra = row(a), *rb = row(b);
    for (i64 k = 0; k < m; ++k) {
      if (!live[k] || k == a || k == b) continue;
      const T v = f(ra[k], rb[k], k);
      ra[k] = v;
      T* rk = row(k);
      rk[a] = v;
      rk[b] = kFar<T>;
    }
    ra[b] = kFar<T>;
    live[b] = 0;
    --alive_;
  }
  bool loose() const { return alive_ > 1 && 2 * alive_ < m; }
  // order[new] = old
  std::vector<i64> tighten() {
    std::vector<i64> order;
    for (i64 i = 0; i < m; ++i)
      if (live[i]) order.push_back(i);
    const i64 k = order.size();
    for (i64 i = 0; i < k; ++i) {
      const T* old = D_ + order[i] * m;
      for (i64 j = 0; j < k; ++j) D_[i * k + j] = old[order[j]];
      name[i] = name[order[i]];
    }
    m = k;
    live.assign(k, 1);
    return order;
  }

  i64 m;  // slots, done with or not
  std::vector<std::int32_t> name;
  std::vector<char> live;

 private:
  T* D_;
  i64 alive_;
};

template <class T> struct LanceWilliams {
  Linkage linkage;
  T a, b, ab;       // sizes of the two, and their distance
  const T* size;
  T operator()(T x, T y, i64 k) const {
    switch (linkage) {
      case kComplete: return std::max(x, y);
      case kAverage: return (a * x + b * y) / (a + b);
      case kWard: return ((size[k] + a) * x + (size[k] + b) * y - size[k] * ab) / (size[k] + a + b);
      default: return std::max(T(0), (a * x + b * y - a * b / (a + b) * ab) / (a + b));
    }
  }
};

template <class T> void follow(const std::vector<i64>& order, std::vector<T>& values) {
  for (std::size_t i = 0; i < order.size(); ++i) values[i] = values[order[i]];
}

}  // namespace

template <class T>
void chain_of_matrix(T* D, i64 n, const T* size_of, Linkage linkage, Merge* merges) {
  Square<T> square(D, n);
  std::vector<T> size(size_of, size_of + n);
  Chain chain(n);
  i64 first = 0;
  for (i64 t = 0; t + 1 < n;) {
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
    merges[t++] = {square.name[a], square.name[b], double(row[b])};
    square.merge(a, b, LanceWilliams<T>{linkage, size[a], size[b], row[b], size.data()});
    size[a] += size[b];
    if (!square.loose()) continue;
    const std::vector<i64> order = square.tighten();
    follow(order, size);
    for (std::size_t i = 0; i < order.size(); ++i) chain.moved(order[i], i);
    first = 0;
  }
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
    const i64 i = loops<T>().row_min(least.data(), n), j = nearest[i], a = std::min(i, j), b = std::max(i, j);
    const T ab = square.row(a)[b];
    merges[t] = {square.name[a], square.name[b], double(ab)};
    if (medoids) {
      centre.merge(a, b);
      square.merge(a, b, [&](T, T, i64 k) { return centre.distance(a, k); });
    } else {
      square.merge(a, b, LanceWilliams<T>{kCentroid, size[a], size[b], ab, size.data()});
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
  template void chain_of_matrix<T>(T*, i64, const T*, Linkage, Merge*);  \
  template void closest_pairs<T>(T*, i64, const T*, bool, Merge*);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
