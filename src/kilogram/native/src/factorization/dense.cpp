// Two products with one reading of X: a tile of rows meets the components, something is done to the
// tile, and the result meets the same rows while they are still in cache.
//     Y = H X_b'     Y <- what NMF or ICA makes of it     A += Y X_b
// Tiles are dealt to fixed lanes and the lanes added in order: the threads do not change the result.
#include "factorization/factorization.hpp"
#include "factorization/loops.hpp"
#include "linalg/blas.hpp"
#include "simd/dispatch.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <omp.h>
#include <vector>

namespace kg {

KG_TABLE(FactorLoops<float>, factor_f32)
KG_TABLE(FactorLoops<double>, factor_f64)
template <> const FactorLoops<float>& factor_loops<float>() { KG_PICK(factor_f32) }
template <> const FactorLoops<double>& factor_loops<double>() { KG_PICK(factor_f64) }

namespace {

constexpr i64 kLaneCount = 8;  // sums of their own, whatever the threads: at most as many threads are busy
constexpr i64 kLaneBytes = i64(1) << 26;

i64 lane_count(i64 tiles, i64 bytes) {
  const i64 most = std::clamp<i64>(kLaneBytes / std::max<i64>(bytes, 1), 2, kLaneCount);
  return std::max<i64>(1, std::min(most, tiles));
}

// Rows first .. first + m of X, one after another: where they lie, or copied to `buffer`.
template <class T> const T* rows_of(const Rows<T>& X, i64 first, i64 m, T* buffer, i64& ld) {
  if (X.cs == 1) {
    ld = X.rs;
    return X.at(first, 0);
  }
  loops<T>().pack(X.at(first, 0), m, X.d, X.rs, X.cs, nullptr, nullptr, buffer, X.d);
  ld = X.d;
  return buffer;
}

// tile (k, kTile) = the rows of W (m, k; ld) side by side, zeros beyond the last; and back
template <class T> void to_tile(const T* W, i64 m, i64 k, i64 ld, T* tile) {
  for (i64 j = 0; j < k; ++j)
    for (i64 i = 0; i < kTile; ++i) tile[j * kTile + i] = i < m ? W[i * ld + j] : T(0);
}
template <class T> void from_tile(const T* tile, i64 m, i64 k, i64 ld, T* W) {
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < k; ++j) W[i * ld + j] = tile[j * kTile + i];
}

// One thread's tile of NMF on its way.
template <class T> class Tile {
 public:
  static i64 buffer_size(const FactorPass<T>& p) { 
    return 3 * p.k * kTile + 2 * kTile * p.X.d + p.k * p.k;
  }

  Tile(const FactorPass<T>& pass, T* buffer)
      : p_(pass), f_(factor_loops<T>()), k_(pass.k), d_(pass.X.d), w_(buffer), a_(w_ + k_ * kTile),
        spare_(a_ + k_ * kTile), gram_(spare_ + k_ * kTile), rows_(gram_ + k_ * k_),
        copy_(rows_ + kTile * d_) {}

  void take(i64 first, i64 m, T* A, double* gram, FactorTerms& terms) {
    i64 ld;
    const T* x = rows_of(p_.X, first, m, rows_, ld);
    to_tile(p_.W + first * k_, m, k_, k_, w_);
    if (p_.update == kPoisson)
      poisson(x, ld, m, first, A, terms);
    else
      squares(x, ld, m, first, A, terms);
    if (A) add_gram(gram);
  }

 private:
  void squares(const T* x, i64 ld, i64 m, i64 first, T* A, FactorTerms& terms) {
    if (p_.missing || p_.measure) look(x, ld, m, first, terms);
    if (p_.missing) {
      x = copy_;
      ld = d_;
    }
    f_.dots(x, ld, m, p_.H, k_, d_, a_);
    if (p_.update == kDescent)
      terms.violation += f_.sweep(w_, a_, p_.B, k_, p_.l1, p_.sweeps, p_.tol);
    else
      repeat(nullptr, p_.B, terms);
    if (!p_.measure && !p_.missing) terms.loss += f_.quadratic(w_, a_, p_.B, k_, p_.l1);
    from_tile(w_, m, k_, k_, p_.W + first * k_);
    if (!A) return;
    weigh(first, m);
    f_.add(w_, k_, x, ld, m, d_, A);
  }

  // the product of the factors beside the rows: the loss, and holes filled by it
  void look(const T* x, i64 ld, i64 m, i64 first, FactorTerms& terms) {
    gemm_nn<T>(m, d_, k_, T(1), p_.W + first * k_, k_, p_.H, d_, T(0), copy_, d_);
    for (i64 i = 0; i < m; ++i) {
      const double by = p_.s ? double(p_.s[first + i]) : 1.0;
      terms.loss += by * (p_.missing ? f_.fill(x + i * ld, copy_ + i * d_, d_)
                                     : f_.squares(x + i * ld, copy_ + i * d_, d_));
    }
  }

  void repeat(const T* c, const T* B, FactorTerms& terms) {
    for (i64 t = 0; t < p_.sweeps; ++t) {
      const double moved = f_.multiply(w_, a_, B, c, k_, p_.l1, p_.l2, spare_);
      if (t == 0) terms.violation = std::max(terms.violation, moved);
      if (!(moved > double(p_.tol))) break;
    }
  }

  void poisson(const T* x, i64 ld, i64 m, i64 first, T* A, FactorTerms& terms) {
    for (i64 t = 0; t < p_.sweeps; ++t) {
      ratios(x, ld, m, first, p_.measure && t == 0 ? &terms.loss : nullptr);
      f_.dots(copy_, d_, m, p_.H, k_, d_, a_);
      const double moved = f_.multiply(w_, a_, nullptr, p_.c, k_, p_.l1, p_.l2, spare_);
      if (t == 0) terms.violation = std::max(terms.violation, moved);
      from_tile(w_, m, k_, k_, p_.W + first * k_);
      if (!(moved > double(p_.tol))) break;
    }
    if (!A) return;
    ratios(x, ld, m, first, nullptr);
    weigh(first, m);
    f_.add(w_, k_, copy_, d_, m, d_, A);
  }

  void ratios(const T* x, i64 ld, i64 m, i64 first, double* loss) {
    gemm_nn<T>(m, d_, k_, T(1), p_.W + first * k_, k_, p_.H, d_, T(0), copy_, d_);
    for (i64 i = 0; i < m; ++i) {
      const double found = f_.ratio(x + i * ld, copy_ + i * d_, d_, p_.floor, loss != nullptr);
      if (loss) *loss += (p_.s ? double(p_.s[first + i]) : 1.0) * found;
    }
  }

  void weigh(i64 first, i64 m) {
    std::copy(w_, w_ + k_ * kTile, a_);  // unweighted, for the gram
    if (p_.s)
      for (i64 j = 0; j < k_; ++j)
        for (i64 i = 0; i < m; ++i) w_[j * kTile + i] *= p_.s[first + i];
  }

  void add_gram(double* gram) {
    gemm_nt<T>(k_, k_, kTile, T(1), w_, kTile, a_, kTile, T(0), gram_, k_);
    for (i64 j = 0; j < k_; ++j) {
      for (i64 l = 0; l < k_; ++l) gram[j * (k_ + 1) + l] += double(gram_[j * k_ + l]);
      double sum = 0;
      for (i64 i = 0; i < kTile; ++i) sum += double(w_[j * kTile + i]);
      gram[j * (k_ + 1) + k_] += sum;
    }
  }

  const FactorPass<T>& p_;
  const FactorLoops<T>& f_;
  const i64 k_, d_;
  T *w_, *a_, *spare_, *gram_, *rows_, *copy_;
};

// out = the lanes added in order
template <class S, class T> void add_lanes(const Scratch<S>& lanes, i64 count, i64 size, T* out) {
  for (i64 j = 0; j < size; ++j) {
    S sum = lanes.block(0)[j];
    for (i64 l = 1; l < count; ++l) sum += lanes.block(l)[j];
    out[j] = static_cast<T>(sum);
  }
}

}  // namespace

