// Coordinate descent over groups of coefficients. A group is minimised over a quadratic of constant
// curvature that lies above the objective.
#include "coordinate/group_descent.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/interrupt.hpp"
#include "simd/loops.hpp"

namespace kg {
namespace {

// Visits the groups of `list`; returns the largest move times the root of its curvature.
double sweep(const GroupProblem& p, const i64* list, i64 count, double* B, double* H, double* move) {
  const auto add_row = loops<double>().add_row;
  double largest = 0;
  for (i64 k = 0; k < count; ++k) {
    const i64 g = list ? list[k] : k, first = p.starts[g], size = (p.starts[g + 1] - first) * p.t;
    const double a = p.curvature[g];
    double *b = B + first * p.t, *h = H + first * p.t;
    if (!(a + p.l2 > 0)) continue;
    double square = 0;
    for (i64 i = 0; i < size; ++i) {
      move[i] = h[i] + a * b[i];
      square += move[i] * move[i];
    }
    const double norm = std::sqrt(square);
    const double factor = norm > p.strength[g] ? (1 - p.strength[g] / norm) / (a + p.l2) : 0.0;
    double moved = 0;
    for (i64 i = 0; i < size; ++i) {
      move[i] = factor * move[i] - b[i];
      b[i] += move[i];
      moved += move[i] * move[i];
    }
    if (moved == 0) continue;
    largest = std::max(largest, std::sqrt(moved * (a + p.l2)));
    for (i64 r = 0; r < size / p.t; ++r) {
      const double *row = p.G + (first + r) * p.ld, *step = move + r * p.t;
      if (p.t == 1) {
        add_row(row, p.m, -step[0], H);
      } else {
        for (i64 i = 0; i < p.m; ++i)
          for (i64 q = 0; q < p.t; ++q) H[i * p.t + q] -= row[i] * step[q];
      }
    }
  }
  return largest;
}

bool is_zero(const GroupProblem& p, i64 g, const double* B) {
  return std::all_of(B + p.starts[g] * p.t, B + p.starts[g + 1] * p.t, [](double b) { return b == 0; });
}

}  // namespace

DescentState group_descent(const GroupProblem& p, double* B, double* H, double tol, i64 max_epochs) {
  DescentState state{0, 0};
  i64 widest = 0;
  for (i64 g = 0; g < p.groups; ++g) widest = std::max(widest, p.starts[g + 1] - p.starts[g]);
  std::vector<double> move(widest * p.t);
  std::vector<i64> support;
  support.reserve(p.groups);
  while (state.epochs < max_epochs) {
    check_interrupt();
    state.change = sweep(p, nullptr, p.groups, B, H, move.data());
    ++state.epochs;
    if (!(state.change > tol)) break;
    support.clear();
    for (i64 g = 0; g < p.groups; ++g)
      if (!is_zero(p, g, B)) support.push_back(g);
    while (state.epochs < max_epochs) {
      check_interrupt();
      const double change = sweep(p, support.data(), i64(support.size()), B, H, move.data());
      ++state.epochs;
      if (!(change > tol)) break;
    }
  }
  return state;
}

}  // namespace kg
