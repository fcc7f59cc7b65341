// One pass of an online linear classifier over rows in a given order.
#pragma once
#include "stochastic/online_rows.hpp"

namespace kg {

// Losses of the margin m = y f, y = +-1; `slope` is dloss/df.
enum OnlineLoss : int { kPerceptron, kHingeLoss, kSquared, kTanh, kLog };

struct OnlineState {
  double *W, *b;            // (t, d), (t): the current coefficients
  double *sum_W, *sum_b;    // sums over the steps of the steps' changes times their number, or null
  i64 t;
  double steps;             // steps taken so far
};

// eta_s = eta0 / (1 + s / tau)^power at step s = 0, 1, ...; l2 shrinks by 1 - eta l2 each step.
struct Pace {
  double eta0, tau, power, l2;
  bool intercept;
};

// Steps over order[0..m): codes y (row -> class; t == 1: class 1 is +1), weights c (null: 1).
// Returns the summed loss, *changes the number of steps that changed something.
template <class T>
double online_pass(const OnlineRows<T>& X, const i64* y, const double* c, const i64* order, i64 m,
                   int loss, const Pace& pace, OnlineState& state, i64* changes);

}  // namespace kg
