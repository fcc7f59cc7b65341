// Both sides of a cut, kept up to date while rows move from the right to the left.
//
// begin(keys, m) takes the rows in the order in which they will move; add(row) moves one; score() is
// larger for better cuts, left() and right() are the predictions of a single output.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "trees/node_target.hpp"

namespace kg {

constexpr double kNone = -std::numeric_limits<double>::infinity();

// squares: sum_k s_k^2 W / (w (W - w)), s of targets about the node's mean
class SquareSides {
 public:
  explicit SquareSides(const NodeTarget& t) : t_(t), s_(t.outputs()) {}
  void begin(const std::uint64_t*, i64) {
    std::fill(s_.begin(), s_.end(), 0.0);
    weight = 0;
  }
  void add(std::uint32_t i) {
    const i64 K = t_.outputs();
    weight += t_.w[i];
    for (i64 k = 0; k < K; ++k) s_[k] += t_.w[i] * t_.y[i * K + k];
  }
  double score() const {
    double sum = 0;
    for (double s : s_) sum += s * s;
    return t_.scale() * sum * t_.weight / (weight * (t_.weight - weight));
  }
  double left() const { return mean() + s_[0] / weight; }
  double right() const { return mean() - s_[0] / (t_.weight - weight); }
  double weight = 0;

 private:
  double mean() const { return t_.value[t_.has_classes() ? 1 : 0]; }
  const NodeTarget& t_;
  std::vector<double> s_;
};

// Gini: sum_c S_c^2 / W;  entropy: sum_c f(S_c) - f(W), f(x) = x log x; on both sides, all outputs
class ClassSides {
 public:
  explicit ClassSides(const NodeTarget& t)
      : t_(t), gini_(t.criterion() == Criterion::gini), left_(t.width()), right_(t.width()) {}
  void begin(const std::uint64_t*, i64) {
    std::fill(left_.begin(), left_.end(), 0.0);
    right_ = t_.sums;
    weight = part_left_ = part_right_ = 0;
    for (double s : right_) part_right_ += f(s);
  }
  void add(std::uint32_t i) {
    const i64 K = t_.outputs();
    for (i64 k = 0; k < K; ++k) move(t_.label[i * K + k], t_.w[i]);
    weight += t_.w[i];
  }
  // Rows of one class together, from counts.
  void move(std::int32_t c, double w) {
    part_left_ += shift(left_[c], w);
    part_right_ += shift(right_[c], -w);
  }
  double score() const {
    const double other = t_.weight - weight;
    if (gini_) return part_left_ / weight + part_right_ / other;
    return part_left_ + part_right_ - static_cast<double>(t_.outputs()) * (xlogx(weight) + xlogx(other));
  }
  double left() const { return left_[1] / weight; }
  double right() const { return right_[1] / (t_.weight - weight); }
  double weight = 0;

 private:
  double f(double s) const { return gini_ ? s * s : xlogx(s); }
  double shift(double& s, double w) const {
    const double old = s, now = std::max(old + w, 0.0);
    s = now;
    return gini_ ? w * (old + now) : xlogx(now) - xlogx(old);
  }
  const NodeTarget& t_;
  const bool gini_;
  std::vector<double> left_, right_;
  double part_left_ = 0, part_right_ = 0;
};

// Poisson: sum_k S_k log(S_k / W) on both sides; a side of zeros only is no cut
class PoissonSides {
 public:
  explicit PoissonSides(const NodeTarget& t) : t_(t), s_(t.outputs()) {}
  void begin(const std::uint64_t*, i64) {
    std::fill(s_.begin(), s_.end(), 0.0);
    weight = 0;
  }
  void add(std::uint32_t i) {
    const i64 K = t_.outputs();
    weight += t_.w[i];
    for (i64 k = 0; k < K; ++k) s_[k] += t_.w[i] * t_.y[i * K + k];
  }
  double score() const {
    const double other = t_.weight - weight;
    double sum = 0;
    for (i64 k = 0; k < t_.outputs(); ++k) {
      const double a = s_[k], b = t_.sums[k] - a, least = 1e-14 * t_.sums[k];
      if (a <= least || b <= least) return kNone;
      sum += a * std::log(a / weight) + b * std::log(b / other);
    }
    return sum;
  }
  double left() const { return s_[0] / weight; }
  double right() const { return (t_.sums[0] - s_[0]) / (t_.weight - weight); }
  double weight = 0;

 private:
  const NodeTarget& t_;
  std::vector<double> s_;
};

// Weights of targets by rank, with the median and the sum of absolute deviations of those inside.
class MedianTree {
 public:
  void clear(i64 m) {
    top_ = m > 0 ? i64{1} << (std::bit_width(static_cast<std::uint64_t>(m)) - 1) : 0;
    w_.assign(m + 1, 0.0);
    s_.assign(m + 1, 0.0);
    weight_ = sum_ = 0;
  }
  void insert(i64 rank, double w, double y) {
    weight_ += w;
    sum_ += w * y;
    for (i64 at = rank + 1; at < static_cast<i64>(w_.size()); at += at & -at) {
      w_[at] += w;
      s_[at] += w * y;
    }
  }
  // The least median, by rank, and the deviation from it.
  double deviation(const std::vector<double>& y, double& median) const {
    i64 at = 0;
    double below = 0, sum = 0;
    for (i64 step = top_; step; step >>= 1)
      if (at + step < static_cast<i64>(w_.size()) && below + w_[at + step] < weight_ / 2) {
        at += step;
        below += w_[at];
        sum += s_[at];
      }
    median = y[std::min<i64>(at, static_cast<i64>(y.size()) - 1)];
    return std::max(median * (2 * below - weight_) + sum_ - 2 * sum, 0.0);
  }

 private:
  std::vector<double> w_, s_;  // Fenwick trees
  i64 top_ = 0;
  double weight_ = 0, sum_ = 0;
};

// absolute error: minus the sum of absolute deviations from the medians of both sides
class AbsoluteSides {
 public:
  explicit AbsoluteSides(const NodeTarget& t) : t_(t) {}
  void begin(const std::uint64_t* keys, i64 m) {
    weight = 0;
    moved_ = 0;
    cost_.assign(m + 1, 0.0);
    left_.resize(m + 1);
    right_.resize(m + 1);
    const i64 K = t_.outputs();
    for (i64 k = 0; k < K; ++k) {
      const OrderedTarget& o = t_.ordered[k];
      const auto insert = [&](std::uint32_t i) { tree_.insert(o.rank[i], t_.w[i], t_.y[i * K + k]); };
      tree_.clear(m);
      for (i64 i = 0; i + 1 < m; ++i) {
        insert(std::uint32_t(keys[i]));
        cost_[i + 1] += tree_.deviation(o.y, left_[i + 1]);
      }
      tree_.clear(m);
      for (i64 i = m - 1; i > 0; --i) {
        insert(std::uint32_t(keys[i]));
        cost_[i] += tree_.deviation(o.y, right_[i]);
      }
    }
  }
  void add(std::uint32_t i) {
    weight += t_.w[i];
    ++moved_;
  }
  double score() const { return -cost_[moved_]; }
  double left() const { return left_[moved_]; }
  double right() const { return right_[moved_]; }
  double weight = 0;

 private:
  const NodeTarget& t_;
  MedianTree tree_;
  std::vector<double> cost_, left_, right_;  // after so many moves
  i64 moved_ = 0;
};

}  // namespace kg
