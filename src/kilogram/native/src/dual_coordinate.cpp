// One pass of dual coordinate descent (Hsieh et al. 2008; Ho and Lin 2012 for the tube).
#include "dual_coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kg {
namespace {

template <class T> double dot(const CoordinateProblem<T>& P, i64 i) {
  double sum = P.scale * P.w[P.d];
  if (!P.indices) {
    const T* x = P.data + i * P.d;
    double part[4] = {0, 0, 0, 0};  // four sums: the additions of one would wait for each other
    i64 k = 0;
    for (; k + 4 <= P.d; k += 4)
      for (i64 l = 0; l < 4; ++l) part[l] += static_cast<double>(x[k + l]) * P.w[k + l];
    for (; k < P.d; ++k) part[0] += static_cast<double>(x[k]) * P.w[k];
    return sum + (part[0] + part[1]) + (part[2] + part[3]);
  }
  for (i64 k = P.indptr[i]; k < P.indptr[i + 1]; ++k)
    sum += static_cast<double>(P.data[k]) * P.w[P.indices[k]];
  return sum;
}

template <class T> void add(const CoordinateProblem<T>& P, i64 i, double delta) {
  P.w[P.d] += delta * P.scale;
  if (!P.indices) {
    const T* x = P.data + i * P.d;
    for (i64 k = 0; k < P.d; ++k) P.w[k] += delta * static_cast<double>(x[k]);
    return;
  }
  for (i64 k = P.indptr[i]; k < P.indptr[i + 1]; ++k)
    P.w[P.indices[k]] += delta * static_cast<double>(P.data[k]);
}

// The part of the subgradient G + eps [-1, 1] nearest to 0 that b may follow downhill.
double pull(double G, double eps, double b, double lower, double upper) {
  const double right = b >= 0 ? G + eps : G - eps, left = b > 0 ? G + eps : G - eps;
  if (b < upper && right < 0) return right;
  if (b > lower && left > 0) return left;
  return 0;
}

}  // namespace

template <class T>
i64 coordinate_pass(const CoordinateProblem<T>& P, i64* order, i64 active, double far,
                    double* violation) {
  double worst = 0;
  for (i64 k = 0; k < active; ++k) {
    const i64 i = order[k];
    const double G = dot(P, i) + P.s[i] * P.b[i] - P.t[i], b = P.b[i];
    const double v = pull(G, P.eps, b, P.lower[i], P.upper[i]);
    if (v == 0) {
      const bool kink = b <= P.lower[i] || b >= P.upper[i] || b == 0;
      double room = 1e300;  // how much G must change before b moves
      if (b < P.upper[i]) room = std::min(room, b >= 0 ? G + P.eps : G - P.eps);
      if (b > P.lower[i]) room = std::min(room, -(b > 0 ? G + P.eps : G - P.eps));
      if (kink && room > far) std::swap(order[k--], order[--active]);
      continue;
    }
    worst = std::max(worst, std::abs(v));
    const double Q = std::max(P.square[i] + P.s[i], 1e-300), z = b - G / Q, e = P.eps / Q;
    double next = z > e ? z - e : z < -e ? z + e : 0.0;
    next = std::min(std::max(next, P.lower[i]), P.upper[i]);
    if (next == b) continue;
    P.b[i] = next;
    add(P, i, next - b);
  }
  *violation = worst;
  return active;
}

template i64 coordinate_pass<float>(const CoordinateProblem<float>&, i64*, i64, double, double*);
template i64 coordinate_pass<double>(const CoordinateProblem<double>&, i64*, i64, double, double*);

}  // namespace kg
