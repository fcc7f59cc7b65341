// A coordinate that stays where it is costs one comparison; a move costs one row of G. Slow epochs are
// extrapolated (Anderson; Bertrand and Massias 2021).
#include "coordinate/gram_descent.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace

DescentState gram_descent(const GramProblem& p, double* b, double* h, double tol, i64 max_epochs) {
  return descend(
      p.penalty, p.m, p.m, b, h, tol, max_epochs,
      [&](const i64* list, i64 count) { return sweep(p, list, count, b, h); },
      [&](const double* at, const double* with) { return objective(p, at, with); });
}

}  // namespace kg
