// The Cholesky factorisation of a dense matrix.
#pragma once
#include "common/rows.hpp"

namespace kg {

// lower Cholesky factor in the lower triangle of A (n,n); 0 or the order of the failing minor
template <class T> i64 cholesky(T* A, i64 n, i64 ld, int threads);

}  // namespace kg
