// Coordinate descent on a stored Gram matrix. A coordinate that stays where it is costs one comparison; a
// move costs one row of G. Slow epochs are extrapolated (Anderson; Bertrand and Massias 2021).
#include "coordinate/gram_descent.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "coordinate/descend.hpp"
#include "simd/loops.hpp"

namespace kg {
namespace {

// The objective at b, with h = q - G b.
double objective(const GramProblem& p, const double* b, const double* h) {
  double value = 0;
  for (i64 j = 0; j < p.m; ++j)
    if (b[j] != 0) value += p.penalty.value(b[j], j) - 0.5 * b[j] * (p.q[j] + h[j]);
  return value;
}

// Visits the coordinates of `list`; returns the largest |move| times the root of its curvature.
double sweep(const GramProblem& p, const i64* list, i64 count, double* b, double* h) {
  const auto add_row = loops<double>().add_row;
  double largest = 0;
  for (i64 k = 0; k < count; ++k) {
    const i64 j = list ? list[k] : k;
    const double* row = p.G + j * p.ld;
    const double a = row[j], c = h[j] + a * b[j];
    const double move = p.penalty.minimiser(a, c, j) - b[j];
    if (move == 0) continue;
    b[j] += move;
    largest = std::max(largest, std::abs(move) * std::sqrt(a + p.penalty.l2));
    add_row(row, p.m, -move, h);
  }
  return largest;
}

// h = q - G b.
void residual(const GramProblem& p, const double* b, double* h) {
  const auto add_row = loops<double>().add_row;
  std::copy_n(p.q, p.m, h);
  for (i64 j = 0; j < p.m; ++j)
    if (b[j] != 0) add_row(p.G + j * p.ld, p.m, -b[j], h);
}

// Primal minus dual objective of the lasso at b; the ridge term counts as extra rows of X.
PathState measure(const GramProblem& p, double yy, const double* b, const double* h) {
  const double l1 = p.penalty.l1[0], l2 = p.penalty.l2;
  double qb = 0, hb = 0, bb = 0, absolute = 0, largest = 0;
  for (i64 j = 0; j < p.m; ++j) {
    qb += p.q[j] * b[j];
    hb += h[j] * b[j];
    bb += b[j] * b[j];
    absolute += std::abs(b[j]);
    const double c = h[j] - l2 * b[j];
    largest = std::max(largest, p.penalty.positive ? c : std::abs(c));
  }
  PathState at;
  at.rr = std::max(yy - qb - hb, 0.0);
  const double all = at.rr + l2 * bb, scale = largest <= l1 ? 1.0 : l1 / largest;
  at.objective = 0.5 * all + l1 * absolute;
  at.gap = std::max(at.objective - (scale * (at.rr + hb) - 0.5 * scale * scale * all), 0.0);
  return at;
}

}  // namespace

i64 gram_path(const GramPath& path, double* B, PathState* states, i64 max_epochs) {
  const GramProblem& first = path.problem;
  const i64 m = first.m;
  std::vector<double> b(path.start, path.start + m), h(m), l1(m);
  residual(first, b.data(), h.data());
  for (i64 k = 0; k < path.count; ++k) {
    std::fill(l1.begin(), l1.end(), path.l1[k]);
    GramProblem p = first;
    p.penalty.l1 = l1.data();
    p.penalty.l2 = path.l2[k];
    i64 epochs = 0;
    double tol = path.tol;
    for (;;) {
      epochs += gram_descent(p, b.data(), h.data(), tol, max_epochs - epochs).epochs;
      if (measure(p, path.yy, b.data(), h.data()).gap <= 0.8 * path.goal) break;
      if (epochs >= max_epochs || !(tol > path.finest)) return k;
      tol = std::max(0.3 * tol, path.finest);
    }
    residual(p, b.data(), h.data());  // without the drift of many moves
    states[k] = measure(p, path.yy, b.data(), h.data());
    states[k].epochs = double(epochs);
    if (!(states[k].gap <= path.goal)) return k;
    std::copy_n(b.data(), m, B + k * m);
  }
  return path.count;
}

DescentState gram_descent(const GramProblem& p, double* b, double* h, double tol, i64 max_epochs) {
  return descend(
      p.penalty, p.m, p.m, b, h, tol, max_epochs,
      [&](const i64* list, i64 count) { return sweep(p, list, count, b, h); },
      [&](const double* at, const double* with) { return objective(p, at, with); });
}

}  // namespace kg
