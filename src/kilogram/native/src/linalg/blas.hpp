// BLAS and LAPACK as SciPy ships them, reached through the `__pyx_capi__` capsules of
// scipy.linalg.cython_blas / cython_lapack: nothing is linked, and the process holds one BLAS.
// All helpers below speak row-major; a row-major matrix is the transpose of a column-major one.
#pragma once
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace kg {

using i64 = std::int64_t;

template <class T> struct Blas {
  using Gemm = void (*)(char*, char*, int*, int*, int*, T*, T*, int*, T*, int*, T*, T*, int*);
  using Gemv = void (*)(char*, int*, int*, T*, T*, int*, T*, int*, T*, T*, int*);
  using Potrf = void (*)(char*, int*, T*, int*, int*);
  static inline Gemm gemm = nullptr;
  static inline Gemv gemv = nullptr;
  static inline Potrf potrf = nullptr;
};

// Fills the tables above; called once when the module is imported, with the GIL held.
void load_blas();

// SciPy's BLAS counts in 32 bits: sizes are checked before the work starts, in `check_int`.
inline int to_int(i64 v) { return static_cast<int>(v); }
inline void check_int(i64 v, const char* what) {
  if (v > std::numeric_limits<int>::max())
    throw std::length_error(std::string(what) + " exceeds 2^31 - 1, the largest size BLAS takes");
}

// C (m,n) = alpha A (m,k) B(n,k)' + beta C
template <class T>
void gemm_nt(i64 m, i64 n, i64 k, T alpha, const T* A, i64 lda, const T* B, i64 ldb, T beta, T* C,
             i64 ldc) {
  char ta = 'T', tb = 'N';
  int im = to_int(n), in = to_int(m), ik = to_int(k), la = to_int(ldb), lb = to_int(lda),
      lc = to_int(ldc);
  Blas<T>::gemm(&ta, &tb, &im, &in, &ik, &alpha, const_cast<T*>(B), &la, const_cast<T*>(A), &lb,
                &beta, C, &lc);
}

// C (m,n) = alpha A (m,k) B (k,n) + beta C
template <class T>
void gemm_nn(i64 m, i64 n, i64 k, T alpha, const T* A, i64 lda, const T* B, i64 ldb, T beta, T* C,
             i64 ldc) {
  char ta = 'N', tb = 'N';
  int im = to_int(n), in = to_int(m), ik = to_int(k), la = to_int(ldb), lb = to_int(lda),
      lc = to_int(ldc);
  Blas<T>::gemm(&ta, &tb, &im, &in, &ik, &alpha, const_cast<T*>(B), &la, const_cast<T*>(A), &lb,
                &beta, C, &lc);
}

// C (m,n) = alpha A(k,m)' B (k,n) + beta C
template <class T>
void gemm_tn(i64 m, i64 n, i64 k, T alpha, const T* A, i64 lda, const T* B, i64 ldb, T beta, T* C,
             i64 ldc) {
  char ta = 'N', tb = 'T';
  int im = to_int(n), in = to_int(m), ik = to_int(k), la = to_int(ldb), lb = to_int(lda),
      lc = to_int(ldc);
  Blas<T>::gemm(&ta, &tb, &im, &in, &ik, &alpha, const_cast<T*>(B), &la, const_cast<T*>(A), &lb,
                &beta, C, &lc);
}

// y (m) = alpha A (m,n) x + beta y
template <class T>
void gemv_n(i64 m, i64 n, T alpha, const T* A, i64 lda, const T* x, T beta, T* y) {
  char t = 'T';
  int im = to_int(n), in = to_int(m), la = to_int(lda), one = 1;
  Blas<T>::gemv(&t, &im, &in, &alpha, const_cast<T*>(A), &la, const_cast<T*>(x), &one, &beta, y,
                &one);
}

// y (n) = alpha A(m,n)' x + beta y
template <class T>
void gemv_t(i64 m, i64 n, T alpha, const T* A, i64 lda, const T* x, T beta, T* y) {
  char t = 'N';
  int im = to_int(n), in = to_int(m), la = to_int(lda), one = 1;
  Blas<T>::gemv(&t, &im, &in, &alpha, const_cast<T*>(A), &la, const_cast<T*>(x), &one, &beta, y,
                &one);
}

// lower Cholesky factor of the lower triangle of A (n,n); 0, or the order of the failing minor
template <class T> int potrf_lower(i64 n, T* A, i64 lda) {
  char uplo = 'U';
  int in = to_int(n), la = to_int(lda), info = 0;
  Blas<T>::potrf(&uplo, &in, A, &la, &info);
  return info;
}

}  // namespace kg
