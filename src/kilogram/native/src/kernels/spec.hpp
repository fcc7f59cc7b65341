// What a kernel is to the loops: its kind and numbers, and the shift that keeps distances exact.
#pragma once
#include "common/rows.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kg {

struct Spec {
  int kind;
  double params[3];
  // functions of |x - y|^2, computed as |x|^2 - 2<x,y> + |y|^2 around a common shift
  bool squared_distance() const {
    return kind == kGaussian || (kind >= kMatern12 && kind <= kRationalQuadratic);
  }
  bool direct() const { return kind == kLaplacian || kind == kChi2 || kind == kAllSubsets; }
  bool unit_diagonal() const { return squared_distance() || kind == kLaplacian || kind == kChi2; }
};

// The column means of Y: subtracted from both sides, they keep the cancellation in the expansion
// small for data far from 0. Of Y and not of X, because Y is the fixed side (training points,
// landmarks): K(X, Y) is then the same whether X comes in one block or many.
// A column without a finite mean is not shifted, so a NaN or infinity stays in its own row.
template <class T> std::vector<T> common_shift(const Spec& spec, const Rows<T>& Y) {
  if (!spec.squared_distance()) return {};
  std::vector<double> sum(Y.d, 0.0);
  if (Y.cs == 1)
    for (i64 i = 0; i < Y.n; ++i) loops<T>().add(Y.at(i, 0), 1, Y.d, Y.d, sum.data(), Y.d);
  else
    for (i64 k = 0; k < Y.d; ++k)
      for (i64 i = 0; i < Y.n; ++i) sum[k] += static_cast<double>(*Y.at(i, k));
  std::vector<T> shift(Y.d);
  for (i64 k = 0; k < Y.d; ++k) {
    const double mean = sum[k] / static_cast<double>(std::max<i64>(Y.n, 1));
    shift[k] = std::isfinite(mean) ? static_cast<T>(mean) : T(0);
  }
  return shift;
}

}  // namespace kg
