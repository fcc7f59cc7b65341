// One pass of the online lasso: a gradient step for each row, then a soft threshold.
#include "stochastic/online_lasso.hpp"

#include <algorithm>
#include <cmath>

namespace kg {
namespace {

// The mean has weights t (t + 1) (t + 2): of any number of steps it forgets the first quickly, and
// its variance is about that of the mean of the last half.
constexpr double kForget = 3;

void shrink(double* w, double by, double* mean, double share, i64 d) {
  for (i64 j = 0; j < d; ++j) {
    const double kept = std::copysign(std::max(std::abs(w[j]) - by, 0.0), w[j]);
    w[j] = kept;
    mean[j] += share * (kept - mean[j]);
  }
}

}  // namespace

template <class T>
double online_lasso_pass(const OnlineRows<T>& X, const double* y, const double* c, const i64* order,
                         i64 m, const LassoPace& pace, LassoState& state, double* longest) {
  double total = 0;
  for (i64 at = 0; at < m; ++at) {
    const i64 i = order[at];
    const double weight = c ? c[i] : 1.0;
    if (weight == 0) continue;
    state.steps += 1;
    const double length = reach(X, i), eta = pace.eta0 * std::pow(state.steps, -pace.power);
    *longest = std::max(*longest, length);
    const double e = y[i] - dot(X, i, state.w) - state.b[0];
    total += 0.5 * weight * e * e;
    const double step = std::min(eta * weight, 1 / length);
    const double share = (kForget + 1) / (state.steps + kForget);
    add(X, i, step * e, state.w);
    shrink(state.w, step * pace.l1, state.mean, share, X.d);
    if (pace.intercept) state.b[0] += step * e;
    state.b[1] += share * (state.b[0] - state.b[1]);
  }
  return total;
}

#define KG_INSTANTIATE(T)                                                                          \
  template double online_lasso_pass<T>(const OnlineRows<T>&, const double*, const double*,         \
                                       const i64*, i64, const LassoPace&, LassoState&, double*);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
