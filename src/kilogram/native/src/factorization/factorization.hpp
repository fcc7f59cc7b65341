// Passes of matrix factors over raw buffers: rows against k components, and back.
#pragma once
#include "common/rows.hpp"
#include "common/sparse.hpp"

namespace kg {

enum Update : int { kDescent, kMultiply, kPoisson };

// What a pass of NMF sees and fills: X ~ W H with X (n, d), W (n, k), H (k, d).
template <class T> struct FactorPass {
  Rows<T> X;
  T* W;          // the loadings: read, then improved with H as it is
  const T* H;    // (k, d) row by row
  const T* B;    // (k, k) = H H' + l2 I; for kPoisson not read
  const T* c;    // (k) = sum of H's rows + l1, for kPoisson
  i64 k;
  const T* s;    // weights (n) or null
  int update;
  i64 sweeps;    // most improvements of a row
  T tol, l1, l2, floor;
  bool missing;  // NaN are entries nobody has seen
  bool measure;  // the loss of the factors as they came
  T* A;          // (k, d) = (sW)'X, for kPoisson (sW)'(X / WH); null: only W is wanted
  double* gram;  // (k, k + 1): (sW)'W and the sums of sW
};

struct FactorTerms {
  double violation;  // sum of projected gradients, or the largest relative change (multiplied)
  double loss;       // measured: sum (x - p)^2, or sum x log(x / p) - x + p, of the factors as they
                     // came; else 1/2 w'Bw - a'w + l1 sum w of those found, 0 for kPoisson
};

template <class T> FactorTerms factor_pass(const FactorPass<T>& pass, int threads);

// The loadings of sparse rows, F (d, ld) being the components column by column, ld whole vectors.
// For kPoisson the loss lacks the sum of p.
template <class T, class I> struct SparseFactorPass {
  SparseRows<T, I> X;
  const T* from;  // (n, ld): where the loadings begin
  T* W;           // (n, ld): where they end; may be `from`
  const T* F;
  const T *B, *c;
  i64 k, ld;
  int update;
  i64 sweeps;
  T tol, l1, l2, floor;
  bool measure;
  bool value;  // the loss of the loadings found is wanted, which costs as much as a sweep
};

template <class T, class I>
FactorTerms factor_sparse(const SparseFactorPass<T, I>& pass, int threads);

// out (n, ld) = X F, both padded as above
template <class T, class I>
void sparse_times(const SparseRows<T, I>& X, const T* F, i64 ld, T* out, int threads);

// gram (k, k + 1) = F' S F beside the sums F' s, for the rows of F (n, ld); s (n) or null
template <class T>
void factor_gram(const T* F, i64 n, i64 ld, i64 k, const T* s, double* gram, int threads);

// out = max(0, now + b (now - before)), entry by entry; out may be either
template <class T>
void run_ahead(const T* now, const T* before, T b, i64 size, T* out, int threads);

// H (k, d) against A (k, d) and B (k, k): the sweeps of `factor_pass` without its products
template <class T>
FactorTerms factor_sweep(T* H, const T* A, const T* B, i64 k, i64 d, i64 sweeps, T l1, int threads);

// G (k, d) = sum g(u_i) x_i', u_i = M x_i; slope and value (k) the sums of g'(u) and G(u)
template <class T>
void contrast_pass(const Rows<T>& X, const T* M, i64 k, int kind, T alpha, T* G, double* slope,
                   double* value, int threads);

}  // namespace kg
