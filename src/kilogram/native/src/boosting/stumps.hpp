// Decision stumps of least Gini impurity or least weighted error, on columns sorted once.
#pragma once
#include "common/rows.hpp"

namespace kg {

struct Stump {
  double score;   // the lower the better: the error itself, or minus sum_sides |S|^2 / W
  i64 column;     // -1: no column has two values
  double threshold;
  std::int32_t left, right;  // classes for x <= threshold and beyond
};

struct StumpRows {
  i64 n, d;
  const std::int32_t* order;  // (d, n) rows by increasing value of each column
  const double* values;       // (d, n) their values in that order
  const std::int32_t* label;  // (n,) in 0 .. classes - 1
  const double* w;            // (n,)
};

Stump best_stump(const StumpRows& rows, i64 classes, bool gini, int threads);

}  // namespace kg
