// What is known of the target in one node: weights, impurity, value; shared by all columns.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "trees/trees.hpp"

namespace kg {

constexpr double kBit = 0.6931471805599453;  // entropies are reported in bits

inline double xlogx(double x) { return x > 0 ? x * std::log(x) : 0.0; }

// A row's weight and weighted, centred target.
struct Pair {
  double w, s;
};

// Rows of a node in order of one output, and their weighted median.
struct OrderedTarget {
  std::vector<std::uint32_t> rank;  // of a row
  std::vector<double> y;            // by rank
  double median = 0, deviation = 0;
};

class NodeTarget {
 public:
  NodeTarget(const TreeTarget& t, Criterion criterion)
      : t_(t), criterion_(criterion), classes_at_(t.outputs + 1) {
    for (i64 k = 0; k < t.outputs; ++k) classes_at_[k + 1] = classes_at_[k] + (t.classes ? t.classes[k] : 1);
    sums.resize(width());
    value.resize(width());
    w.resize(t.m);
    if (t.classes) label.resize(t.m * t.outputs);
    if (!t.classes || is_pairs()) y.resize(t.m * t.outputs);
    if (is_pairs()) pairs.resize(t.m);
    if (criterion == Criterion::absolute) ordered.resize(t.outputs);
  }

  i64 width() const { return classes_at_.back(); }
  i64 outputs() const { return t_.outputs; }
  i64 first_class(i64 k) const { return classes_at_[k]; }
  bool has_classes() const { return t_.classes; }
  Criterion criterion() const { return criterion_; }
  // One real target, or two classes under Gini, which is twice the variance of the second's mark.
  bool is_pairs() const {
    if (t_.outputs != 1) return false;
    return t_.classes ? criterion_ == Criterion::gini && t_.classes[0] == 2
                      : criterion_ == Criterion::squares;
  }
  // A score's unit in that of the impurity.
  double unit() const { return criterion_ == Criterion::entropy ? kBit : 1.0; }
  double scale() const { return t_.classes && is_pairs() ? 2.0 : 1.0; }

  // Gather the rows' weights and targets; true if all targets agree.
  bool open(const std::int32_t* rows, i64 count) {
    m = count;
    gather_weights(rows);
    std::fill(sums.begin(), sums.end(), 0.0);
    const bool pure = t_.classes ? gather_labels(rows) : gather_numbers(rows);
    if (pure) impurity = 0;
    return pure;
  }

  // The score of the node uncut, on the scale of the sides' scores.
  double own_score() const {
    if (is_pairs() || criterion_ == Criterion::squares) return 0.0;  // targets are centred
    double own = 0;
    if (criterion_ == Criterion::absolute)
      for (const OrderedTarget& o : ordered) own -= o.deviation;
    else if (criterion_ == Criterion::poisson)
      for (double s : sums) own += xlogx(s) - s * std::log(weight);
    else
      for (i64 k = 0; k < t_.outputs; ++k) own += class_score(k);
    return own;
  }

  i64 m = 0;
  double weight = 0, impurity = 0;
  std::vector<double> w, y;         // of the rows; y (m, outputs), centred for squares
  std::vector<std::int32_t> label;  // (m, outputs), counted over the classes of all outputs
  std::vector<double> sums, value;  // (width): of w y, or weights of classes; the node's prediction
  std::vector<Pair> pairs;
  std::vector<OrderedTarget> ordered;

 private:
  // Four sums side by side: additions do not wait for each other.
  void gather_weights(const std::int32_t* rows) {
    const double* from = t_.w;
    double* own = w.data();
    double sum[4] = {0, 0, 0, 0};
    const i64 count = m;
    for (i64 i = 0; i < count; ++i) {
      if (i + kAhead < count) __builtin_prefetch(from + rows[i + kAhead]);
      sum[i & 3] += own[i] = from[rows[i]];
    }
    weight = sum[0] + sum[1] + (sum[2] + sum[3]);
  }

  // Two classes: a row's target is 1 for the second, about the node's fraction of it.
  bool gather_pairs(const std::int32_t* rows) {
    const std::int32_t* from = t_.label;
    const i64 count = m;
    double sum[4] = {0, 0, 0, 0};
    i64 ones = 0;
    for (i64 i = 0; i < count; ++i) {
      if (i + kAhead < count) __builtin_prefetch(from + rows[i + kAhead]);
      const std::int32_t c = label[i] = from[rows[i]];
      sum[i & 3] += c ? w[i] : 0.0;
      ones += c;
    }
    sums[1] = sum[0] + sum[1] + (sum[2] + sum[3]);
    sums[0] = weight - sums[1];
    for (i64 c = 0; c < 2; ++c) value[c] = sums[c] / weight;
    impurity = class_impurity(0);
    const double side[2] = {-value[1], 1 - value[1]};
    for (i64 i = 0; i < count; ++i) {
      y[i] = side[label[i]];
      pairs[i] = {w[i], w[i] * y[i]};
    }
    return ones == 0 || ones == count;
  }

