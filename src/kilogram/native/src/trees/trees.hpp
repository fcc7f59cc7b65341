// Decision trees: growth on columns coded by rank, and the sums of many trees' leaves.
#pragma once
#include <cstdint>

#include "common/rows.hpp"

namespace kg {

// Columns by rank: codes (d, n) number the distinct values of a column in order, those of column k
// stand in values[starts[k]] .. values[starts[k + 1] - 1].
struct CodedColumns {
  const std::uint32_t* codes;
  const double* values;
  const i64* starts;  // (d + 1)
  i64 n, d;
};

// Codes of the columns of X (n, d) with any strides; values (d, n) get each column's distinct
// values, counts (d) how many there are.
void code_columns(const Rows<double>& X, std::uint32_t* codes, double* values, i64* counts,
                  int threads);

enum class Criterion { squares, gini, entropy };

// classes == 0: regression on y; else label (n) holds codes of classes. rows (m) lists those that
// take part and is permuted; w (n) are their weights.
struct TreeTarget {
  const double* y;
  const std::int32_t* label;
  i64 classes;
  const double* w;
  std::int32_t* rows;
  i64 m;
};

struct SplitRules {
  Criterion criterion;
  i64 max_depth, min_split, min_leaf;      // of rows
  double min_weight, min_decrease, total;  // weight of a leaf; of the impurity, by weight over total
  i64 columns;                             // considered for each split
  i64 max_leaves;                          // 0: no limit, depth first; else best split first
  std::uint64_t seed;
  const volatile std::int32_t* stop;       // not 0: another thread cancels the growth
};

// Nodes with children after their parents; `feature` is -1 in leaves. value has max(1, classes)
// numbers a node: the mean, or the class proportions. samples counts the rows of a node.
struct GrownNodes {
  i64 room;
  std::int32_t *feature, *left, *right;
  double *threshold, *weight, *impurity, *samples, *value;
};

// The number of nodes, -1 where `room` does not suffice, -2 where it was cancelled.
i64 grow_tree(const CodedColumns& X, const TreeTarget& target, const SplitRules& rules,
              const GrownNodes& nodes);

// Many trees one after another: node numbers are those of the whole, roots (trees) begin them.
struct TreeTable {
  const std::int32_t *feature, *left, *right;
  const double* threshold;
  const i64* roots;
  i64 trees;
};

// out (n, width) += values of the leaves of every tree at the rows of X
void sum_leaves(const TreeTable& table, const double* values, i64 width, const Rows<double>& X,
                double* out, int threads);

// out (n, trees): the leaf of every row in every tree
void find_leaves(const TreeTable& table, const Rows<double>& X, std::int32_t* out, int threads);

}  // namespace kg
