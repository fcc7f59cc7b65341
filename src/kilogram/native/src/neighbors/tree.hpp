// A k-d tree in arrays: leaves of kLeaf points with their coordinates side by side, nodes of up to kFan
// children with the boxes of these side by side, so that one vector instruction measures several.
#pragma once
#include "neighbors/chunks.hpp"
#include "neighbors/search.hpp"

namespace kg {

struct Tree {
  i64 n, d, nodes;
  const double* points;          // (leaves, d, kLeaf), infinite beyond the last point
  const std::int32_t* rows;      // (leaves, kLeaf), the rows of the points, -1 beyond the last
  const double* boxes;           // (nodes, 2, d, kFan), lower and upper ends
  const std::int32_t* children;  // (nodes, kFan), a node c as c, a leaf l as ~l, 0 for none
};

// All leaves are full but for one. Node 0 is the root; children have larger numbers than their parent.
inline i64 tree_leaves(i64 n) { return ceil_div(n, kLeaf); }
i64 tree_nodes(i64 n);

struct TreeArrays {
  double* points;
  std::int32_t* rows;
  double* boxes;
  std::int32_t* children;
};
void build_tree(const DenseRows<double>& X, const TreeArrays& out, int threads);

// Sums of the metric's powers and positions (m, k), nearest first, of equal ones the first. `skip_self`:
// query i is row i, which is no neighbour of its own.
void tree_nearest(const Tree& tree, const Metric& metric, const DenseRows<double>& Q, i64 k, bool skip_self,
                  std::int32_t* index, double* distances, int threads);

// All rows at most `radius` from each query; the distances are no sums but distances.
Ragged tree_within(const Tree& tree, const Metric& metric, const DenseRows<double>& Q, double radius,
                   bool skip_self, Order by, int threads);

}  // namespace kg
