// Dual coordinate descent for linear machines without an equality constraint, before Python.
#pragma once
#include "svm/loops.hpp"
#include "common/rows.hpp"

#include <cstdint>

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
  const SmoLoops& loops;
};

// Where the passes stand: the rows that still take part come first in `order`.
struct CoordinateState {
  i64* order;
  i64 n, active;
  double far;        // rows at a kink, further than this from moving, are left out
  double violation;  // the largest seen in the last pass
  std::uint64_t seed;
};

// Passes over the rows that take part, in an order drawn anew for each, until the violation on all
// rows is at most `goal` or `visits` rows were looked at; returns how many were.
template <class T>
i64 coordinate_passes(const CoordinateProblem<T>& P, CoordinateState& state, double goal,
                      i64 visits);

}  // namespace kg
