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

// out (n,t) = A V for a symmetric A (n,n) given by its lower half, in bands of kHalfRows rows
constexpr i64 kHalfRows = 480;
template <class T>
void half_matmul(const T* half, i64 n, const T* V, i64 t, T* out, int threads);

// out (m,t) = K' (w * (K V)) for a stored K (n,m)
template <class T>
void normal_matmul(const Rows<T>& K, const T* V, i64 t, const T* w, T* out, int threads);

// S = Z' Z with Z = sqrt(w) [X - shift_x, Y - shift_y, 1], (n,D): row D-1 holds the sums.
// S has leading dimension ld and ld rows, ld a multiple of kPadding: the loops write whole strips.
constexpr i64 kPadding = 48;
template <class T>
void scatter(const Rows<T>& X, const Rows<T>& Y, const T* shift_x, const T* shift_y, const T* root_w,
             double* S, i64 ld, int threads);

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

// out (n,D) = scale cos(X W + b)
template <class T>
void fourier_block(const Rows<T>& X, const T* W, i64 D, const T* b, T scale, T* out, int threads);

// S as in `scatter` with Z = sqrt(w) [scale cos(X W + b), Y, 1]
template <class T>
void fourier_scatter(const Rows<T>& X, const T* W, i64 D, const T* b, T scale, const Rows<T>& Y,
                     const T* root_w, double* S, i64 ld, int threads);

// S (K, ld, ld): for every class Z' Z with Z = sqrt(w) [X - shift_c, 1] over its rows; false if some
// code is no class, and then the sums mean nothing
template <class T>
bool class_scatter(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* root_w,
                   double* S, i64 ld, int threads);

// S (ld, ld) = Z' Z with Z = sqrt(w) (X - shift of the row's class); sums (K, d) of w (x - shift);
// counts (K) of the rows; false as above
template <class T>
bool within_scatter(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* root_w,
                    double* S, i64 ld, double* sums, double* counts, int threads);

// present (size): 1 for every label that occurs; false if one is negative or not below size
bool labels_present(const i64* labels, i64 n, i64 size, std::uint8_t* present);

// out (powers, K, d): sums, squares and the weight of what is not NaN, of the classes' rows
template <class T>
void class_powers(const Rows<T>& X, const i64* codes, i64 K, const T* shifts, const T* w,
                  i64 powers, double* out, int threads);

// out (K, d): sums of the classes' rows; low (d): the least value of each column, NaN left out
template <class T>
void class_counts(const Rows<T>& X, const i64* codes, i64 K, const T* w, double* out, T* low,
                  int threads);

// out (2, K, d): the weight of the classes' values above a threshold, and of those that are not
// NaN, itself NaN if some are infinite
template <class T>
void class_presence(const Rows<T>& X, const i64* codes, i64 K, T threshold, const T* w, double* out,
                    int threads);

// out (3, d): the least and the greatest value of each column, NaN left out, and 1 where some value
// from 0 to `most` is no whole number
template <class T> void column_ranges(const Rows<T>& X, T most, T* out, int threads);

// out (K, offsets[d]): the weight of every category; of column k the whole numbers from 0 to below
// offsets[k + 1] - offsets[k] count, from offsets[k] on
template <class T>
void class_categories(const Rows<T>& X, const i64* codes, i64 K, const i64* offsets, const T* w,
                      double* out, int threads);

// lower Cholesky factor in the lower triangle of A (n,n); 0 or the order of the failing minor
template <class T> i64 cholesky(T* A, i64 n, i64 ld, int threads);

}  // namespace kg
