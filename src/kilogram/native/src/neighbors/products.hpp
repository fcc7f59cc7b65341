// Exact Euclidean search by tiles of inner products.
#pragma once
#include "neighbors/chunks.hpp"

namespace kg {

// The k nearest rows of Y for each row of X: index (n, k) and squared distances (n, k), nearest
// first, ties by position. `skip_self`: row i of X is row i of Y and is no neighbour of its own.
// norms (Y.n) are |y - shift|^2.
template <class T>
void nearest_rows(const Rows<T>& X, const Rows<T>& Y, const T* shift, const T* norms, i64 k,
                  bool skip_self, std::int32_t* index, T* squares, int threads);

// All rows of Y at most `radius` from each row of X.
template <class T>
Ragged rows_within(const Rows<T>& X, const Rows<T>& Y, const T* shift, const T* norms, double radius,
                   bool skip_self, Order by, int threads);

}  // namespace kg
