// The loadings of sparse rows: only the entries that are there are visited. Used with X and with its
// transpose, so that neither half of a step of NMF scatters into shared memory.
#include "factorization/factorization.hpp"
#include "factorization/loops.hpp"

#include <algorithm>
#include <omp.h>
#include <vector>

namespace kg {
namespace {

template <class T>
void gather(const FactorLoops<T>& f, const T* x, const std::int32_t* c, i64 m, const T* F, i64 k, T* a) {
  f.gather(x, c, m, F, k, a);
}
template <class T>
void gather(const FactorLoops<T>& f, const T* x, const i64* c, i64 m, const T* F, i64 k, T* a) {
  f.gather_wide(x, c, m, F, k, a);
}
template <class T>
double ratios(const FactorLoops<T>& f, const T* x, const std::int32_t* c, i64 m, const T* F, i64 k,
              const T* w, T floor, bool measure, T* a) {
  return f.gather_ratio(x, c, m, F, k, w, floor, measure, a);
}
template <class T>
double ratios(const FactorLoops<T>& f, const T* x, const i64* c, i64 m, const T* F, i64 k,
              const T* w, T floor, bool measure, T* a) {
  return f.gather_ratio_wide(x, c, m, F, k, w, floor, measure, a);
}

// kTile sparse rows; space for three tiles and one row of ld entries.
template <class T, class I> class SparseTile {
 public:
  SparseTile(const SparseFactorPass<T, I>& pass, T* buffer)
      : p_(pass), f_(factor_loops<T>()), w_(buffer), a_(w_ + pass.k * kTile),
        spare_(a_ + pass.k * kTile), row_(spare_ + pass.k * kTile) {}

  void take(i64 first, i64 m, FactorTerms& terms) {
    load(first, m);
    if (p_.update == kPoisson) {
      if (p_.from != p_.W) keep(first, m);
      for (i64 t = 0; t < p_.sweeps; ++t) {
        for (i64 i = 0; i < m; ++i) {
          const bool measure = p_.measure && t == 0;
          const double found = ratios(f_, at(first + i), columns(first + i), size(first + i), p_.F,
                                      p_.ld, p_.W + (first + i) * p_.ld, p_.floor, measure, row_);
          terms.loss += measure ? found : 0.0;
          spread(i);
        }
        if (!multiplied(nullptr, p_.c, t, terms)) t = p_.sweeps;
        keep(first, m);
      }
      return;
    }
    for (i64 i = 0; i < m; ++i) {
      gather(f_, at(first + i), columns(first + i), size(first + i), p_.F, p_.ld, row_);
      spread(i);
    }
    if (p_.update == kDescent)
      terms.violation += f_.sweep(w_, a_, p_.B, p_.k, p_.l1, p_.sweeps, p_.tol);
    else
      for (i64 t = 0; t < p_.sweeps && multiplied(p_.B, nullptr, t, terms); ++t) {}
    if (p_.value) terms.loss += f_.quadratic(w_, a_, p_.B, p_.k, p_.l1);
    keep(first, m);
  }

 private:
  const T* at(i64 i) const { return p_.X.entries + p_.X.starts[i]; }
  const I* columns(i64 i) const { return p_.X.columns + p_.X.starts[i]; }
  i64 size(i64 i) const { return i64(p_.X.starts[i + 1]) - i64(p_.X.starts[i]); }

  void load(i64 first, i64 m) {
    std::fill(w_, w_ + 2 * p_.k * kTile, T(0));
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < p_.k; ++j) w_[j * kTile + i] = p_.from[(first + i) * p_.ld + j];
  }
  void spread(i64 i) {
    for (i64 j = 0; j < p_.k; ++j) a_[j * kTile + i] = row_[j];
  }
  void keep(i64 first, i64 m) {
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < p_.k; ++j) p_.W[(first + i) * p_.ld + j] = w_[j * kTile + i];
  }
  bool multiplied(const T* B, const T* c, i64 t, FactorTerms& terms) {
    const double moved = f_.multiply(w_, a_, B, c, p_.k, p_.l1, p_.l2, spare_);
    if (t == 0) terms.violation = std::max(terms.violation, moved);
    return moved > double(p_.tol);
  }

