// Coordinate descent on the columns of X themselves. A coordinate costs one product with the residual; a
// move costs another pass over its entries.
#include "coordinate/column_descent.hpp"

#include <algorithm>
#include <cmath>

#include "coordinate/descend.hpp"
#include "simd/loops.hpp"

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

constexpr i64 kSums = 8;  // partial sums: one alone waits for each addition to end

// <x_j, r>
double product(const ColumnProblem& p, i64 j, const double* r) {
  const double* x = p.entries + p.starts[j];
  double sum = 0;
  if (p.rows) {
    const auto* row = p.rows + p.starts[j];
    const i64 count = p.starts[j + 1] - p.starts[j];
    double part[4] = {};
    i64 e = 0;
    for (; e + 4 <= count; e += 4)
      for (i64 k = 0; k < 4; ++k) part[k] += x[e + k] * r[row[e + k]];
    for (; e < count; ++e) sum += x[e] * r[row[e]];
    return sum + ((part[0] + part[1]) + (part[2] + part[3]));
  }
  double part[kSums] = {};
  i64 i = 0;
  for (; i + kSums <= p.n; i += kSums)
    for (i64 k = 0; k < kSums; ++k) part[k] += x[i + k] * r[i + k];
  for (; i < p.n; ++i) sum += x[i] * r[i];
  for (double value : part) sum += value;
  return sum;
}

// r += w x_j
void add_column(const ColumnProblem& p, i64 j, double w, double* r) {
  if (!p.rows)
    loops<double>().add_row(p.entries + p.starts[j], p.n, w, r);
  else
    for (i64 e = p.starts[j]; e < p.starts[j + 1]; ++e) r[p.rows[e]] += w * p.entries[e];
}

// Visits the coordinates of `list`; returns the largest |move| times the root of its curvature.
double sweep(const ColumnProblem& p, const i64* list, i64 count, double* b, double* r) {
  double largest = 0, shift = shift_of(p, b);
  for (i64 k = 0; k < count; ++k) {
    const i64 j = list ? list[k] : k;
    const double a = p.curvature[j];
    const double c = p.mean[j] * shift + a * b[j] + product(p, j, r);
    const double move = p.penalty.minimiser(a, c, j) - b[j];
    if (move == 0) continue;
    b[j] += move;
    shift += move * p.mean[j];
    largest = std::max(largest, std::abs(move) * std::sqrt(a + p.penalty.l2));
    add_column(p, j, -move, r);
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
