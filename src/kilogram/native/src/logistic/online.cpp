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

template <class T> double dot(const OnlineRows<T>& X, i64 i, const double* w) {
  double part[4] = {0, 0, 0, 0};  // four sums: the additions of one would wait for each other
  if (!X.indices) {
    const T* x = X.data + i * X.d;
    i64 k = 0;
    for (; k + 4 <= X.d; k += 4)
      for (i64 l = 0; l < 4; ++l) part[l] += static_cast<double>(x[k + l]) * w[k + l];
    for (; k < X.d; ++k) part[0] += static_cast<double>(x[k]) * w[k];
  } else {
    for (i64 k = X.indptr[i]; k < X.indptr[i + 1]; ++k)
      part[0] += static_cast<double>(X.data[k]) * w[X.indices[k]];
  }
  return (part[0] + part[1]) + (part[2] + part[3]);
}

// |x|^2 + 1: a step of the squared loss beyond 1 over it would overshoot the row's own target.
template <class T> double reach(const OnlineRows<T>& X, i64 i) {
  double sum = 1;
  const i64 begin = X.indices ? X.indptr[i] : i * X.d;
  const i64 end = X.indices ? X.indptr[i + 1] : (i + 1) * X.d;
  for (i64 k = begin; k < end; ++k) {
    const double v = static_cast<double>(X.data[k]);
    sum += v * v;
  }
  return sum;
}

template <class T> void add(const OnlineRows<T>& X, i64 i, double step, double* w) {
  if (!X.indices) {
    const T* x = X.data + i * X.d;
    for (i64 k = 0; k < X.d; ++k) w[k] += step * static_cast<double>(x[k]);
    return;
  }
  for (i64 k = X.indptr[i]; k < X.indptr[i + 1]; ++k)
    w[X.indices[k]] += step * static_cast<double>(X.data[k]);
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
