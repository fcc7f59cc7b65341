// Penalties of one coefficient: their values, and minimisers of a quadratic with them.
#pragma once
#include "common/rows.hpp"

#include <cmath>

namespace kg {

enum class Penalty : int { l1 = 0, mcp = 1, scad = 2 };

// sum_j l1_j |b_j| (or its concave relatives) + l2 / 2 |b|^2, b >= 0 if asked
struct PenaltyTerms {
  const double* l1;  // (m), the strength of each absolute value
  double l2;
  bool positive;
  Penalty kind;
  double gamma;  // of mcp and scad

  // argmin_b  1/2 (a + l2) b^2 - c b + pen_j(b)
  double minimiser(double a, double c, i64 j) const {
    const double curve = a + l2, t = l1[j], size = std::abs(c);
    if (!(curve > 0)) return 0.0;
    if (positive && c <= 0) return 0.0;
    if (kind == Penalty::mcp) {
      // beyond gamma t the penalty is constant; below, the objective is convex if curve > 1 / gamma
      if (size > gamma * t * curve) return c / curve;
      const double convex = curve - 1.0 / gamma;
      return convex > 0 ? soft(c, t) / convex : 0.0;
    }
    if (kind == Penalty::scad) {
      if (size <= t * (1 + curve)) return soft(c, t) / curve;
      if (size > gamma * t * curve) return c / curve;
      const double convex = curve - 1.0 / (gamma - 1);
      return convex > 0 ? soft(c, gamma * t / (gamma - 1)) / convex : 0.0;
    }
    return soft(c, t) / curve;
  }

  double value(double b, i64 j) const {
    const double size = std::abs(b), t = l1[j], ridge = 0.5 * l2 * b * b;
    if (kind == Penalty::mcp)
      return ridge + (size <= gamma * t ? t * size - 0.5 * b * b / gamma : 0.5 * gamma * t * t);
    if (kind == Penalty::scad) {
      if (size <= t) return ridge + t * size;
      if (size > gamma * t) return ridge + 0.5 * (gamma + 1) * t * t;
      return ridge + (2 * gamma * t * size - b * b - t * t) / (2 * (gamma - 1));
    }
    return ridge + t * size;
  }

  bool allows(const double* b, i64 m) const {
    if (positive)
      for (i64 j = 0; j < m; ++j)
        if (b[j] < 0) return false;
    return true;
  }

 private:
  static double soft(double z, double t) { return z > t ? z - t : z < -t ? z + t : 0.0; }
};

// What a call of coordinate descent did.
struct DescentState {
  i64 epochs;
  double change;  // the largest move of the last epoch, in units of the objective's gradient
};

}  // namespace kg
