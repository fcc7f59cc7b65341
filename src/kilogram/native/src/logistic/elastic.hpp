// min_d  g'd + 1/2 d'H d + sum_j l_j |w_j + d_j|  by coordinate descent on a small dense H.
#pragma once
#include "common/rows.hpp"

namespace kg {

// d (m) is improved in place, Hd = H d kept beside it; stops when the largest step times the
// curvature is below tol, or after `passes`. Returns the passes taken.
i64 elastic_step(const double* H, i64 m, const double* g, const double* w, const double* l,
                 double* d, double* Hd, double tol, i64 passes);

}  // namespace kg
