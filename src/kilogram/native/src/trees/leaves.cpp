// Rows down many trees.
//
// Rows go down packed nodes, a dozen side by side, so that the processor waits for many nodes at once and
// no branch depends on the data: a leaf is its own left child. A block of rows goes down one tree after
// another. A tree is read from end to end before it is used: memory hands that over many times faster than
// the scattered nodes that the rows would ask for. Trees with categorical splits, and those too large for
// packed links, are followed in the table.
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trees/trees.hpp"

namespace kg {
namespace {

constexpr i64 kSide = 12;             // rows side by side
constexpr i64 kSteps = 4;             // of all of them between two looks whether one still moves
constexpr i64 kBlockBytes = 1 << 21;  // of rows that go down one tree after another
constexpr i64 kFewest = 512, kMost = 8192;  // rows of a block
constexpr i64 kLine = 64;             // bytes that memory hands over at once
constexpr i64 kNodesPerRow = 32;      // of a tree up to which a block asks for most of its lines

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

template <class T>
std::int32_t leaf_of(const TreeTable& t, i64 root, const T* x) {
  std::int32_t at = static_cast<std::int32_t>(root);
  for (std::int32_t k; (k = t.feature[at]) >= 0;) at = goes_left(t, at, x[k]) ? t.left[at] : t.right[at];
  return at;
}

template <bool missing, class T>
inline std::uint32_t child(const PackedNode& node, int column_bits, const T* x) {
  const double v = x[node.link & ((1u << column_bits) - 1)];
  const std::uint32_t right =
      missing ? (v > node.threshold) | ((v != v) & (node.link >> column_bits & 1)) : v > node.threshold;
  return (node.link >> (column_bits + 1)) + right;
}

// The leaves of kSide rows, as packed numbers within their tree.
template <bool missing, class T>
inline void descend(const PackedNode* tree, int column_bits, const T* const* x, std::uint32_t* at) {
  std::uint32_t moved = 1;
  std::fill_n(at, kSide, 0u);
  while (moved) {
    for (int quiet = 1; quiet < kSteps; ++quiet) {
#pragma GCC unroll 12
      for (i64 j = 0; j < kSide; ++j) at[j] = child<missing>(tree[at[j]], column_bits, x[j]);
    }
    moved = 0;
#pragma GCC unroll 12
    for (i64 j = 0; j < kSide; ++j) {
      const std::uint32_t before = at[j];
      at[j] = child<missing>(tree[before], column_bits, x[j]);
      moved |= before ^ at[j];
    }
  }
}

void read_through(const PackedNode* tree, i64 nodes) {
  const char *at = reinterpret_cast<const char*>(tree), *end = reinterpret_cast<const char*>(tree + nodes);
  for (; at < end; at += kLine) static_cast<void>(*static_cast<const volatile char*>(at));
}

// visit(row, tree, packed number) for rows first .. last - 1 in all trees
template <bool missing, class T, class Visit>
void block(const PackedTrees& p, const Rows<T>& X, i64 first, i64 last, const Visit& visit) {
  for (i64 tree = 0; tree < p.trees; ++tree) {
    const i64 start = p.starts[tree], size = p.starts[tree + 1] - start;
    if (size <= kNodesPerRow * (last - first)) read_through(p.nodes + start, size);
    for (i64 i = first; i < last; i += kSide) {
      const T* x[kSide];
      std::uint32_t at[kSide];
      for (i64 j = 0; j < kSide; ++j) x[j] = X.at(std::min(i + j, last - 1), 0);
      descend<missing>(p.nodes + start, p.column_bits, x, at);
      for (i64 j = 0; j < std::min(kSide, last - i); ++j) visit(i + j, tree, start + at[j]);
    }
  }
}

template <class T>
bool has_missing(const Rows<T>& X, i64 first, i64 last) {
  const T *at = X.at(first, 0), *end = at + (last - first) * X.d;
  int found = 0;
  for (; at < end; ++at) found |= *at != *at;
  return found;
}

template <class T, class Visit>
void all_blocks(const PackedTrees& p, const Rows<T>& X, int threads, const Visit& visit) {
  const i64 most = std::clamp<i64>(kBlockBytes / (static_cast<i64>(sizeof(T)) * X.d), kFewest, kMost);
  const i64 turns = ceil_div(X.n, most * threads);
  const i64 rows = std::max(ceil_div(X.n, turns * threads), kSide);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (i64 first = 0; first < X.n; first += rows) {
    const i64 last = std::min(first + rows, X.n);
    if (has_missing(X, first, last)) block<true>(p, X, first, last, visit);
    else block<false>(p, X, first, last, visit);
  }
}

// visit(row, tree, node) one by one
template <class T, class Visit>
void all_rows(const TreeTable& t, const Rows<T>& X, int threads, const Visit& visit) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (i64 i = 0; i < X.n; ++i)
    for (i64 tree = 0; tree < t.trees; ++tree) visit(i, tree, leaf_of(t, t.roots[tree], X.at(i, 0)));
}

}  // namespace

