// The rows lie along the memory of X, so distances and moments are sums of vectors over the rows.
#include "statistics/concentration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <omp.h>

#include "simd/loops.hpp"

namespace kg {
namespace {

constexpr double kRelative = 1e-12, kAbsolute = 1e-300;  // added to the diagonal of a singular covariance

// The lower factor L (d, d) of C + ridge I and log det, or -inf where a pivot is not positive.
double cholesky(const double* C, i64 d, double ridge, double* L) {
  double logdet = 0;
  for (i64 i = 0; i < d; ++i)
    for (i64 j = 0; j <= i; ++j) {
      double sum = C[i * d + j] + (i == j ? ridge : 0.0);
      for (i64 k = 0; k < j; ++k) sum -= L[i * d + k] * L[j * d + k];
      if (i > j) {
        L[i * d + j] = sum / L[j * d + j];
      } else {
        if (!(sum > 0)) return -std::numeric_limits<double>::infinity();
        L[i * d + i] = std::sqrt(sum);
        logdet += std::log(sum);
      }
    }
  return logdet;
}

// The inverse (d, d) of a lower triangle, in its place.
void invert(double* L, i64 d) {
  for (i64 i = 0; i < d; ++i) {
    const double pivot = 1.0 / L[i * d + i];
    for (i64 j = 0; j < i; ++j) {
      double sum = 0;
      for (i64 k = j; k < i; ++k) sum += L[i * d + k] * L[k * d + j];
      L[i * d + j] = -sum * pivot;
    }
    L[i * d + i] = pivot;
  }
}

// log det C: -inf where C is singular, inf where it overflowed.
double log_determinant(const double* C, i64 d, double* L) {
  for (i64 k = 0; k < d * d; ++k)
    if (!std::isfinite(C[k])) return std::numeric_limits<double>::infinity();
  return cholesky(C, d, 0.0, L);
}

// Squared distances D (n) under m and C; false if C is singular.
bool distances(const Concentration& p, const double* m, const double* C, double* L, double* z, double* D) {
  const auto add_row = loops<double>().add_row;
  double trace = 0;
  for (i64 k = 0; k < p.d; ++k) trace += C[k * p.d + k];
  double ridge = kRelative * trace / double(p.d) + kAbsolute;
  for (int more = 0; !std::isfinite(cholesky(C, p.d, ridge, L)); ++more, ridge *= 1e3)
    if (more == 3) return false;
  invert(L, p.d);
  std::fill_n(D, p.n, 0.0);
  for (i64 k = 0; k < p.d; ++k) {
    double shift = 0;
    for (i64 l = 0; l <= k; ++l) shift -= L[k * p.d + l] * m[l];
    std::fill_n(z, p.n, shift);
    for (i64 l = 0; l <= k; ++l) add_row(p.X + l * p.n, p.n, L[k * p.d + l], z);
#pragma omp simd
    for (i64 i = 0; i < p.n; ++i) D[i] += z[i] * z[i];
  }
  for (i64 i = 0; i < p.n; ++i)  // overflow: beyond all others
    if (!(D[i] >= 0)) D[i] = std::numeric_limits<double>::infinity();
  return true;
}

// Marks the h rows of smallest D, in order of their place where they are equal; whether that is a change.
bool select(const Concentration& p, const double* D, double* order, std::uint8_t* kept) {
  std::copy_n(D, p.n, order);
  std::nth_element(order, order + p.h - 1, order + p.n);
  const double most = order[p.h - 1];
  i64 equal = p.h;
  for (i64 i = 0; i < p.n; ++i) equal -= D[i] < most;
  bool changed = false;
  for (i64 i = 0; i < p.n; ++i) {
    const bool in = D[i] < most || (D[i] == most && equal-- > 0);
    changed |= in != bool(kept[i]);
    kept[i] = in;
  }
  return changed;
}

// Mean and covariance of the marked rows; Z (d, h) is space.
void moments(const Concentration& p, const std::uint8_t* kept, double* Z, double* m, double* C) {
  const auto row_dots = loops<double>().row_dots;
  for (i64 k = 0; k < p.d; ++k) {
    const double* x = p.X + k * p.n;
    double *z = Z + k * p.h, sum = 0;
    i64 at = 0;
    for (i64 i = 0; i < p.n; ++i)
      if (kept[i]) sum += z[at++] = x[i];
    m[k] = sum / double(p.h);
    for (i64 i = 0; i < p.h; ++i) z[i] -= m[k];
    row_dots(Z, k + 1, p.h, p.h, 1, z, 0.0, C + k * p.d);
    for (i64 l = 0; l <= k; ++l) C[l * p.d + k] = C[k * p.d + l] /= double(p.h);
  }
}

}  // namespace

void determinant_steps(const Concentration& p, i64 starts, double* m, double* C, std::uint8_t* kept,
                       double* logdet, int threads) {
  const Scratch<double> space(threads, 3 * p.n + p.d * p.h + p.d * p.d);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 s = 0; s < starts; ++s) {
    double* D = space.block(omp_get_thread_num());
    double *z = D + p.n, *order = z + p.n, *Z = order + p.n, *L = Z + p.d * p.h;
    double *at = m + s * p.d, *own = C + s * p.d * p.d;
    std::uint8_t* marks = kept + s * p.n;
    std::fill_n(marks, p.n, std::uint8_t(0));
    for (i64 step = 0; step < p.steps; ++step) {
      if (!distances(p, at, own, L, z, D) || !select(p, D, order, marks)) break;
      moments(p, marks, Z, at, own);
    }
    logdet[s] = log_determinant(own, p.d, L);
  }
}

}  // namespace kg
