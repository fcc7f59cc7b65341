// Coordinate descent on  1/2 b'G b - q'b + sum_j l1_j |b_j| + l2/2 |b|^2  for a stored Gram matrix G.
#pragma once
#include "common/rows.hpp"

namespace kg {

enum class Penalty : int { l1 = 0, mcp = 1, scad = 2 };

struct GramProblem {
  const double* G;  // (m, m), symmetric, rows of length ld
  i64 m, ld;
  const double* q;   // (m)
  const double* l1;  // (m), the strength of each absolute value
  double l2;
  bool positive;
  Penalty penalty;
  double gamma;  // of mcp and scad
};

struct GramState {
  i64 epochs;
  double change;  // the largest move of the last epoch, in units of the objective's gradient
};

// b (m) is improved in place; h (m) = q - G b is kept beside it. An epoch visits all coordinates, those
// after it only the ones that are not 0 until these have settled. Ends when no move exceeds tol, or
// after max_epochs.
GramState gram_descent(const GramProblem& p, double* b, double* h, double tol, i64 max_epochs);

}  // namespace kg
