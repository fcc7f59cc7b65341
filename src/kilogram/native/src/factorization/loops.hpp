// The loops of matrix factors (NMF, ICA), one table per instruction set as in simd/loops.hpp.
// A tile holds k quantities of kTile rows, tile[j][row]: what is done to one row is done to all lanes.
#pragma once
#include <cstdint>

namespace kg {

constexpr std::int64_t kTile = 64;

// What the entries of a tile of projections become in ICA, and their slopes.
enum Contrast : int { kLogCosh, kExp, kCube };

template <class T> struct FactorLoops {
  // Coordinate descent on 1/2 w'Bw - a'w + l1 sum w, w >= 0, for every row of the tile: at most `most`
  // sweeps, fewer when no entry moves by more than tol times the largest. Returns the sum of the
  // projected gradients met in the first sweep.
  double (*sweep)(T* w, const T* a, const T* B, std::int64_t k, T l1, std::int64_t most, T tol);
  // the sum of 1/2 w'Bw - a'w + l1 sum w over the rows of the tile
  double (*quadratic)(const T* w, const T* a, const T* B, std::int64_t k, T l1);
  // w *= a / (c + l2 w), where c (k) is given, or a / (Bw + l1 + l2 w); `buffer` is one tile.
  // Returns the largest change relative to the largest entry.
  double (*multiply)(T* w, const T* a, const T* B, const T* c, std::int64_t k, T l1, T l2, T* buffer);
  // p := x / max(p, floor), 1 where x is NaN. With `measure`, returns sum x log(x / p) - x + p.
  double (*ratio)(const T* x, T* p, std::int64_t n, T floor, bool measure);
  // p := x where it is not NaN; returns the sum of (x - p)^2 there
  double (*fill)(const T* x, T* p, std::int64_t n);
  // sum (x - p)^2 where x is not NaN
  double (*squares)(const T* x, const T* p, std::int64_t n);
  // a (k) = sum_i x_i F[c_i], F rows of k entries, k in whole vectors
  void (*gather)(const T* x, const std::int32_t* c, std::int64_t m, const T* F, std::int64_t k, T* a);
  void (*gather_wide)(const T* x, const std::int64_t* c, std::int64_t m, const T* F, std::int64_t k,
                      T* a);
  // a (k) = sum_i x_i / max(p_i, floor) F[c_i], p_i = <w, F[c_i]>; returns sum x log(x / p) - x
  double (*gather_ratio)(const T* x, const std::int32_t* c, std::int64_t m, const T* F,
                         std::int64_t k, const T* w, T floor, bool measure, T* a);
  double (*gather_ratio_wide)(const T* x, const std::int64_t* c, std::int64_t m, const T* F,
                              std::int64_t k, const T* w, T floor, bool measure, T* a);
  // u := g(u) for kTile rows, of which `rows` count; slope[j] += sum g'(u), value[j] += sum G(u)
  void (*contrast)(int kind, T alpha, T* u, std::int64_t k, std::int64_t rows, double* slope,
                   double* value);
  // out[j][row] = <H_j, x_row> for m rows of x, zeros beyond; H (k, d)
  void (*dots)(const T* x, std::int64_t ldx, std::int64_t m, const T* H, std::int64_t k,
               std::int64_t d, T* out);
  // A (k, d) += w[:, :m] x
  void (*add)(const T* w, std::int64_t k, const T* x, std::int64_t ldx, std::int64_t m,
              std::int64_t d, T* A);
  // G (k, k) += F' S F, the upper triangle, and sums (k) += F' s, for rows of F (n, ld); s null: ones.
  // Few rows at a time: short sums in T, long ones in float64.
  void (*gram)(const T* F, std::int64_t n, std::int64_t ld, std::int64_t k, const T* s, double* G,
               double* sums);
  // out = max(0, now + b (now - before)), n entries
  void (*ahead)(const T* now, const T* before, T b, std::int64_t n, T* out);
  std::int64_t lanes;
};

template <class T> const FactorLoops<T>& factor_loops();

}  // namespace kg
