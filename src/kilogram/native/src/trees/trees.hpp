// Decision trees: growth on columns coded by rank, and the leaves of rows in many trees.
#pragma once
#include <cstdint>
#include <vector>

#include "common/rows.hpp"

namespace kg {

constexpr std::uint32_t kMissing = 0xFFFFFFFFu;  // the code of NaN: above all others
constexpr i64 kCategoryWords = 4;                // bits for 256 categories
constexpr i64 kAhead = 24;                       // rows between asking memory for a value and using it

// Columns by rank: codes (d, n) number the distinct values of a column in order, those of column k
// stand in values[starts[k]] .. values[starts[k + 1] - 1].
struct CodedColumns {
  const std::uint32_t* codes;
  const double* values;
  const i64* starts;            // (d + 1)
  const std::uint8_t* missing;  // (d) whether the column has NaN
  i64 n, d;
};

// Codes of the columns of X (n, d); values (d, n) get each column's distinct values, counts (d) how
// many there are.
void code_columns(const Rows<double>& X, std::uint32_t* codes, double* values, i64* counts,
                  std::uint8_t* missing, int threads);

enum class Criterion { squares, gini, entropy, absolute, poisson };

// classes (outputs) is null for regression on y (n, outputs); else label (n, outputs) holds codes of
// classes. rows (m) lists those that take part and is permuted; w (n) are their weights.
struct TreeTarget {
  const double* y;
  const std::int32_t* label;
  const i64* classes;
  i64 outputs;
  const double* w;
  std::int32_t* rows;
  i64 m;
};

struct SplitRules {
  Criterion criterion;
  i64 max_depth, min_split, min_leaf;      // of rows
  double min_weight, min_decrease, total;  // weight of a leaf; of the impurity, by weight over total
  i64 columns;                             // considered for each split; 0: all, in random order
  i64 max_leaves;                          // 0: no limit, depth first; else best split first
  bool random;                             // one random cut for each column instead of the best
  const std::int8_t* monotone;             // (d) -1, 0, 1; or null
  const std::uint8_t* categorical;         // (d) whether values are categories 0 to 255; or null
  std::uint64_t seed;
  const volatile std::int32_t* stop;       // not 0: another thread cancels the growth
  int threads;
};

// Nodes with children after their parents; `feature` is -1 in leaves. value has a number for every
// output, or for every class of every output. samples counts the rows of a node. categories
// (capacity, kCategoryWords), or null, are the bits of the categories that go left.
struct GrownNodes {
  i64 capacity;
  std::int32_t *feature, *left, *right;
  double *threshold, *weight, *impurity, *samples, *value;
  std::uint8_t* missing_left;
  std::uint64_t* categories;
};

// The number of nodes, -1 where `capacity` does not suffice, -2 where it was cancelled.
i64 grow_tree(const CodedColumns& X, const TreeTarget& target, const SplitRules& rules,
              const GrownNodes& nodes);

// Many trees one after another: node numbers are those of the whole, roots (trees) begin them.
struct TreeTable {
  const std::int32_t *feature, *left, *right;
  const double* threshold;
  const std::uint8_t* missing_left;
  const std::uint64_t* categories;  // (nodes, kCategoryWords), or null; no bits: a threshold
  const i64* roots;
  i64 trees;
};

// The same nodes in 16 bytes: the right child after the left one, a leaf its own left child. `link` has
// from the top the left child within the tree, a bit that sends NaN to the right, and the column.
struct PackedNode {
  double threshold;
  std::uint32_t link;
  std::int32_t value_row;  // of a leaf
};

struct PackedTrees {
  const PackedNode* nodes;
  const std::int32_t* id;         // numbers in the table
  const i64* starts;              // (trees + 1) packed roots, and the end
  const i64* depths;              // (trees) the longest path from each root
  const double* values;           // (value rows, width), those of the leaves
  const std::int32_t* value_row;  // (nodes), by numbers in the table
  i64 trees;
  int column_bits;                // of a link; -1 where trees are not packed
};

struct TreePacking {
  TreePacking(const TreeTable& table, const double* values, i64 width, i64 columns, i64 nodes);
  PackedTrees view() const {
    return {packed.data(), id.data(), starts.data(), depths.data(), distinct.data(), value_row.data(),
            static_cast<i64>(starts.size()) - 1, column_bits};
  }
  void keep_values(const TreeTable& table, const double* values, i64 width, i64 nodes);

  std::vector<PackedNode> packed;
  std::vector<std::int32_t> id;
  std::vector<i64> starts, depths;
  std::vector<std::int32_t> value_row;
  std::vector<double> distinct;
  int column_bits = 0;
};

// out (n, width) += values of the leaves of every tree at the rows of X, which are contiguous. Whether X has
// infinite values: rows are read for NaN, too, and infinity takes no pass of its own.
template <class T>
bool sum_leaves(const TreeTable& table, const PackedTrees& packed, i64 width, const Rows<T>& X,
                double* out, int threads);

// out (n, trees): the leaf of every row in every tree
void find_leaves(const TreeTable& table, const PackedTrees& packed, const Rows<double>& X,
                 std::int32_t* out, int threads);

}  // namespace kg
