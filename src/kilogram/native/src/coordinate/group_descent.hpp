// Block coordinate descent on  1/2 <B, G B> - <Q, B> + sum_g s_g |B_g| + l2/2 |B|^2,  |.| Frobenius.
#pragma once
#include "coordinate/gram_descent.hpp"

namespace kg {

struct GroupProblem {
  const double* G;  // (m, m), symmetric, rows of length ld
  i64 m, ld, t;     // t targets
  const i64* starts;  // (groups + 1): group g has the rows starts[g] to starts[g + 1] of B
  i64 groups;
  const double* curvature;  // (groups), at least the largest eigenvalue of G within the group
  const double* strength;   // (groups)
  double l2;
};

// B (m, t) is improved in place; H (m, t) = Q - G B is kept beside it. Epochs as in `gram_descent`.
DescentState group_descent(const GroupProblem& p, double* B, double* H, double tol, i64 max_epochs);

}  // namespace kg
