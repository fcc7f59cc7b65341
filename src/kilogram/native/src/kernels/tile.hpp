// One tile of a kernel matrix, computed in cache: pack the rows (minus the common shift), multiply
// or sum over the coordinates, then map elementwise while the values are still there.
// Three ways: packed strips for few coordinates (where a general gemm spends its time packing),
// gemm in panels of coordinates for many, direct sums for kernels that are no inner products.
#pragma once
#include "kernels/spec.hpp"
#include "common/rows.hpp"
#include "linalg/blas.hpp"
#include "simd/loops.hpp"

#include <algorithm>

namespace kg {

// The most rows and columns of a tile, whole strips on every machine. Where a tile is kept for a
// product, it has kLowRows: in float64 it then shares a usual L2 with its operands.
constexpr i64 kTileRows = 240, kTileCols = 240, kLowRows = 120;
constexpr i64 kShort = 128;   // most coordinates for packed strips
constexpr i64 kDepth = 512;   // coordinates per panel in the other ways, bounds the packed copies

template <class T> class Tile {
 public:
  static i64 scratch_size(i64 d) {
    const i64 values = loops<T>().strip * kTileCols;  // one strip of rows, not yet mapped
    return (kTileRows + kTileCols) * (std::min(d, kDepth) + 1) + values;
  }

  Tile(const Spec& spec, const T* shift, i64 d, T* scratch)
      : spec_(spec), shift_(shift), a_(scratch), b_(a_ + kTileRows * std::min(d, kDepth)),
        xn_(b_ + kTileCols * std::min(d, kDepth)), yn_(xn_ + kTileRows),
        values_(yn_ + kTileCols) {}

  // out (i1-i0, j1-j0; ld) = K(X[i0:i1], Y[j0:j1])
  void compute(const Rows<T>& X, i64 i0, i64 i1, const Rows<T>& Y, i64 j0, i64 j1, T* out, i64 ld) {
    const i64 m = i1 - i0, n = j1 - j0;
    if (!spec_.direct() && X.d <= kShort) return multiply_strips(X, i0, m, Y, j0, n, out, ld);
    if (spec_.direct())
      sum_coordinates(X, i0, m, Y, j0, n, out, ld);
    else
      multiply(X, i0, m, Y, j0, n, out, ld);
    loops<T>().map(spec_.kind, out, m, n, ld, xn_, yn_, spec_.params, out, ld);
  }

 private:
  void multiply_strips(const Rows<T>& X, i64 i0, i64 m, const Rows<T>& Y, i64 j0, i64 n, T* out,
                       i64 ld) {
    const Loops<T>& f = loops<T>();
    const i64 d = X.d, strips = ceil_div(n, f.strip), width = strips * f.strip;
    f.pack_row_strips(X.at(i0, 0), m, d, X.rs, X.cs, shift_, a_);
    f.pack_row_strips(Y.at(j0, 0), n, d, Y.rs, Y.cs, shift_, b_);
    const bool distance = spec_.squared_distance();
    if (distance) {
      f.strip_norms(a_, d, ceil_div(m, f.strip), xn_);
      f.strip_norms(b_, d, strips, yn_);
    }
    for (i64 i = 0; i < m; i += f.strip) {
      f.product(a_ + i * d, b_, d, strips, distance ? T(-2) : T(1), values_, width);
      f.map(spec_.kind, values_, std::min(f.strip, m - i), n, width, xn_ + i, yn_, spec_.params,
            out + i * ld, ld);
    }
  }

  void multiply(const Rows<T>& X, i64 i0, i64 m, const Rows<T>& Y, i64 j0, i64 n, T* out, i64 ld) {
    const Loops<T>& f = loops<T>();
    const bool distance = spec_.squared_distance();
    std::fill(xn_, xn_ + m, T(0));
    std::fill(yn_, yn_ + n, T(0));
    for (i64 k = 0; k < X.d; k += kDepth) {
      const i64 depth = std::min(kDepth, X.d - k);
      const T* shift = shift_ ? shift_ + k : nullptr;
      f.pack(X.at(i0, k), m, depth, X.rs, X.cs, shift, nullptr, a_, depth);
      f.pack(Y.at(j0, k), n, depth, Y.rs, Y.cs, shift, nullptr, b_, depth);
      if (distance) {
        f.add_norms(a_, m, depth, depth, xn_);
        f.add_norms(b_, n, depth, depth, yn_);
      }
      gemm_nt<T>(m, n, depth, distance ? T(-2) : T(1), a_, depth, b_, depth, k ? T(1) : T(0), out,
                 ld);
    }
  }

  void sum_coordinates(const Rows<T>& X, i64 i0, i64 m, const Rows<T>& Y, i64 j0, i64 n, T* out,
                       i64 ld) {
    const Loops<T>& f = loops<T>();
    const T start = spec_.kind == kAllSubsets ? T(1) : T(0);
    for (i64 i = 0; i < m; ++i) std::fill(out + i * ld, out + i * ld + n, start);
    for (i64 k = 0; k < X.d; k += kDepth) {
      const i64 depth = std::min(kDepth, X.d - k);
      f.pack(X.at(i0, k), m, depth, X.rs, X.cs, nullptr, nullptr, a_, depth);
      f.pack_t(Y.at(j0, k), n, depth, Y.rs, Y.cs, nullptr, b_, n);
      f.direct(spec_.kind, a_, depth, b_, n, m, n, depth, out, ld);
    }
  }

  const Spec& spec_;
  const T* shift_;
  T *a_, *b_, *xn_, *yn_, *values_;
};

}  // namespace kg