TreePacking::TreePacking(const TreeTable& t, const double* values, i64 width, i64 columns, i64 nodes)
    : packed(nodes), id(nodes), starts(t.trees + 1), value_row(nodes) {
  column_bits = std::bit_width(static_cast<std::uint32_t>(std::max<i64>(columns - 1, 1)));
  keep_values(t, values, width, nodes);
  if (t.categories) column_bits = -1;
  i64 free = 0;
  std::vector<std::pair<std::int32_t, i64>> stack;  // a node and its packed number
  for (i64 tree = 0; tree < t.trees && column_bits >= 0; ++tree) {
    const i64 start = starts[tree] = free++;
    stack.assign(1, {static_cast<std::int32_t>(t.roots[tree]), start});
    while (!stack.empty()) {
      const auto [node, at] = stack.back();
      stack.pop_back();
      id[at] = node;
      const std::int32_t k = t.feature[node];
      const i64 left = (k < 0 ? at : free) - start;
      if (left >= (i64(1) << (31 - column_bits)) - 1) {
        column_bits = -1;
        return;
      }
      const auto link = static_cast<std::uint32_t>(left) << (column_bits + 1);
      if (k < 0) {
        packed[at] = {std::numeric_limits<double>::infinity(), link, value_row[node]};
        continue;
      }
      const std::uint32_t missing_right = t.missing_left[node] ? 0u : 1u << column_bits;
      packed[at] = {t.threshold[node], link | missing_right | std::uint32_t(k), 0};
      stack.push_back({t.right[node], free + 1});
      stack.push_back({t.left[node], free});
      free += 2;
    }
    starts[tree + 1] = free;
  }
}

// Leaves of equal values share a row: pure leaves of classes need one for each class.
void TreePacking::keep_values(const TreeTable& t, const double* values, i64 width, i64 nodes) {
  const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(double);
  std::unordered_map<std::string_view, std::int32_t> known;
  std::vector<i64> kept;
  for (i64 node = 0; node < nodes; ++node) {
    if (t.feature[node] >= 0) continue;
    const std::string_view own(reinterpret_cast<const char*>(values + node * width), bytes);
    const auto [at, fresh] = known.try_emplace(own, static_cast<std::int32_t>(kept.size()));
    if (fresh) kept.push_back(node);
    value_row[node] = at->second;
  }
  distinct.resize(kept.size() * width);
  for (std::size_t r = 0; r < kept.size(); ++r)
    std::memcpy(distinct.data() + r * width, values + kept[r] * width, bytes);
}

template <class T>
void sum_leaves(const TreeTable& table, const PackedTrees& p, i64 width, const Rows<T>& X, double* out,
                int threads) {
  const auto add = [=](i64 i, std::int32_t row) {
    const double* value = p.values + row * width;
    for (i64 c = 0; c < width; ++c) out[i * width + c] += value[c];
  };
  if (p.column_bits < 0)
    all_rows(table, X, threads, [&](i64 i, i64, i64 node) { add(i, p.value_row[node]); });
  else if (width == 1)
    all_blocks(p, X, threads, [=](i64 i, i64, i64 at) { out[i] += p.values[p.nodes[at].value_row]; });
  else
    all_blocks(p, X, threads, [&](i64 i, i64, i64 at) { add(i, p.nodes[at].value_row); });
}

template void sum_leaves(const TreeTable&, const PackedTrees&, i64, const Rows<float>&, double*, int);
template void sum_leaves(const TreeTable&, const PackedTrees&, i64, const Rows<double>&, double*, int);

void find_leaves(const TreeTable& table, const PackedTrees& p, const Rows<double>& X, std::int32_t* out,
                 int threads) {
  const i64 trees = table.trees;
  if (p.column_bits < 0)
    all_rows(table, X, threads, [=](i64 i, i64 tree, i64 node) { out[i * trees + tree] = static_cast<std::int32_t>(node); });
  else
    all_blocks(p, X, threads, [=](i64 i, i64 tree, i64 at) { out[i * trees + tree] = p.id[at]; });
}

}  // namespace kg
