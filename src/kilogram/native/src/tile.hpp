// One tile of a kernel matrix, computed in cache: pack the rows (minus the common shift), multiply
// or sum over the coordinates in panels, then map the tile elementwise while it is still there.
#pragma once
#include "blas.hpp"
#include "loops.hpp"
#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kg {

constexpr i64 kTileRows = 128, kTileCols = 256;  // 256 KiB of float64, half of a usual L2
constexpr i64 kDepth = 512;                      // coordinates per panel, bounds the packed copies

struct Spec {
  int kind;
  double params[3];
  // functions of |x - y|^2, computed as |x|^2 - 2<x,y> + |y|^2 around a common shift
  bool squared_distance() const {
    return kind == kGaussian || (kind >= kMatern12 && kind <= kRationalQuadratic);
  }
  bool direct() const { return kind == kLaplacian || kind == kChi2 || kind == kAllSubsets; }
  bool unit_diagonal() const {
    return squared_distance() || kind == kLaplacian || kind == kChi2;
  }
};

// The column means of Y: subtracted from both sides, they keep the cancellation in the expansion
// small for data far from 0. Of Y and not of X, because Y is the fixed side (training points,
// landmarks): K(X, Y) is then the same whether X comes in one block or many.
// A column without a finite mean is not shifted, so a NaN or infinity stays in its own row.
template <class T> std::vector<T> common_shift(const Spec& spec, const Rows<T>& Y) {
  if (!spec.squared_distance()) return {};
  std::vector<double> sum(Y.d, 0.0);
  if (Y.cs == 1)
    for (i64 i = 0; i < Y.n; ++i) loops<T>().add(Y.at(i, 0), 1, Y.d, Y.d, sum.data(), Y.d);
  else
    for (i64 k = 0; k < Y.d; ++k)
      for (i64 i = 0; i < Y.n; ++i) sum[k] += static_cast<double>(*Y.at(i, k));
  std::vector<T> shift(Y.d);
  for (i64 k = 0; k < Y.d; ++k) {
    const double mean = sum[k] / static_cast<double>(std::max<i64>(Y.n, 1));
    shift[k] = std::isfinite(mean) ? static_cast<T>(mean) : T(0);
  }
  return shift;
}

template <class T> class Tile {
 public:
  static i64 scratch_size(i64 d) {
    const i64 depth = std::min(d, kDepth);
    return (kTileRows + kTileCols) * (depth + 1);
  }

  Tile(const Spec& spec, const T* shift, i64 d, T* scratch)
      : spec_(spec), shift_(shift), a_(scratch), b_(a_ + kTileRows * std::min(d, kDepth)),
        xn_(b_ + kTileCols * std::min(d, kDepth)), yn_(xn_ + kTileRows) {}

  // out (i1-i0, j1-j0; ld) = K(X[i0:i1], Y[j0:j1])
  void compute(const Rows<T>& X, i64 i0, i64 i1, const Rows<T>& Y, i64 j0, i64 j1, T* out, i64 ld) {
    const i64 m = i1 - i0, n = j1 - j0;
    if (spec_.direct())
      sum_coordinates(X, i0, m, Y, j0, n, out, ld);
    else
      multiply(X, i0, m, Y, j0, n, out, ld);
    loops<T>().map(spec_.kind, out, m, n, ld, xn_, yn_, spec_.params);
  }

 private:
  void multiply(const Rows<T>& X, i64 i0, i64 m, const Rows<T>& Y, i64 j0, i64 n, T* out, i64 ld) {
    const bool distance = spec_.squared_distance();
    const T alpha = distance ? T(-2) : T(1);
    std::fill(xn_, xn_ + m, T(0));
    std::fill(yn_, yn_ + n, T(0));
    i64 k = 0;
    do {
      const i64 depth = std::min(kDepth, X.d - k), ldp = std::max<i64>(depth, 1);
      const T* shift = shift_ ? shift_ + k : nullptr;
      loops<T>().pack(X.at(i0, k), m, depth, X.rs, X.cs, shift, nullptr, a_, ldp);
      loops<T>().pack(Y.at(j0, k), n, depth, Y.rs, Y.cs, shift, nullptr, b_, ldp);
      if (distance) {
        loops<T>().add_norms(a_, m, depth, ldp, xn_);
        loops<T>().add_norms(b_, n, depth, ldp, yn_);
      }
      gemm_nt<T>(m, n, depth, alpha, a_, ldp, b_, ldp, k ? T(1) : T(0), out, ld);
      k += kDepth;
    } while (k < X.d);
  }

  void sum_coordinates(const Rows<T>& X, i64 i0, i64 m, const Rows<T>& Y, i64 j0, i64 n, T* out,
                       i64 ld) {
    const T start = spec_.kind == kAllSubsets ? T(1) : T(0);
    for (i64 i = 0; i < m; ++i) std::fill(out + i * ld, out + i * ld + n, start);
    for (i64 k = 0; k < X.d; k += kDepth) {
      const i64 depth = std::min(kDepth, X.d - k);
      loops<T>().pack(X.at(i0, k), m, depth, X.rs, X.cs, nullptr, nullptr, a_, depth);
      loops<T>().pack_t(Y.at(j0, k), n, depth, Y.rs, Y.cs, nullptr, b_, n);
      loops<T>().direct(spec_.kind, a_, depth, b_, n, m, n, depth, out, ld);
    }
  }

  const Spec& spec_;
  const T* shift_;
  T *a_, *b_, *xn_, *yn_;
};

}  // namespace kg
