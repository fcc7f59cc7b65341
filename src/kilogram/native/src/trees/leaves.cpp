// Rows down many trees.
//
// A row without NaN goes down packed nodes of 16 bytes: eight rows side by side, so that the
// processor waits for eight nodes at once, and no branch depends on the data. Rows with NaN and
// trees with categorical splits go down the full table, one at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "trees/trees.hpp"

namespace kg {
namespace {

constexpr i64 kSide = 8;              // rows side by side
constexpr i64 kPanelBytes = 1 << 18;  // of rows that go down one tree after another

bool goes_left(const TreeTable& t, i64 at, double x) {
  if (std::isnan(x)) return t.missing_left[at];
  if (t.categories) {
    const std::uint64_t* bits = t.categories + at * kCategoryWords;
    if (bits[0] | bits[1] | bits[2] | bits[3]) {
      if (!(x >= 0 && x < 64 * kCategoryWords) || x != std::floor(x)) return t.missing_left[at];
      const i64 c = static_cast<i64>(x);
      return bits[c >> 6] >> (c & 63) & 1;
    }
  }
  return x <= t.threshold[at];
}

std::int32_t leaf_of(const TreeTable& t, i64 root, const double* x) {
  std::int32_t at = static_cast<std::int32_t>(root);
  for (std::int32_t k; (k = t.feature[at]) >= 0;) at = goes_left(t, at, x[k]) ? t.left[at] : t.right[at];
  return at;
}

// The leaves of kSide rows, as packed numbers.
inline void descend(const PackedNode* nodes, i64 root, const double* const* x, std::int32_t* at) {
  for (i64 j = 0; j < kSide; ++j) at[j] = static_cast<std::int32_t>(root);
  for (bool moving = true; moving;) {
    std::int32_t before[kSide];
    for (int step = 0; step < 4; ++step)
      for (i64 j = 0; j < kSide; ++j) {
        const PackedNode& node = nodes[at[j]];
        before[j] = at[j];
        at[j] = node.left + !(x[j][node.feature] <= node.threshold);
      }
    moving = false;
    for (i64 j = 0; j < kSide; ++j) moving |= before[j] != at[j];
  }
}

bool has_nan(const double* x, i64 count) {
  double sum = 0;  // 0 * x is NaN for NaN, and for infinity, which goes down the table as well
  for (i64 k = 0; k < count; ++k) sum += 0.0 * x[k];
  return sum != 0.0;
}

// visit(row, tree, node) for all rows of a panel in all trees
template <class Visit>
void panel(const TreeTable& t, const PackedTrees& p, const Rows<double>& X, i64 first, i64 last,
           const Visit& visit) {
  const bool full = t.categories || has_nan(X.at(first, 0), (last - first) * X.d);
  for (i64 tree = 0; tree < t.trees; ++tree) {
    if (full) {
      for (i64 i = first; i < last; ++i) visit(i, tree, leaf_of(t, t.roots[tree], X.at(i, 0)));
      continue;
    }
    for (i64 i = first; i < last; i += kSide) {
      const double* x[kSide];
      std::int32_t at[kSide];
      for (i64 j = 0; j < kSide; ++j) x[j] = X.at(std::min(i + j, last - 1), 0);
      descend(p.nodes, p.starts[tree], x, at);
      for (i64 j = 0; j < std::min(kSide, last - i); ++j) visit(i + j, tree, p.id[at[j]]);
    }
  }
}

template <class Visit>
void all_panels(const TreeTable& t, const PackedTrees& p, const Rows<double>& X, int threads,
                const Visit& visit) {
  const i64 most = std::clamp<i64>(kPanelBytes / (8 * X.d), 64, 2048);
  const i64 rows = std::clamp<i64>(ceil_div(X.n, 4 * threads), kSide, most);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (i64 first = 0; first < X.n; first += rows) panel(t, p, X, first, std::min(first + rows, X.n), visit);
}

}  // namespace

void pack_trees(const TreeTable& t, PackedNode* packed, std::int32_t* id, i64* starts) {
  i64 free = 0;
  std::vector<std::pair<std::int32_t, i64>> stack;  // a node and its packed number
  for (i64 tree = 0; tree < t.trees; ++tree) {
    starts[tree] = free++;
    stack.assign(1, {static_cast<std::int32_t>(t.roots[tree]), starts[tree]});
    while (!stack.empty()) {
      const auto [node, at] = stack.back();
      stack.pop_back();
      id[at] = node;
      if (t.feature[node] < 0) {
        packed[at] = {std::numeric_limits<double>::infinity(), 0, static_cast<std::int32_t>(at)};
        continue;
      }
      packed[at] = {t.threshold[node], t.feature[node], static_cast<std::int32_t>(free)};
      stack.push_back({t.right[node], free + 1});
      stack.push_back({t.left[node], free});
      free += 2;
    }
  }
}

void sum_leaves(const TreeTable& table, const PackedTrees& packed, const double* values, i64 width,
                const Rows<double>& X, double* out, int threads) {
  all_panels(table, packed, X, threads, [&](i64 i, i64, std::int32_t node) {
    const double* value = values + node * width;
    for (i64 c = 0; c < width; ++c) out[i * width + c] += value[c];
  });
}

void find_leaves(const TreeTable& table, const PackedTrees& packed, const Rows<double>& X,
                 std::int32_t* out, int threads) {
  all_panels(table, packed, X, threads,
             [&](i64 i, i64 tree, std::int32_t node) { out[i * table.trees + tree] = node; });
}

}  // namespace kg