template <class T> FactorTerms factor_pass(const FactorPass<T>& pass, int threads) {
  const i64 n = pass.X.n, k = pass.k, size = pass.A ? k * pass.X.d : 0, tiles = ceil_div(n, kTile);
  const i64 count = lane_count(tiles, size * sizeof(T));
  const Scratch<T> sums(count, size), buffers(threads, Tile<T>::buffer_size(pass));
  const Scratch<double> grams(count, k * (k + 1));
  std::vector<FactorTerms> terms(count, {0, 0});
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    std::fill(sums.block(lane), sums.block(lane) + size, T(0));
    std::fill(grams.block(lane), grams.block(lane) + k * (k + 1), 0.0);
    Tile<T> mine(pass, buffers.block(omp_get_thread_num()));
    for (i64 t = lane * tiles / count; t < (lane + 1) * tiles / count; ++t)
      mine.take(t * kTile, std::min(kTile, n - t * kTile), pass.A ? sums.block(lane) : nullptr,
                grams.block(lane), terms[lane]);
  }
  FactorTerms all{0, 0};
  for (const FactorTerms& t : terms) {
    all.violation = pass.update == kDescent ? all.violation + t.violation
                                            : std::max(all.violation, t.violation);
    all.loss += t.loss;
  }
  if (pass.A) {
    add_lanes(sums, count, size, pass.A);
    add_lanes(grams, count, k * (k + 1), pass.gram);
  }
  return all;
}

