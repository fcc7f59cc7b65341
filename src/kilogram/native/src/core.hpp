// The native functions, before Python: raw buffers in, raw buffers out.
#pragma once
#include "rows.hpp"

namespace kg {

struct Spec;

template <class T>
void kernel_block(const Spec& spec, const Rows<T>& X, const Rows<T>& Y, bool same, T* out, i64 ld,
                  int threads);

template <class T>
void kernel_matmul(const Spec& spec, const Rows<T>& X, const Rows<T>& Y, bool same, const T* V,
                   i64 t, T* out, int threads);

// out (m,t) = K(X,C)' (w * (K(X,C) V)); w (n) may be null
template <class T>
void kernel_normal_matmul(const Spec& spec, const Rows<T>& X, const Rows<T>& C, const T* V, i64 t,
                          const T* w, T* out, int threads);

// out (m,t) = K' (w * (K V)) for a stored K (n,m)
template <class T>
void normal_matmul(const Rows<T>& K, const T* V, i64 t, const T* w, T* out, int threads);

// S = Z' Z with Z = sqrt(w) [X - shift_x, Y - shift_y, 1], (n,D): row D-1 holds the sums.
// S has leading dimension ld and ld rows, ld a multiple of kPadding: the loops write whole strips.
constexpr i64 kPadding = 48;
template <class T>
void scatter(const Rows<T>& X, const Rows<T>& Y, const T* shift_x, const T* shift_y, const T* root_w,
             double* S, i64 ld, int threads);

// out (n,D) = scale cos(X W + b)
template <class T>
void fourier_block(const Rows<T>& X, const T* W, i64 D, const T* b, T scale, T* out, int threads);

// S as in `scatter` with Z = sqrt(w) [scale cos(X W + b), Y, 1]
template <class T>
void fourier_scatter(const Rows<T>& X, const T* W, i64 D, const T* b, T scale, const Rows<T>& Y,
                     const T* root_w, double* S, i64 ld, int threads);

// lower Cholesky factor in the lower triangle of A (n,n); 0 or the order of the failing minor
template <class T> i64 cholesky(T* A, i64 n, i64 ld, int threads);

}  // namespace kg
