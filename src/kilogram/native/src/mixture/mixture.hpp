// One pass of expectation and maximisation over raw buffers.
#pragma once
#include "common/rows.hpp"

namespace kg {

// log p(x, c) = constants[c] - |F_c (x - shift - means[c])|^2 / 2 for k components; F_c is lower
// (d, d), or diagonal (d). The shift lies amid the rows: means are small numbers beside it. What is
// null is not made.
template <class T> struct MixturePass {
  Rows<T> X;
  const T* w;          // (n) or null
  const T* shift;      // (d)
  i64 k;
  const T* means;      // (k, d)
  const T* factors;    // (k, d, d) or (k, d)
  const T* constants;  // (k)
  bool diagonal;
  T* responsibilities;    // (n, k): p(c | x), or log p(x, c) if `joint`
  bool joint;
  T* norms;     // (n): log p(x)
  double* sums;  // (k, 1 + d + d d) or (k, 1 + 2 d): of r, r z and r z z' (or r z^2), z = x - shift - means[c]
};

// sum_i w_i log p(x_i)
template <class T> double mixture_pass(const MixturePass<T>& pass, int threads);

}  // namespace kg