template <class T>
FactorTerms factor_sweep(T* H, const T* A, const T* B, i64 k, i64 d, i64 sweeps, T l1, int threads) {
  const FactorLoops<T>& f = factor_loops<T>();
  const i64 tiles = ceil_div(d, kTile);
  const Scratch<T> buffers(threads, 2 * k * kTile);
  std::vector<FactorTerms> found(tiles, {0, 0});
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 t = 0; t < tiles; ++t) {
    T *w = buffers.block(omp_get_thread_num()), *a = w + k * kTile;
    const i64 first = t * kTile, m = std::min(kTile, d - first);
    std::fill(w, w + 2 * k * kTile, T(0));
    for (i64 j = 0; j < k; ++j) {
      std::copy(H + j * d + first, H + j * d + first + m, w + j * kTile);
      std::copy(A + j * d + first, A + j * d + first + m, a + j * kTile);
    }
    found[t] = {f.sweep(w, a, B, k, l1, sweeps, T(0)), f.quadratic(w, a, B, k, l1)};
    for (i64 j = 0; j < k; ++j)
      std::copy(w + j * kTile, w + j * kTile + m, H + j * d + first);
  }
  FactorTerms all{0, 0};
  for (const FactorTerms& t : found) {
    all.violation += t.violation;
    all.loss += t.loss;
  }
  return all;
}

template <class T>
void contrast_pass(const Rows<T>& X, const T* M, i64 k, int kind, T alpha, T* G, double* slope,
                   double* value, int threads) {
  const FactorLoops<T>& f = factor_loops<T>();
  const i64 n = X.n, d = X.d, tiles = ceil_div(n, kTile), count = lane_count(tiles, k * d * sizeof(T));
  const Scratch<double> sums(count, k * d + 2 * k);
  const Scratch<T> buffers(threads, k * kTile + kTile * d + k * d);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    double* mine = sums.block(lane);
    std::fill(mine, mine + k * d + 2 * k, 0.0);
    T *u = buffers.block(omp_get_thread_num()), *buffer = u + k * kTile, *part = buffer + kTile * d;
    const i64 last = (lane + 1) * tiles / count;
    for (i64 t = lane * tiles / count; t < last; ++t) {
      const i64 first = t * kTile, m = std::min(kTile, n - first);
      i64 ld;
      const T* x = rows_of(X, first, m, buffer, ld);
      gemm_nt<T>(k, m, d, T(1), M, d, x, ld, T(0), u, kTile);
      f.contrast(kind, alpha, u, k, m, mine + k * d, mine + k * d + k);
      gemm_nn<T>(k, d, m, T(1), u, kTile, x, ld, T(0), part, d);
      for (i64 j = 0; j < k * d; ++j) mine[j] += double(part[j]);
    }
  }
  std::vector<double> all(k * d + 2 * k);
  add_lanes(sums, count, k * d + 2 * k, all.data());
  for (i64 j = 0; j < k * d; ++j) G[j] = static_cast<T>(all[j]);
  std::copy(all.begin() + k * d, all.begin() + k * d + k, slope);
  std::copy(all.begin() + k * d + k, all.end(), value);
}

#define KG_INSTANTIATE(T)                                                                        \
  template FactorTerms factor_pass<T>(const FactorPass<T>&, int);                                \
  template FactorTerms factor_sweep<T>(T*, const T*, const T*, i64, i64, i64, T, int);                \
  template void contrast_pass<T>(const Rows<T>&, const T*, i64, int, T, T*, double*, double*, int);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
