// Rows down many trees. Eight rows go down a tree together: their loads overlap, and no branch
// depends on where a row goes.
#include <algorithm>
#include <cmath>

#include "boosting/boosting.hpp"

namespace kg {
namespace {

constexpr i64 kPanel = 64;  // rows that go down one tree after another: tree and rows in cache
constexpr int kLanes = 8;  // rows side by side

// The child a row goes to: 0 left, 1 right. In a leaf always 0, and left is the leaf itself.
template <bool with_sets>
inline std::int32_t side(const BoostNode& node, const CategorySet* sets, double x) {
  const bool missing = std::isnan(x);
  if (with_sets && node.categories >= 0) {
    if (missing) return node.missing_right;
    return x >= 0 && x < kBins - 1 ? !sets[node.categories].has(static_cast<i64>(x)) : 1;
  }
  return (x > node.threshold) | (missing & node.missing_right);
}

template <bool with_sets, class T>
inline double one_leaf(const BoostNode* tree, const CategorySet* sets, const T* row, i64 cs) {
  std::int32_t at = 0;
  for (;;) {
    const BoostNode& node = tree[at];
    if (node.left == at) return node.value;
    at = node.left + side<with_sets>(node, sets, row[node.feature * cs]);
  }
}

template <bool with_sets, class T>
void add_panel(const BoostNode* tree, i64 depth, const CategorySet* sets, const Rows<T>& X,
               i64 first, i64 last, double* out, i64 classes) {
  i64 i = first;
  for (; i + kLanes <= last; i += kLanes) {
    std::int32_t at[kLanes] = {};
    const T* rows = X.at(i, 0);
    for (i64 step = 0; step < depth; ++step)
      for (int j = 0; j < kLanes; ++j) {
        const BoostNode& node = tree[at[j]];
        at[j] = node.left + side<with_sets>(node, sets, rows[j * X.rs + node.feature * X.cs]);
      }
    for (int j = 0; j < kLanes; ++j) out[(i + j) * classes] += tree[at[j]].value;
  }
  for (; i < last; ++i) out[i * classes] += one_leaf<with_sets>(tree, sets, X.at(i, 0), X.cs);
}

}  // namespace

// Node numbers are those within their tree.
template <class T>
void add_trees(const BoostNode* nodes, const CategorySet* sets, const i64* roots,
               const std::int32_t* depths, i64 first, i64 last, const Rows<T>& X, double* out,
               i64 classes, int threads) {
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads) if (threads > 1)
  for (i64 begin = 0; begin < X.n; begin += kPanel) {
    const i64 end = std::min(begin + kPanel, X.n);
    for (i64 t = first; t < last; ++t) {
      double* column = out + t % classes;
      const BoostNode* tree = nodes + roots[t];
      if (sets)
        add_panel<true>(tree, depths[t], sets, X, begin, end, column, classes);
      else
        add_panel<false>(tree, depths[t], sets, X, begin, end, column, classes);
    }
  }
}

template void add_trees(const BoostNode*, const CategorySet*, const i64*, const std::int32_t*, i64,
                        i64, const Rows<float>&, double*, i64, int);
template void add_trees(const BoostNode*, const CategorySet*, const i64*, const std::int32_t*, i64,
                        i64, const Rows<double>&, double*, i64, int);

}  // namespace kg
