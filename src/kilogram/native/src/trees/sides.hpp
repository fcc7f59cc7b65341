// What both sides of a cut hold of the classes.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "trees/trees.hpp"

namespace kg {

inline double xlogx(double x) { return x > 0 ? x * std::log(x) : 0.0; }

// The classes' weights on one side of a cut, kept up to date row by row.
class Side {
 public:
  Side(i64 classes, Criterion criterion) : sums_(std::max<i64>(classes, 1)), criterion_(criterion) {}
  void clear() {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    weight = part_ = 0;
  }
  void add_class(std::int32_t c, double w) { shift(c, w); }
  void take_class(std::int32_t c, double w) { shift(c, -w); }
  double score() const {
    return criterion_ == Criterion::gini ? part_ / weight : part_ - xlogx(weight);
  }
  double weight = 0;

 private:
  void shift(std::int32_t c, double w) {
    const double old = sums_[c], now = old + w;
    part_ += criterion_ == Criterion::gini ? w * (old + now) : xlogx(now) - xlogx(old);
    sums_[c] = now;
    weight += w;
  }
  std::vector<double> sums_;
  double part_ = 0;  // sum of S_c^2, or of f(S_c)
  Criterion criterion_;
};

}  // namespace kg
