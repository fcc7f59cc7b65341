// Kernel matrices and their products over raw buffers.
#pragma once
#include "common/rows.hpp"

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

// out (n,t) = A V for a symmetric A (n,n) given by its lower half, in bands of kHalfRows rows
constexpr i64 kHalfRows = 480;
template <class T>
void half_matmul(const T* half, i64 n, const T* V, i64 t, T* out, int threads);

// out (m,t) = K' (w * (K V)) for a stored K (n,m)
template <class T>
void normal_matmul(const Rows<T>& K, const T* V, i64 t, const T* w, T* out, int threads);

}  // namespace kg
