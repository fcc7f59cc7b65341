// Sums of a density's kernel over windows of sorted rows, one table per instruction set as in
// simd/loops.hpp.
#pragma once
#include <cstdint>

namespace kg {

enum DensityKind { kNormal, kExponential, kTophat, kEpanechnikov, kTriangle, kCosine };

constexpr std::int64_t kStrip = 32;  // rows taken at once; Y and w are padded by this many

// Rows in units of the bandwidth: column k of row j is Y[k * ld + j].
struct DensityRows {
  const double* Y;
  std::int64_t d, ld;
  const double* w;
};

struct DensityLoops {
  // sum of w_j k(q - y_j) over j in [lo, hi); `product` multiplies the columns' kernels
  double (*window)(const DensityRows& rows, int kind, bool product, const double* q,
                   std::int64_t lo, std::int64_t hi);
};

const DensityLoops& density_loops();

}  // namespace kg
