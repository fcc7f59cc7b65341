// Sums over rows, of all rows or class by class, over raw buffers.
#pragma once
#include "common/rows.hpp"

namespace kg {

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

}  // namespace kg
