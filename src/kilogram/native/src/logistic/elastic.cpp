// Coordinate descent on a quadratic model with absolute values (Friedman et al. 2010; Yuan et al.
// 2012). Coordinates that stay at 0 cost one comparison; a move costs one row of H.
#include "logistic/elastic.hpp"

#include <algorithm>
#include <cmath>

namespace kg {

i64 elastic_step(const double* H, i64 m, const double* g, const double* w, const double* l,
                 double* d, double* Hd, double tol, i64 passes) {
  for (i64 pass = 1; pass <= passes; ++pass) {
    double largest = 0;
    for (i64 j = 0; j < m; ++j) {
      const double* row = H + j * m;
      const double curve = std::max(row[j], 1e-300), now = w[j] + d[j];
      const double z = now - (g[j] + Hd[j]) / curve, threshold = l[j] / curve;
      const double next = z > threshold ? z - threshold : z < -threshold ? z + threshold : 0.0;
      const double step = next - now;
      if (step == 0 || !(std::abs(step) > 0)) continue;
      largest = std::max(largest, std::abs(step) * curve);
      d[j] += step;
      for (i64 k = 0; k < m; ++k) Hd[k] += step * row[k];
    }
    if (!(largest > tol)) return pass;
  }
  return passes;
}

}  // namespace kg
