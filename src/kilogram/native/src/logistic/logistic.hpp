// Passes of logistic regression over the rows of dense matrices.
#pragma once
#include "common/rows.hpp"

namespace kg {

// Loss of the margins z = X w + b of labels y = +-1 under weights c (null: 1), in one pass:
// sums (d + 2) = X'r, sum r, loss, with r = dloss/dz; h (n, may be null) gets the curvatures.
template <class T>
void logistic_pass(const Rows<T>& X, const T* y, const T* c, const T* w, T b, T* h, double* sums,
                   int threads);

// The same for t classes with codes y: margins X W' + b, sums (t (d + 1) + 1) = R'X and sum R class
// by class, loss. The rows of X lie one after another (cs == 1).
template <class T>
void softmax_rows(const Rows<T>& X, const i64* y, const T* c, const T* W, const T* b, i64 t,
                  double* sums, int threads);

// Z (n,t) <- c (softmax(Z) - onehot(y)), or c softmax(Z) if `keep`; returns the loss.
template <class T>
double softmax_pass(T* Z, i64 n, i64 t, const i64* y, const T* c, bool keep, int threads);

}  // namespace kg
