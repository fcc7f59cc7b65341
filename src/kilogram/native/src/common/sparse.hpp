// Sparse rows: entries and columns row by row, row i from starts[i] to starts[i + 1].
#pragma once
#include "common/rows.hpp"

namespace kg {

template <class T, class I> struct SparseRows {
  const T* entries;
  const I* columns;
  const I* starts;
  i64 n, d;
};

// `logistic_pass` and `softmax_rows` (core.hpp) on sparse rows; sums in the same order.
template <class T, class I>
void logistic_sparse(const SparseRows<T, I>& X, const T* y, const T* c, const T* w, T b, T* h,
                     double* sums, int threads);

template <class T, class I>
void softmax_sparse(const SparseRows<T, I>& X, const i64* y, const T* c, const T* W, const T* b,
                    i64 t, double* sums, int threads);

}  // namespace kg
