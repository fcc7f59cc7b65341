// Decision stumps of least Gini impurity, least weighted error or least squares, on columns sorted once.
#pragma once
#include "common/rows.hpp"

namespace kg {

// Sorted columns: rows that a column does not name have the value 0 there.
struct SortedEntries {
  i64 n, d;
  const i64* starts;          // (d + 1)
  const std::int32_t* order;  // rows by increasing value of each column
  const double* values;       // their values in that order
};

struct Stump {
  i64 column;     // -1: no column has two values
  double threshold;
  std::int32_t left, right;  // classes for x <= threshold and beyond
};

// Labels (n,) in 0 .. classes - 1 and weights (n,).
Stump best_stump(const SortedEntries& X, const std::int32_t* label, const double* w, i64 classes, bool gini,
                 int threads);

// The cut of least squares of y (n,) around the weighted means of its sides, among rows with w > 0.
struct SquaresCut {
  i64 column;  // -1: no column has two values, or no cut lowers the sum of squares
  double threshold;
};
SquaresCut best_squares_cut(const SortedEntries& X, const double* y, const double* w, int threads);

}  // namespace kg
