// Single rows, dense or sparse, as steps of stochastic gradients use them.
#pragma once
#include "common/rows.hpp"

namespace kg {

template <class T> struct OnlineRows {
  const T* data;       // entries, row by row
  const i64* indices;  // columns, null if dense
  const i64* indptr;
  i64 d;
};

template <class T> inline double dot(const OnlineRows<T>& X, i64 i, const double* w) {
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
template <class T> inline double reach(const OnlineRows<T>& X, i64 i) {
  double sum = 1;
  const i64 begin = X.indices ? X.indptr[i] : i * X.d;
  const i64 end = X.indices ? X.indptr[i + 1] : (i + 1) * X.d;
  for (i64 k = begin; k < end; ++k) {
    const double v = static_cast<double>(X.data[k]);
    sum += v * v;
  }
  return sum;
}

template <class T> inline void add(const OnlineRows<T>& X, i64 i, double step, double* w) {
  if (!X.indices) {
    const T* x = X.data + i * X.d;
    for (i64 k = 0; k < X.d; ++k) w[k] += step * static_cast<double>(x[k]);
    return;
  }
  for (i64 k = X.indptr[i]; k < X.indptr[i + 1]; ++k)
    w[X.indices[k]] += step * static_cast<double>(X.data[k]);
}

}  // namespace kg