  const SparseFactorPass<T, I>& p_;
  const FactorLoops<T>& f_;
  T *w_, *a_, *spare_, *row_;
};

}  // namespace

template <class T, class I>
FactorTerms factor_sparse(const SparseFactorPass<T, I>& pass, int threads) {
  const i64 n = pass.X.n, tiles = ceil_div(n, kTile);
  const Scratch<T> buffers(threads, 3 * pass.k * kTile + pass.ld);
  std::vector<FactorTerms> terms(tiles, {0, 0});
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
  for (i64 t = 0; t < tiles; ++t)
    SparseTile<T, I>(pass, buffers.block(omp_get_thread_num()))
        .take(t * kTile, std::min(kTile, n - t * kTile), terms[t]);
  FactorTerms all{0, 0};
  for (const FactorTerms& t : terms) {
    all.violation = pass.update == kDescent ? all.violation + t.violation
                                            : std::max(all.violation, t.violation);
    all.loss += t.loss;
  }
  return all;
}

template <class T, class I>
void sparse_times(const SparseRows<T, I>& X, const T* F, i64 ld, T* out, int threads) {
  constexpr i64 together = 128;  // rows
  const FactorLoops<T>& f = factor_loops<T>();
  const i64 parts = ceil_div(X.n, together);
#pragma omp parallel for schedule(dynamic, 2) num_threads(threads)
  for (i64 p = 0; p < parts; ++p)
    for (i64 i = p * together; i < std::min(X.n, (p + 1) * together); ++i)
      gather(f, X.entries + X.starts[i], X.columns + X.starts[i],
             i64(X.starts[i + 1]) - i64(X.starts[i]), F, ld, out + i * ld);
}

template <class T>
void factor_gram(const T* F, i64 n, i64 ld, i64 k, const T* s, double* gram, int threads) {
  constexpr i64 together = 128, most = 16;  // rows, and lanes: the threads do not change the result
  const i64 blocks = ceil_div(n, together), lanes = std::max<i64>(1, std::min(most, blocks));
  const FactorLoops<T>& f = factor_loops<T>();
  const Scratch<double> sums(lanes, k * k + k);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (i64 lane = 0; lane < lanes; ++lane) {
    double* mine = sums.block(lane);
    std::fill(mine, mine + k * k + k, 0.0);
    for (i64 b = lane * blocks / lanes; b < (lane + 1) * blocks / lanes; ++b) {
      const i64 first = b * together;
      f.gram(F + first * ld, std::min(together, n - first), ld, k, s ? s + first : nullptr, mine,
             mine + k * k);
    }
  }
  for (i64 j = 0; j < k; ++j)
    for (i64 l = 0; l <= k; ++l) {
      const i64 from = l == k ? k * k + j : std::min(j, l) * k + std::max(j, l);
      double sum = 0;
      for (i64 lane = 0; lane < lanes; ++lane) sum += sums.block(lane)[from];
      gram[j * (k + 1) + l] = sum;
    }
}

template <class T>
void run_ahead(const T* now, const T* before, T b, i64 size, T* out, int threads) {
  constexpr i64 together = i64(1) << 12;
  const FactorLoops<T>& f = factor_loops<T>();
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 i = 0; i < size; i += together)
    f.ahead(now + i, before + i, b, std::min(together, size - i), out + i);
}

template void factor_gram<float>(const float*, i64, i64, i64, const float*, double*, int);
template void factor_gram<double>(const double*, i64, i64, i64, const double*, double*, int);
template void run_ahead<float>(const float*, const float*, float, i64, float*, int);
template void run_ahead<double>(const double*, const double*, double, i64, double*, int);

#define KG_INSTANTIATE(T, I)                                                     \
  template FactorTerms factor_sparse<T, I>(const SparseFactorPass<T, I>&, int);  \
  template void sparse_times<T, I>(const SparseRows<T, I>&, const T*, i64, T*, int);
KG_INSTANTIATE(float, std::int32_t)
KG_INSTANTIATE(float, i64)
KG_INSTANTIATE(double, std::int32_t)
KG_INSTANTIATE(double, i64)

}  // namespace kg
