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

// order (d, n): rows by increasing value of each column; X (n, d); label (n,) in 0 .. classes - 1.
Stump best_stump(const std::int32_t* order, const Rows<double>& X, const std::int32_t* label,
                 const double* w, i64 classes, bool gini, int threads);

}  // namespace kg
