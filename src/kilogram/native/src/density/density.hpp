// Densities: kernel sums over windows of sorted rows, and the growth of density trees.
#pragma once
#include "density/loops.hpp"
#include "common/rows.hpp"

namespace kg {

// out[i] = sum over windows s of sum_{lo[i,s] <= j < hi[i,s]} w_j k(q_i - y_j), q (m, d)
struct DensityQueries {
  const double* q;
  i64 m, windows;
  const i64 *lo, *hi;
  double* out;
};
void density_sums(const DensityRows& rows, int kind, bool product, const DensityQueries& queries,
                  int threads);

// sum_j w_j exp(-|q_i - y_j|) for sorted q (m) and sorted y (n), in one run each way
void exponential_line(const double* y, const double* w, i64 n, const double* q, i64 m, double* out);

// What a density tree is grown from: column k of row i is X[k * n + i]; order (d, n) sorts each
// column and is permuted; w (n) are weights; lower and upper (d) bound the root.
struct TreeRows {
  const double* X;
  std::int32_t* order;
  const double* w;
  i64 n, d;
  const double *lower, *upper;
};

struct TreeRules {
  bool likelihood;  // the gain of the log likelihood, or of the integrated squared error
  i64 max_depth;
  double min_split, min_leaf, min_density, min_gain, min_side, epsilon, min_fraction;
  i64 columns;  // looked at for each split
  std::uint64_t seed;
  const volatile std::int32_t* stop;  // not 0: another thread cancels the growth
};

// Nodes in the order of a stack, left before right; `feature` is -1 in leaves.
struct TreeNodes {
  i64 capacity;
  std::int32_t *feature, *left, *right;
  double *threshold, *mass, *gain;
};

// The number of nodes; -1 after a cancellation.
i64 grow_density_tree(const TreeRows& rows, const TreeRules& rules, const TreeNodes& nodes);

}  // namespace kg
