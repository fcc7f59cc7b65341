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

// A path of the elastic net of all m columns: l1 and l2 at `count` strengths, yy = y'y, and where it starts.
struct GramPath {
  GramProblem problem;  // its l1 and l2 are not used
  double yy;
  const double *l1, *l2, *start;
  i64 count;
  double goal, tol, finest;  // the duality gap; the moves at which it is looked at first, and the least
};

// What is known of a solution: the epochs it took, its duality gap, objective and squared residual.
struct PathState {
  double epochs = 0, gap = 0, objective = 0, rr = 0;
};

// Each strength from the solution before it; the solutions B (count, m). Returns how many were solved: it
// ends at the first that takes more than max_epochs.
i64 gram_path(const GramPath& path, double* B, PathState* states, i64 max_epochs);

}  // namespace kg
