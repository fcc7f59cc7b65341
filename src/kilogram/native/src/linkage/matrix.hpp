// A stored matrix of distances between clusters that merge, and the formula of Lance and Williams.
#pragma once
#include "linkage/chain.hpp"
#include "linkage/linkage.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kg {

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
    became(k);
    return order;
  }
  // the first k slots are all there is, and all of them are live
  void became(i64 k) {
    m = alive_ = k;
    live.assign(k, 1);
  }

  i64 m;  // slots, done with or not
  std::vector<std::int32_t> name;
  std::vector<char> live;

 private:
  T* D_;
  i64 alive_;
};

// The distance of the union of two clusters, of sizes a and b and ab apart, from a third of size s,
// x and y away from them
template <Linkage linkage, class T> inline T lance_williams(T x, T y, T a, T b, T ab, T s) {
  if constexpr (linkage == kComplete) return std::max(x, y);
  if constexpr (linkage == kAverage) return (a * x + b * y) / (a + b);
  if constexpr (linkage == kWard) return ((s + a) * x + (s + b) * y - s * ab) / (s + a + b);
  return std::max(T(0), (a * x + b * y - a * b / (a + b) * ab) / (a + b));
}

// All mergers that are left of n - 1, t of which are made: the slots of the square are clusters of
// these sizes. Complete, average and Ward's linkage.
template <class T>
void merge_square(Square<T>& square, std::vector<T>& size, i64 n, i64 t, Linkage linkage,
                  Merge* merges, int threads);

}  // namespace kg
