// Coordinate descent on  1/2 b'G b - q'b + sum_j l1_j |b_j| + l2/2 |b|^2  for a stored Gram matrix G.
#pragma once
#include "common/rows.hpp"
#include "coordinate/penalty.hpp"

namespace kg {

struct GramProblem {
  const double* G;  // (m, m), symmetric, rows of length ld
  i64 m, ld;
  const double* q;   // (m)
  PenaltyTerms penalty;
};

// b (m) is improved in place; h (m) = q - G b is kept beside it. An epoch visits all coordinates, those
// after it only the ones that are not 0 until these have settled. Ends when no move exceeds tol, or
// after max_epochs.
DescentState gram_descent(const GramProblem& p, double* b, double* h, double tol, i64 max_epochs);

}  // namespace kg
