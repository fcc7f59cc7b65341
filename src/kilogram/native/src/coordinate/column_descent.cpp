// A coordinate costs one product with the residual; a move costs another pass over its entries.
#include "coordinate/column_descent.hpp"

#include <algorithm>
#include <cmath>

#include "coordinate/descend.hpp"

namespace kg {
namespace {

// mean'b: the residual of centred columns is r + shift ones, and ones'r = -shift.
double shift_of(const ColumnProblem& p, const double* b) {
  double shift = 0;
  for (i64 j = 0; j < p.m; ++j) shift += p.mean[j] * b[j];
  return shift;
}

double objective(const ColumnProblem& p, const double* b, const double* r) {
  const double shift = shift_of(p, b);
  double squares = 0, penalty = 0;
  for (i64 i = 0; i < p.n; ++i) squares += r[i] * r[i];
  for (i64 j = 0; j < p.m; ++j)
    if (b[j] != 0) penalty += p.penalty.value(b[j], j);
  return 0.5 * (squares - shift * shift) + penalty;
}

// Visits the coordinates of `list`; returns the largest |move| times the root of its curvature.
double sweep(const ColumnProblem& p, const i64* list, i64 count, double* b, double* r) {
  double largest = 0, shift = shift_of(p, b);
  for (i64 k = 0; k < count; ++k) {
    const i64 j = list ? list[k] : k, end = p.starts[j + 1];
    const double a = p.curvature[j];
    double c = p.mean[j] * shift + a * b[j];
    for (i64 e = p.starts[j]; e < end; ++e) c += p.entries[e] * r[p.rows[e]];
    const double move = p.penalty.minimiser(a, c, j) - b[j];
    if (move == 0) continue;
    b[j] += move;
    shift += move * p.mean[j];
    largest = std::max(largest, std::abs(move) * std::sqrt(a + p.penalty.l2));
    for (i64 e = p.starts[j]; e < end; ++e) r[p.rows[e]] -= move * p.entries[e];
  }
  return largest;
}

}  // namespace

DescentState column_descent(const ColumnProblem& p, double* b, double* r, double tol, i64 max_epochs) {
  return descend(
      p.penalty, p.m, p.n, b, r, tol, max_epochs,
      [&](const i64* list, i64 count) { return sweep(p, list, count, b, r); },
      [&](const double* at, const double* with) { return objective(p, at, with); });
}

}  // namespace kg
