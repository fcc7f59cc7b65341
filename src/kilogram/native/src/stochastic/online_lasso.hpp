// One pass of the online lasso over rows in a given order.
#pragma once
#include "stochastic/online_rows.hpp"

namespace kg {

struct LassoState {
  double *w, *mean;      // (d): the iterate and the mean of the iterates
  double *b;             // (2): their intercepts
  double steps;          // steps taken so far
};

// Step t = 1, 2, ... has the length eta0 t^-power.
struct LassoPace {
  double eta0, power, l1;
  bool intercept;
};

// Proximal steps over order[0..m) with targets y and weights c (null: 1). Returns the sum of
// c (y - f)^2 / 2 before each step; *longest is the largest |x|^2 + 1 met.
template <class T>
double online_lasso_pass(const OnlineRows<T>& X, const double* y, const double* c, const i64* order,
                         i64 m, const LassoPace& pace, LassoState& state, double* longest);

}  // namespace kg
