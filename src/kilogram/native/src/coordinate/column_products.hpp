// Products of all columns of a matrix with a few vectors, for the correlations of a path.
#pragma once
#include "common/rows.hpp"

namespace kg {

// out (p, t) = X' R of X (n, p) in columns of length n, `ld` apart, and R (n, t) with t in whole
// vectors of lanes: every entry of X is read once.
template <class T>
void column_products(const T* X, i64 n, i64 p, i64 ld, const T* R, i64 t, T* out, int threads);

}  // namespace kg
