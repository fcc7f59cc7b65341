// Anderson extrapolation: weights of the steps, of sum 1, whose combination is shortest.
#include "coordinate/extrapolation.hpp"

#include <algorithm>
#include <cmath>

namespace kg {

bool Extrapolation::add(const double* b, const double* h) {
  b_.resize((kSteps + 2) * m_);
  h_.resize((kSteps + 2) * k_);
  std::copy_n(b, m_, b_.data() + count_ * m_);
  std::copy_n(h, k_, h_.data() + count_ * k_);
  if (++count_ <= kSteps) return false;
  count_ = 0;
  return combine();
}

bool Extrapolation::combine() {
  double C[kSteps][kSteps], weight[kSteps], trace = 0, sum = 0;
  std::vector<double> steps(kSteps * m_);
  for (int s = 0; s < kSteps; ++s)
    for (i64 j = 0; j < m_; ++j) steps[s * m_ + j] = b_[(s + 1) * m_ + j] - b_[s * m_ + j];
  for (int s = 0; s < kSteps; ++s)
    for (int t = 0; t <= s; ++t) {
      double dot = 0;
      for (i64 j = 0; j < m_; ++j) dot += steps[s * m_ + j] * steps[t * m_ + j];
      C[s][t] = C[t][s] = dot;
    }
  for (int s = 0; s < kSteps; ++s) trace += C[s][s];
  if (!(trace > 0)) return false;
  // (C + small I) w = 1 by a Cholesky factor, then weights of sum 1; the small part bounds them by 1e4, and
  // so the rounding that they add to h
  for (int s = 0; s < kSteps; ++s) {
    C[s][s] += 1e-8 * trace;
    weight[s] = 1;
    for (int t = 0; t < s; ++t) {
      for (int u = 0; u < t; ++u) C[s][t] -= C[s][u] * C[t][u];
      C[s][t] /= C[t][t];
      C[s][s] -= C[s][t] * C[s][t];
      weight[s] -= C[s][t] * weight[t];
    }
    if (!(C[s][s] > 0)) return false;
    C[s][s] = std::sqrt(C[s][s]);
    weight[s] /= C[s][s];
  }
  for (int s = kSteps - 1; s >= 0; --s) {
    for (int t = s + 1; t < kSteps; ++t) weight[s] -= C[t][s] * weight[t];
    weight[s] /= C[s][s];
    sum += weight[s];
  }
  if (!(std::abs(sum) > 0) || !std::isfinite(sum)) return false;
  double *b = b_.data() + (kSteps + 1) * m_, *h = h_.data() + (kSteps + 1) * k_;
  std::fill_n(b, m_, 0.0);
  std::fill_n(h, k_, 0.0);
  for (int s = 0; s < kSteps; ++s) {
    const double w = weight[s] / sum;
    for (i64 j = 0; j < m_; ++j) b[j] += w * b_[(s + 1) * m_ + j];
    for (i64 j = 0; j < k_; ++j) h[j] += w * h_[(s + 1) * k_ + j];
  }
  return true;
}

}  // namespace kg
