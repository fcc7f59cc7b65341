// Merge trees. Single linkage is Prim's spanning tree; complete, average and Ward's linkage follow
// chains of nearest neighbours (Murtagh 1985), which holds where a merged cluster is never nearer to
// a third than both its parts were. Prim's tree and Ward's linkage need only the rows and the centres,
// so from rows they take memory of n d, not n^2. Slots that are done with are filled by the last one.
#include "linkage/chain.hpp"
#include "linkage/linkage.hpp"
#include "common/interrupt.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kg {
namespace {

// Rows in panels (simd/loops_linkage.hpp) that can be read, replaced and taken out.
template <class T> class Panels {
 public:
  Panels(const Rows<T>& X, i64 extra = 0)
      : count(X.n), depth_(X.d), lanes_(loops<T>().panel), data_(1, padded(X.n) * X.d),
        distances_(1, padded(X.n) + extra) {
    std::fill(data_.block(0), data_.block(0) + padded(X.n) * depth_, T(0));
    for (i64 i = 0; i < X.n; ++i)
      for (i64 k = 0; k < depth_; ++k) at(i, k) = *X.at(i, k);
  }
  T& at(i64 i, i64 k) const {
    return data_.block(0)[(i / lanes_ * depth_ + k) * lanes_ + i % lanes_];
  }
  void read(i64 i, T* row) const {
    for (i64 k = 0; k < depth_; ++k) row[k] = at(i, k);
  }
  // the last row takes the place of row i
  void remove(i64 i) {
    --count;
    for (i64 k = 0; k < depth_; ++k) at(i, k) = at(count, k);
  }
  // squared distances of all rows from c
  T* from(const T* c) const {
    loops<T>().panel_distances(data_.block(0), depth_, ceil_div(count, lanes_), c,
                               distances_.block(0));
    return distances_.block(0);
  }

  i64 count;

 private:
  i64 padded(i64 n) const { return ceil_div(n, loops<T>().panel) * loops<T>().panel; }
  i64 depth_, lanes_;
  Scratch<T> data_, distances_;
};

}  // namespace

template <class T> void tree_of_rows(const Rows<T>& X, Merge* merges) {
  const i64 n = X.n;
  Panels<T> rest(X);
  std::vector<T> near(n, kFar<T>), row(X.d);
  std::vector<std::int32_t> from(n, 0), name(n);
  std::iota(name.begin(), name.end(), 0);
  i64 next = 0;
  for (i64 t = 0; t + 1 < n; ++t) {
    check_interrupt();
    const std::int32_t mark = name[next];
    rest.read(next, row.data());
    rest.remove(next);
    const i64 m = rest.count;
    near[next] = near[m], from[next] = from[m], name[next] = name[m];
    loops<T>().relax(rest.from(row.data()), m, mark, near.data(), from.data());
    next = loops<T>().row_min(near.data(), m);
    merges[t] = {from[next], name[next], double(near[next])};
  }
}

template <class T> void ward_of_rows(const Rows<T>& X, const T* size_of, Merge* merges) {
  const i64 n = X.n, d = X.d;
  Panels<T> centres(X);
  std::vector<T> size(size_of, size_of + n), one(d), two(d);
  std::vector<std::int32_t> name(n);
  std::iota(name.begin(), name.end(), 0);
  Chain chain(n);
  for (i64 t = 0; t + 1 < n;) {
    check_interrupt();
    if (chain.empty()) chain.push(0);
    const i64 a = chain.top(), before = chain.before();
    centres.read(a, one.data());
    T* away = centres.from(one.data());
    loops<T>().ward_scale(away, size.data(), size[a], centres.count);
    away[a] = kFar<T>;
    i64 b = loops<T>().row_min(away, centres.count);
    if (before != kNone && away[before] <= away[b]) b = before;
    if (b != before) {
      chain.push(b);
      continue;
    }
    chain.pop();
    chain.pop();
    merges[t++] = {name[a], name[b], double(away[b])};
    const T both = size[a] + size[b];
    for (i64 k = 0; k < d; ++k)
      centres.at(a, k) = (size[a] * one[k] + size[b] * centres.at(b, k)) / both;
    size[a] = both;
    centres.remove(b);
    const i64 last = centres.count;
    size[b] = size[last], name[b] = name[last];
    chain.moved(last, b);
  }
}

void name_clusters(const Merge* merges, i64 n, i64* children, double* weights) {
  std::vector<i64> parent(2 * n - 1);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](i64 i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (i64 t = 0; t + 1 < n; ++t) {
    const i64 a = root(merges[t].a), b = root(merges[t].b);
    children[2 * t] = std::min(a, b);
    children[2 * t + 1] = std::max(a, b);
    weights[n + t] = weights[a] + weights[b];
    parent[a] = parent[b] = n + t;
  }
}

#define KG_INSTANTIATE(T)                                 \
  template void tree_of_rows<T>(const Rows<T>&, Merge*);  \
  template void ward_of_rows<T>(const Rows<T>&, const T*, Merge*);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
