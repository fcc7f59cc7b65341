// The order in which coordinate descent visits its coordinates.
#pragma once
#include <algorithm>
#include <vector>

#include "common/interrupt.hpp"
#include "coordinate/extrapolation.hpp"
#include "coordinate/penalty.hpp"

namespace kg {

// One epoch over all m coordinates, then epochs over those that are not 0 until these have settled, and so
// on. Ends when no move exceeds tol, or after max_epochs. `sweep(list, count)` visits coordinates (all if the
// list is null) and returns the largest move; `objective(b, s)` is the value at b, with s (size), an affine
// function of b, kept beside it.
template <class Sweep, class Objective>
DescentState descend(const PenaltyTerms& penalty, i64 m, i64 size, double* b, double* s, double tol,
                     i64 max_epochs, Sweep sweep, Objective objective) {
  DescentState state{0, 0};
  std::vector<i64> support;
  support.reserve(m);
  Extrapolation past(m, size);
  while (state.epochs < max_epochs) {
    check_interrupt();
    state.change = sweep(nullptr, m);
    ++state.epochs;
    if (!(state.change > tol)) break;
    support.clear();
    for (i64 j = 0; j < m; ++j)
      if (b[j] != 0) support.push_back(j);
    while (state.epochs < max_epochs) {
      check_interrupt();
      const double change = sweep(support.data(), i64(support.size()));
      ++state.epochs;
      if (!(change > tol)) break;
      if (past.add(b, s) && penalty.allows(past.b(), m) &&
          objective(past.b(), past.h()) < objective(b, s)) {
        std::copy_n(past.b(), m, b);
        std::copy_n(past.h(), size, s);
      }
    }
    past.clear();
  }
  return state;
}

}  // namespace kg
