// Rows down many trees.
//
// Rows go down packed nodes of 8 bytes, eight side by side, so that the processor waits for many
// nodes at once and no branch depends on the data. A block of rows goes down one tree after another:
// both stay in cache. Packed thresholds are rounded down to float32, and so are the values they are
// compared with. Rounding never exchanges two numbers: a value and a threshold that differ as
// float32 are in the same order as before. Where they are equal, a value that was rounded goes down
// the full table, in float64; so do all rows where trees have categorical splits.
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "trees/trees.hpp"

namespace kg {
namespace {

constexpr i64 kSide = 8;              // rows side by side
constexpr i64 kBlockBytes = 1 << 18;  // of rows that go down one tree after another
constexpr i64 kFewRows = 4;           // fewer are not worth rounding
constexpr double kFar = 64;           // ranges from 0 beyond which a column is centred

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

// The largest float32 that is not above x; x itself where it is NaN.
inline float rounded_down(double x) {
  const float near = static_cast<float>(x);
  const auto bits = std::bit_cast<std::int32_t>(near);
  const bool above = static_cast<double>(near) > x;  // by one step at most, and 0 is exact or below
  return std::bit_cast<float>(bits + (bits < 0 ? above : -std::int32_t(above)));
}

// The leaves of kSide rows of rounded values, as packed numbers within their tree; false where a
// value was equal to a threshold. In `exact` rows nothing was rounded, and equal values are known.
template <bool exact>
inline bool descend(const PackedNode* tree, int column_bits, const float* const* x, std::uint32_t* at) {
  const std::uint32_t column_mask = (1u << column_bits) - 1;
  std::uint32_t equal = 0, moved = 1;
  std::fill_n(at, kSide, 0u);
  const auto step = [&](i64 j) {
    const PackedNode node = tree[at[j]];
    const float v = x[j][node.link & column_mask];
    if (!exact) equal |= v == node.threshold;
    const std::uint32_t missing_right = node.link >> column_bits & 1;
    at[j] = (node.link >> (column_bits + 1)) + ((v > node.threshold) | ((v != v) & missing_right));
  };
  while (moved) {
    for (int quiet = 0; quiet < 3; ++quiet) {
#pragma GCC unroll 8
      for (i64 j = 0; j < kSide; ++j) step(j);
    }
    moved = 0;
#pragma GCC unroll 8
    for (i64 j = 0; j < kSide; ++j) {
      const std::uint32_t before = at[j];
      step(j);
      moved |= before ^ at[j];
    }
  }
  return !equal;
}

// visit(row, tree, node) for rows first .. last - 1, whose rounded values are given, in all trees
template <bool exact, class Visit>
void block(const TreeTable& t, const PackedTrees& p, const Rows<double>& X, i64 first, i64 last,
           const float* rounded, const Visit& visit) {
  for (i64 tree = 0; tree < t.trees; ++tree) {
    const std::int32_t* id = p.id + p.starts[tree];
    for (i64 i = first; i < last; i += kSide) {
      const float* x[kSide];
      std::uint32_t at[kSide];
      for (i64 j = 0; j < kSide; ++j) x[j] = rounded + (std::min(i + j, last - 1) - first) * p.columns;
      const bool known = descend<exact>(p.nodes + p.starts[tree], p.column_bits, x, at);
      for (i64 j = 0; j < std::min(kSide, last - i); ++j)
        visit(i + j, tree, known ? id[at[j]] : leaf_of(t, t.roots[tree], X.at(i + j, 0)));
    }
  }
}

// Rows first .. last - 1 less the centres, rounded down; whether nothing was rounded.
bool round_rows(const PackedTrees& p, const Rows<double>& X, i64 first, i64 last, float* out) {
  bool exact = true;
  for (i64 k = 0; k < p.columns; ++k) exact &= p.centre[k] == 0;
  for (i64 i = first; i < last; ++i)
    for (i64 k = 0; k < p.columns; ++k) {
      const double v = *X.at(i, k) - p.centre[k];
      const float near = rounded_down(v);
      exact &= !(near < v) && std::abs(v) <= std::numeric_limits<float>::max();
      out[(i - first) * p.columns + k] = near;
    }
  return exact;
}

template <class Visit>
void all_blocks(const TreeTable& t, const PackedTrees& p, const Rows<double>& X, int threads,
                const Visit& visit) {
  if (p.column_bits < 0 || X.n < kFewRows) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (i64 i = 0; i < X.n; ++i)
      for (i64 tree = 0; tree < t.trees; ++tree) visit(i, tree, leaf_of(t, t.roots[tree], X.at(i, 0)));
    return;
  }
  const i64 most = std::clamp<i64>(kBlockBytes / (4 * p.columns), 64, 8192);
  const i64 rows = std::clamp<i64>(ceil_div(X.n, 4 * threads), kSide, most);
  Scratch<float> scratch(threads, rows * p.columns);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (i64 first = 0; first < X.n; first += rows) {
    const i64 last = std::min(first + rows, X.n);
    float* rounded = scratch.block(omp_get_thread_num());
    if (round_rows(p, X, first, last, rounded)) block<true>(t, p, X, first, last, rounded, visit);
    else block<false>(t, p, X, first, last, rounded, visit);
  }
}

}  // namespace

TreePacking::TreePacking(const TreeTable& t, i64 columns, i64 nodes)
    : centre(columns), packed(nodes), id(nodes), starts(t.trees) {
  std::vector<double> low(columns, std::numeric_limits<double>::infinity()), high(columns, -low[0]);
  for (i64 i = 0; i < nodes; ++i) {
    const std::int32_t k = t.feature[i];
    if (k < 0 || !std::isfinite(t.threshold[i])) continue;
    low[k] = std::min(low[k], t.threshold[i]);
    high[k] = std::max(high[k], t.threshold[i]);
  }
  for (i64 k = 0; k < columns; ++k)
    if (const double middle = low[k] / 2 + high[k] / 2; std::abs(middle) > kFar * (high[k] - low[k]))
      centre[k] = middle;  // float32 would not tell neighbours apart
  column_bits = std::bit_width(static_cast<std::uint32_t>(std::max<i64>(columns - 1, 1)));
  i64 free = 0;
  std::vector<std::pair<std::int32_t, i64>> stack;  // a node and its packed number
  for (i64 tree = 0; tree < t.trees; ++tree) {
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
        packed[at] = {std::numeric_limits<float>::infinity(), link};
        continue;
      }
      const std::uint32_t missing_right = t.missing_left[node] ? 0u : 1u << column_bits;
      packed[at] = {rounded_down(t.threshold[node] - centre[k]), link | missing_right | std::uint32_t(k)};
      stack.push_back({t.right[node], free + 1});
      stack.push_back({t.left[node], free});
      free += 2;
    }
  }
}

void sum_leaves(const TreeTable& table, const PackedTrees& packed, const double* values, i64 width,
                const Rows<double>& X, double* out, int threads) {
  all_blocks(table, packed, X, threads, [&](i64 i, i64, std::int32_t node) {
    const double* value = values + node * width;
    for (i64 c = 0; c < width; ++c) out[i * width + c] += value[c];
  });
}

void find_leaves(const TreeTable& table, const PackedTrees& packed, const Rows<double>& X,
                 std::int32_t* out, int threads) {
  all_blocks(table, packed, X, threads,
             [&](i64 i, i64 tree, std::int32_t node) { out[i * table.trees + tree] = node; });
}

}  // namespace kg
