// The elementwise loops, one table of functions per instruction set and type.
// loops.cpp is compiled once per instruction set, each time in its own namespace; `loops<T>()`
// returns the table chosen at run time. Only plain data and function pointers cross this border,
// so no inline function compiled for AVX-512 can be picked by the linker for an older machine.
#pragma once
#include <cstdint>

namespace kg {

// How a tile of inner products or distances becomes a tile of kernel values.
enum Kind : int {
  kLinear,
  kPolynomial,
  kGaussian,
  kLaplacian,
  kMatern12,
  kMatern32,
  kMatern52,
  kRationalQuadratic,
  kChi2,
  kAllSubsets
};

template <class T> struct Loops {
  // out (rows, cols; ldo) = (x - shift) * scale[row]; shift and scale may be null; x has any strides
  void (*pack)(const T* x, std::int64_t rows, std::int64_t cols, std::int64_t rs, std::int64_t cs,
               const T* shift, const T* scale, T* out, std::int64_t ldo);
  // out (cols, rows; ldo) = (x - shift)'
  void (*pack_t)(const T* x, std::int64_t rows, std::int64_t cols, std::int64_t rs, std::int64_t cs,
                 const T* shift, T* out, std::int64_t ldo);
  // out[i] += |a_i|^2
  void (*add_norms)(const T* a, std::int64_t rows, std::int64_t cols, std::int64_t ld, T* out);
  // tile (holding <x,y>, or -2<x,y> for distance kernels, or the direct sums) -> kernel values
  void (*map)(int kind, T* tile, std::int64_t rows, std::int64_t cols, std::int64_t ld,
              const T* xn, const T* yn, const double* params);
  // tile (+)= sum_k |a_ik - b_kj| (Laplacian), chi2 terms, or tile *= prod_k (1 + a_ik b_kj)
  void (*direct)(int kind, const T* a, std::int64_t lda, const T* bt, std::int64_t ldb,
                 std::int64_t rows, std::int64_t cols, std::int64_t d, T* tile, std::int64_t ld);
  // tile = scale * cos(tile + b), b may be null
  void (*cosine)(T* tile, std::int64_t rows, std::int64_t cols, std::int64_t ld, const T* b,
                 T scale);
  // out (cols, rows; ldo) = tile'
  void (*transpose)(const T* tile, std::int64_t rows, std::int64_t cols, std::int64_t ld, T* out,
                    std::int64_t ldo);
  // sum (rows, cols; lds) += tile
  void (*add)(const T* tile, std::int64_t rows, std::int64_t cols, std::int64_t ld, double* sum,
              std::int64_t lds);
  // y = exp(x), y = cos(x), y = log(x): the vectorised functions themselves, for the tests
  void (*exp)(const T* x, T* y, std::int64_t n);
  void (*cos)(const T* x, T* y, std::int64_t n);
  void (*log)(const T* x, T* y, std::int64_t n);
};

template <class T> const Loops<T>& loops();

const char* simd_level();
void set_simd_level(const char* name);  // throws std::invalid_argument

}  // namespace kg
