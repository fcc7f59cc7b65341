// Rows down many trees.
//
// Rows go down packed nodes, a dozen side by side, so that the processor waits for many nodes at once and
// no branch depends on the data: a leaf is its own left child. In flat trees all rows take as many steps as
// the longest path has. A block of rows goes down one tree after another: a small block where all trees stay
// in the cache, so that rows come from memory once. A tree is read from end to end before it is used: memory
// hands that over many times faster than the scattered nodes that the rows would ask for. Trees with
// categorical splits, and those too large for packed links, are followed in the table.
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trees/trees.hpp"

namespace kg {
namespace {

constexpr i64 kSide = 12;             // rows side by side
constexpr i64 kSteps = 4;             // of all of them between two looks whether one still moves
constexpr i64 kFlat = 12;             // the longest path of a tree in which rows do not look
constexpr i64 kBlockBytes = 1 << 21;  // of rows that go down one tree after another
constexpr i64 kSmallBytes = 1 << 17;  // the same where all trees have
constexpr i64 kCachedBytes = 1 << 19; // at most so many
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
inline void descend(const PackedNode* tree, i64 depth, int column_bits, const T* const* x,
                    std::uint32_t* at) {
  const auto step = [&] {
#pragma GCC unroll 12
    for (i64 j = 0; j < kSide; ++j) at[j] = child<missing>(tree[at[j]], column_bits, x[j]);
  };
  std::fill_n(at, kSide, 0u);
  if (depth <= kFlat) {
    for (i64 level = 0; level < depth; ++level) step();
    return;
  }
  std::uint32_t moved = 1;
  while (moved) {
    for (int quiet = 1; quiet < kSteps; ++quiet) step();
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
      descend<missing>(p.nodes + start, p.depths[tree], p.column_bits, x, at);
      for (i64 j = 0; j < std::min(kSide, last - i); ++j) visit(i + j, tree, start + at[j]);
    }
  }
}

struct Unusual {
  bool missing, infinite;
};

// Differences of a value and itself add up to 0 unless it is NaN or infinite.
template <class T>
Unusual unusual_values(const T* at, i64 size) {
  constexpr i64 kSums = 8;
  T sums[kSums] = {}, sum = 0;
  i64 i = 0;
  for (; i + kSums <= size; i += kSums)
    for (i64 j = 0; j < kSums; ++j) sums[j] += at[i + j] - at[i + j];
  for (const T s : sums) sum += s;
  for (; i < size; ++i) sum += at[i] - at[i];
  Unusual found{false, false};
  for (i = 0; sum != 0 && i < size; ++i) {
    found.missing |= std::isnan(at[i]);
    found.infinite |= std::isinf(at[i]);
  }
  return found;
}

// Whether there are infinite values.
template <class T, class Visit>
bool all_blocks(const PackedTrees& p, const Rows<T>& X, int threads, const Visit& visit) {
  const i64 node_bytes = p.starts[p.trees] * static_cast<i64>(sizeof(PackedNode));
  const i64 bytes = node_bytes <= kCachedBytes ? kSmallBytes : kBlockBytes;
  const i64 most = std::clamp<i64>(bytes / (static_cast<i64>(sizeof(T)) * X.d), kFewest, kMost);
  const i64 turns = ceil_div(X.n, most * threads);
  const i64 rows = std::max(ceil_div(X.n, turns * threads), kSide);
  bool infinite = false;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1) reduction(|| : infinite)
  for (i64 first = 0; first < X.n; first += rows) {
    const i64 last = std::min(first + rows, X.n);
    const Unusual found = unusual_values(X.at(first, 0), (last - first) * X.d);
    infinite = infinite || found.infinite;
    if (found.missing) block<true>(p, X, first, last, visit);
    else block<false>(p, X, first, last, visit);
  }
  return infinite;
}

// visit(row, tree, node) one by one
template <class T, class Visit>
bool all_rows(const TreeTable& t, const Rows<T>& X, int threads, const Visit& visit) {
  bool infinite = false;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(|| : infinite)
  for (i64 i = 0; i < X.n; ++i) {
    infinite = infinite || unusual_values(X.at(i, 0), X.d).infinite;
    for (i64 tree = 0; tree < t.trees; ++tree) visit(i, tree, leaf_of(t, t.roots[tree], X.at(i, 0)));
  }
  return infinite;
}

}  // namespace

TreePacking::TreePacking(const TreeTable& t, const double* values, i64 width, i64 columns, i64 nodes)
    : packed(nodes), id(nodes), starts(t.trees + 1), depths(t.trees), value_row(nodes) {
  column_bits = std::bit_width(static_cast<std::uint32_t>(std::max<i64>(columns - 1, 1)));
  keep_values(t, values, width, nodes);
  if (t.categories) column_bits = -1;
  i64 free = 0;
  struct Place {
    std::int32_t node;
    i64 at, depth;  // its packed number, and how far it is below the root
  };
  std::vector<Place> stack;
  for (i64 tree = 0; tree < t.trees && column_bits >= 0; ++tree) {
    const i64 start = starts[tree] = free++;
    stack.assign(1, {static_cast<std::int32_t>(t.roots[tree]), start, 0});
    while (!stack.empty()) {
      const auto [node, at, depth] = stack.back();
      stack.pop_back();
      depths[tree] = std::max(depths[tree], depth);
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
      stack.push_back({t.right[node], free + 1, depth + 1});
      stack.push_back({t.left[node], free, depth + 1});
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

namespace {

// `known` columns of values, or as many as `width` says.
template <i64 known, class T>
bool sum_packed(const PackedTrees& p, i64 width, const Rows<T>& X, double* out, int threads) {
  const i64 columns = known ? known : width;
  return all_blocks(p, X, threads, [=](i64 i, i64, i64 at) {
    const double* value = p.values + p.nodes[at].value_row * columns;
    for (i64 c = 0; c < columns; ++c) out[i * columns + c] += value[c];
  });
}

}  // namespace

template <class T>
bool sum_leaves(const TreeTable& table, const PackedTrees& p, i64 width, const Rows<T>& X, double* out,
                int threads) {
  if (p.column_bits < 0)
    return all_rows(table, X, threads, [=](i64 i, i64, i64 node) {
      const double* value = p.values + p.value_row[node] * width;
      for (i64 c = 0; c < width; ++c) out[i * width + c] += value[c];
    });
  if (width == 1) return sum_packed<1>(p, width, X, out, threads);
  if (width == 2) return sum_packed<2>(p, width, X, out, threads);
  return sum_packed<0>(p, width, X, out, threads);
}

template bool sum_leaves(const TreeTable&, const PackedTrees&, i64, const Rows<float>&, double*, int);
template bool sum_leaves(const TreeTable&, const PackedTrees&, i64, const Rows<double>&, double*, int);

void find_leaves(const TreeTable& table, const PackedTrees& p, const Rows<double>& X, std::int32_t* out,
                 int threads) {
  const i64 trees = table.trees;
  if (p.column_bits < 0)
    all_rows(table, X, threads, [=](i64 i, i64 tree, i64 node) { out[i * trees + tree] = static_cast<std::int32_t>(node); });
  else
    all_blocks(p, X, threads, [=](i64 i, i64 tree, i64 at) { out[i * trees + tree] = p.id[at]; });
}

}  // namespace kg
