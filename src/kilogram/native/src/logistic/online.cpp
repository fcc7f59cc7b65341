// One pass of an online linear classifier: a step per row, in the order given.
#include "logistic/online.hpp"

#include <algorithm>
#include <cmath>

namespace kg {
namespace {

struct Term {
  double value, slope;  // of the loss in f, at y = +-1
};

Term term(int loss, double y, double f) {
  const double m = y * f;
  switch (loss) {
    case kPerceptron: return m > 0 ? Term{0, 0} : Term{-m, -y};
    case kHingeLoss: return m > 1 ? Term{0, 0} : Term{1 - m, -y};
    case kSquared: return {0.5 * (y - f) * (y - f), f - y};
    case kTanh: {
      const double s = std::tanh(f);
      return {-y * s, -y * (1 - s * s)};
    }
    default: {
      const double e = std::exp(-std::abs(m));
      const double q = m > 0 ? e / (1 + e) : 1 / (1 + e);
      return {std::log1p(e) + std::max(-m, 0.0), -y * q};
    }
  }
}

}  // namespace

// The mean over all steps is W - sum_W / steps, where sum_W adds each change times the number of
// steps before it: a change costs one row more, a step without a change nothing.
template <class T>
double online_pass(const OnlineRows<T>& X, const i64* y, const double* c, const i64* order, i64 m,
                   int loss, const Pace& pace, OnlineState& state, i64* changes) {
  double total = 0;
  i64 changed = 0;
  for (i64 at = 0; at < m; ++at, state.steps += 1) {
    const i64 i = order[at];
    const double weight = c ? c[i] : 1.0;
    if (weight == 0) {
      state.steps -= 1;
      continue;
    }
    const double eta = pace.eta0 / std::pow(1 + state.steps / pace.tau, pace.power);
    bool moved = false;
    for (i64 k = 0; k < state.t; ++k) {
      double* w = state.W + k * X.d;
      const bool positive = state.t == 1 ? y[i] == 1 : y[i] == k;
      const Term found = term(loss, positive ? 1.0 : -1.0, dot(X, i, w) + state.b[k]);
      total += weight * found.value;
      const double limit = loss == kSquared ? 1 / reach(X, i) : eta * weight;
      const double step = -std::min(eta * weight, limit) * found.slope;
      if (pace.l2 > 0) {
        const double shrink = std::max(0.0, 1 - eta * pace.l2);
        for (i64 j = 0; j < X.d; ++j) {
          if (state.sum_W) state.sum_W[k * X.d + j] += state.steps * (shrink - 1) * w[j];
          w[j] *= shrink;
        }
      }
      if (step == 0) continue;
      moved = true;
      add(X, i, step, w);
      if (pace.intercept) state.b[k] += step;
      if (state.sum_W) {
        add(X, i, state.steps * step, state.sum_W + k * X.d);
        if (pace.intercept) state.sum_b[k] += state.steps * step;
      }
    }
    changed += moved;
  }
  *changes = changed;
  return total;
}

#define KG_INSTANTIATE(T)                                                                         \
  template double online_pass<T>(const OnlineRows<T>&, const i64*, const double*, const i64*, i64,  \
                                 int, const Pace&, OnlineState&, i64*);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
