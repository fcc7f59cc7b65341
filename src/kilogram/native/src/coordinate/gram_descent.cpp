// A coordinate that stays where it is costs one comparison; a move costs one row of G.
#include "coordinate/gram_descent.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/interrupt.hpp"
#include "simd/loops.hpp"

namespace kg {
namespace {

double soft(double z, double t) { return z > t ? z - t : z < -t ? z + t : 0.0; }

// argmin_b  1/2 (a + l2) b^2 - c b + pen(b)
double minimiser(const GramProblem& p, double a, double c, double t) {
  const double curve = a + p.l2;
  if (!(curve > 0)) return 0.0;
  if (p.positive && c <= 0) return 0.0;
  if (p.penalty == Penalty::mcp) {
    // beyond gamma t the penalty is constant; below, the objective is convex if curve > 1 / gamma
    if (std::abs(c) > p.gamma * t * curve) return c / curve;
    const double convex = curve - 1.0 / p.gamma;
    return convex > 0 ? soft(c, t) / convex : 0.0;
  }
  if (p.penalty == Penalty::scad) {
    const double size = std::abs(c);
    if (size <= t * (1 + curve)) return soft(c, t) / curve;
    if (size > p.gamma * t * curve) return c / curve;
    const double convex = curve - 1.0 / (p.gamma - 1);
    return convex > 0 ? soft(c, p.gamma * t / (p.gamma - 1)) / convex : 0.0;
  }
  return soft(c, t) / curve;
}

// Visits the coordinates of `list`; returns the largest |move| times the root of its curvature.
double sweep(const GramProblem& p, const i64* list, i64 count, double* b, double* h) {
  const auto add_row = loops<double>().add_row;
  double largest = 0;
  for (i64 k = 0; k < count; ++k) {
    const i64 j = list ? list[k] : k;
    const double* row = p.G + j * p.ld;
    const double a = row[j], c = h[j] + a * b[j];
    const double move = minimiser(p, a, c, p.l1[j]) - b[j];
    if (move == 0) continue;
    b[j] += move;
    largest = std::max(largest, std::abs(move) * std::sqrt(a + p.l2));
    add_row(row, p.m, -move, h);
  }
  return largest;
}

}  // namespace

GramState gram_descent(const GramProblem& p, double* b, double* h, double tol, i64 max_epochs) {
  GramState state{0, 0};
  std::vector<i64> support;
  support.reserve(p.m);
  while (state.epochs < max_epochs) {
    check_interrupt();
    state.change = sweep(p, nullptr, p.m, b, h);
    ++state.epochs;
    if (!(state.change > tol)) break;
    support.clear();
    for (i64 j = 0; j < p.m; ++j)
      if (b[j] != 0) support.push_back(j);
    while (state.epochs < max_epochs) {
      check_interrupt();
      const double change = sweep(p, support.data(), i64(support.size()), b, h);
      ++state.epochs;
      if (!(change > tol)) break;
    }
  }
  return state;
}

}  // namespace kg
