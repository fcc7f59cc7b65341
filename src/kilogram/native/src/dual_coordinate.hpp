// Dual coordinate descent for linear machines without an equality constraint, before Python.
#pragma once
#include "rows.hpp"

namespace kg {

// min 1/2 |X~'b|^2 + sum_i (s_i b_i^2 / 2 - t_i b_i + eps |b_i|),  lower <= b <= upper,
// rows X~ = [X, scale] in compressed form; w = X~'b is kept up to date, (d + 1).
template <class T> struct CoordinateProblem {
  const T* data;
  const i64 *indices, *indptr;  // indices null: dense rows of d entries
  i64 d;
  double scale, eps;
  const double *square, *t, *s, *lower, *upper;  // square_i = |x~_i|^2
  double *b, *w;
};

// One pass over the rows order[0, active); rows that sit at a kink, further than `far` from moving,
// are put behind the others. Returns how many stay; violation = the largest seen.
template <class T>
i64 coordinate_pass(const CoordinateProblem<T>& P, i64* order, i64 active, double far,
                    double* violation);

}  // namespace kg