  bool gather_labels(const std::int32_t* rows) {
    const i64 K = t_.outputs;
    if (is_pairs()) return gather_pairs(rows);
    bool pure = true;
    for (i64 i = 0; i < m; ++i)
      for (i64 k = 0; k < K; ++k) {
        const std::int32_t c = t_.label[rows[i] * K + k] + static_cast<std::int32_t>(classes_at_[k]);
        label[i * K + k] = c;
        sums[c] += w[i];
        pure &= c == label[k];
      }
    for (i64 c = 0; c < width(); ++c) value[c] = sums[c] / weight;
    impurity = 0;
    for (i64 k = 0; k < K; ++k) impurity += class_impurity(k) / static_cast<double>(K);
    return pure;
  }

  double class_impurity(i64 k) const {
    double sum = 0;
    for (i64 c = classes_at_[k]; c < classes_at_[k + 1]; ++c)
      sum += criterion_ == Criterion::entropy ? xlogx(value[c]) : value[c] * value[c];
    return criterion_ == Criterion::entropy ? -sum / kBit : 1 - sum;
  }

  double class_score(i64 k) const {
    double own = 0;
    for (i64 c = classes_at_[k]; c < classes_at_[k + 1]; ++c)
      own += criterion_ == Criterion::entropy ? xlogx(sums[c]) : sums[c] * sums[c] / weight;
    return criterion_ == Criterion::entropy ? own - xlogx(weight) : own;
  }

  bool gather_numbers(const std::int32_t* rows) {
    const i64 K = t_.outputs;
    bool pure = true;
    for (i64 i = 0; i < m; ++i)
      for (i64 k = 0; k < K; ++k) {
        y[i * K + k] = t_.y[rows[i] * K + k];
        sums[k] += w[i] * y[i * K + k];
        pure &= y[i * K + k] == y[k];
      }
    for (i64 k = 0; k < K; ++k) value[k] = pure ? y[k] : sums[k] / weight;
    impurity = 0;
    if (pure && criterion_ != Criterion::squares) {
      for (OrderedTarget& o : ordered) o.deviation = 0;
      return true;
    }
    if (criterion_ == Criterion::squares) impurity = centre() / weight;
    if (criterion_ == Criterion::poisson) impurity = deviance() / weight;
    if (criterion_ == Criterion::absolute) impurity = deviations() / weight;
    impurity /= static_cast<double>(K);
    return pure;
  }

  // Targets brought about the node's mean: a score is then the fall of the squares itself.
  double centre() {
    const i64 K = t_.outputs;
    double squares = 0;
    for (i64 i = 0; i < m; ++i)
      for (i64 k = 0; k < K; ++k) {
        const double r = y[i * K + k] -= value[k];
        squares += w[i] * r * r;
      }
    if (is_pairs())
      for (i64 i = 0; i < m; ++i) pairs[i] = {w[i], w[i] * y[i]};
    return squares;
  }

  double deviance() const {
    const i64 K = t_.outputs;
    double sum = 0;
    for (i64 i = 0; i < m; ++i)
      for (i64 k = 0; k < K; ++k)
        if (y[i * K + k] > 0) sum += w[i] * y[i * K + k] * std::log(y[i * K + k] / value[k]);
    return std::max(sum, 0.0);
  }

  double deviations() {
    double sum = 0;
    for (i64 k = 0; k < t_.outputs; ++k) {
      order_target(k, ordered[k]);
      value[k] = ordered[k].median;
      sum += ordered[k].deviation;
    }
    return sum;
  }

  void order_target(i64 k, OrderedTarget& o) {
    const i64 K = t_.outputs;
    order_.resize(m);
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return y[a * K + k] < y[b * K + k] || (y[a * K + k] == y[b * K + k] && a < b);
    });
    o.rank.resize(m);
    o.y.resize(m);
    for (i64 r = 0; r < m; ++r) {
      o.rank[order_[r]] = static_cast<std::uint32_t>(r);
      o.y[r] = y[order_[r] * K + k];
    }
    double below = 0;
    i64 r = 0;
    for (; r + 1 < m && below + w[order_[r]] < weight / 2; ++r) below += w[order_[r]];
    const bool between = below + w[order_[r]] == weight / 2 && r + 1 < m;
    o.median = between ? o.y[r] + (o.y[r + 1] - o.y[r]) / 2 : o.y[r];
    o.deviation = 0;
    for (i64 i = 0; i < m; ++i) o.deviation += w[i] * std::abs(y[i * K + k] - o.median);
  }

  const TreeTarget& t_;
  const Criterion criterion_;
  std::vector<i64> classes_at_;
  std::vector<std::uint32_t> order_;
};

}  // namespace kg
