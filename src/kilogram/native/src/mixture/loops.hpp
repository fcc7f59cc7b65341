// The loops of Gaussian mixtures, one table per instruction set as in simd/loops.hpp.
#pragma once
#include <cstdint>

namespace kg {

// A vector of rows of which some count: its first row, where those that count go, and which they are.
struct Kept {
  std::int32_t row, to;
  std::uint32_t bits;
};

// Blocks of rows lie transposed, x[k][row] with leading dimension ld: the lanes are rows. Sizes of
// rows are whole vectors; columns beyond d, up to `columns(d)`, are zeros.
template <class T> struct MixtureLoops {
  std::int64_t lanes;  // of a vector
  std::int64_t strip;  // rows of a register block of densities
  std::int64_t high, wide;  // rows and columns of a tile of the scatter
  // x[k][row] = X(row, k) - shift[k]; zeros beyond row `rows` up to `padded`, and beyond column d up
  // to `columns`
  void (*load)(const T* X, std::int64_t rows, std::int64_t d, std::int64_t rs, std::int64_t cs,
               const T* shift, std::int64_t padded, std::int64_t columns, T* x, std::int64_t ld);
  // z[k][j] = x[k][row], j < count, for the rows kept; zeros up to whole vectors. Space beyond: one
  // vector.
  void (*gather)(const T* x, std::int64_t ld, const Kept* kept, std::int64_t vectors,
                 std::int64_t count, std::int64_t d, T* z);
  // out[row] = constant - |F x - b|^2 / 2, F lower, [b, F] packed by pack_factor; rows in whole strips
  void (*density)(const T* x, std::int64_t ld, std::int64_t rows, std::int64_t d, const T* factor,
                  T constant, T* out);
  // the same with F = diag(scale), from x
  void (*density_diagonal)(const T* x, std::int64_t ld, std::int64_t rows, std::int64_t d,
                           const T* mean, const T* scale, T constant, T* out);
  // logs (k, ld) -> responsibilities exp(log - norm) w[row], norm[row] = log of the sum of the exponentials
  void (*responsibilities)(T* logs, std::int64_t k, std::int64_t ld, std::int64_t rows, const T* w, T* norm);
  // the rows with r above `least`: how many, and in how many vectors; space for one vector more
  std::int64_t (*above)(const T* r, std::int64_t rows, T least, Kept* kept, std::int64_t* vectors);
  // S += [sum r, sum r z, tiles of sum r z x'], z = x - mean; u is space for `wide` columns
  void (*scatter)(const T* x, std::int64_t ld, std::int64_t rows, std::int64_t d, const T* mean,
                  const T* r, T* u, double* S);
  // S += [sum r, sum r z (d), sum r z^2 (d)] with z = x - mean
  void (*powers)(const T* x, std::int64_t ld, std::int64_t rows, std::int64_t d, const T* mean,
                 const T* r, double* S);
};

template <class T> const MixtureLoops<T>& mixture_loops();

}  // namespace kg
