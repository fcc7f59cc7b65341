// Coordinate descent on  1/2 |y - (X - ones mean') b|^2 + pen(b)  for the sparse or dense columns of X.
#pragma once
#include "common/rows.hpp"
#include "coordinate/penalty.hpp"

#include <cstdint>

namespace kg {

struct ColumnProblem {
  const double* entries;  // column j from starts[j] to starts[j + 1]
  const std::int32_t* rows;  // null: dense columns of n entries
  const i64* starts;
  i64 m, n;
  const double* mean;       // (m); ones has length 1, and X' ones = mean, or mean is 0
  const double* curvature;  // (m), the squared lengths of the centred columns
  PenaltyTerms penalty;
};

// b (m) is improved in place; r (n) = y - X b, without the centring, is kept beside it, for y
// orthogonal to `ones`. Epochs as in `gram_descent`; each reads the entries of its columns.
DescentState column_descent(const ColumnProblem& p, double* b, double* r, double tol, i64 max_epochs);

}  // namespace kg
