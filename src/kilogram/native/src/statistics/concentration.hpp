// Concentration steps of the minimum covariance determinant (Rousseeuw and Van Driessen 1999).
#pragma once
#include "common/rows.hpp"

#include <cstdint>

namespace kg {

struct Concentration {
  const double* X;  // (d, n): one row for each column of the data
  i64 n, d, h, steps;
};

// From the means m (starts, d) and covariances C (starts, d, d): the h rows at the smallest distance from
// them give new ones, at most `steps` times, or until the h rows stay. m and C are changed in place,
// kept (starts, n) marks the h rows, logdet (starts) is log det C, -inf where C is singular.
void determinant_steps(const Concentration& p, i64 starts, double* m, double* C, std::uint8_t* kept,
                       double* logdet, int threads);

}  // namespace kg
