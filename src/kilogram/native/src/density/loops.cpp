// Kernels of densities over strips of rows; compiled once per instruction set, see simd/loops.cpp for
// the rules. Distances are sums of squared differences: nothing cancels far from the origin.
#include "density/loops.hpp"

namespace kg {
namespace {

using i64 = std::int64_t;

#include "simd/vector_math.hpp"

// k as a function of t = |u|^2. The compact ones are 0 from t = 1 on.
struct Normal {
  KG_INLINE double at(double t) { return exp_(-0.5 * t); }
};
struct Exponential {
  KG_INLINE double at(double t) { return exp_(-__builtin_sqrt(t)); }
};
struct Tophat {
  KG_INLINE double at(double t) { return t < 1.0 ? 1.0 : 0.0; }
};
struct Epanechnikov {
  KG_INLINE double at(double t) { return t < 1.0 ? 1.0 - t : 0.0; }
};
struct Triangle {
  KG_INLINE double at(double t) { return t < 1.0 ? 1.0 - __builtin_sqrt(t) : 0.0; }
};
struct Cosine {  // cos(pi/2 sqrt t) is entire in t: its series, to 2e-17 on [0, 1]
  KG_INLINE double at(double t) {
    const double s = t < 1.0 ? t : 1.0;
    double c = 3.4377391790986044e-15;
    c = c * s - 5.294400200734619e-13;
    c = c * s + 6.565963114979468e-11;
    c = c * s - 6.386603083791849e-09;
    c = c * s + 4.710874778818169e-07;
    c = c * s - 2.5202042373060596e-05;
    c = c * s + 0.0009192602748394263;
    c = c * s - 0.020863480763352957;
    c = c * s + 0.253669507901048;
    c = c * s - 1.2337005501361697;
    c = c * s + 1.0;
    return t < 1.0 ? c : 0.0;
  }
};

#if defined(__AVX512F__)
constexpr i64 kLanes = 8;
#elif defined(__AVX2__)
constexpr i64 kLanes = 4;
#else
constexpr i64 kLanes = 2;
#endif
typedef double Lanes __attribute__((vector_size(8 * kLanes), aligned(8)));
constexpr i64 kParts = kStrip / kLanes;  // on AVX2 half of the registers, with space for the rest

// t (kStrip) = squared distances of q from the strip that begins at Y
KG_INLINE void distances(const double* Y, i64 ld, i64 d, const double* q, double* t) {
  Lanes part[kParts] = {};
  for (i64 k = 0; k < d; ++k) {
    const double* y = Y + k * ld;
    for (i64 p = 0; p < kParts; ++p) {
      const Lanes u = *reinterpret_cast<const Lanes*>(y + p * kLanes) - q[k];
      part[p] += u * u;
    }
  }
  for (i64 p = 0; p < kParts; ++p) *reinterpret_cast<Lanes*>(t + p * kLanes) = part[p];
}

template <class K>
KG_INLINE void radial(const double* Y, i64 ld, i64 d, const double* q, double* v) {
  distances(Y, ld, d, q, v);
#pragma omp simd
  for (i64 j = 0; j < kStrip; ++j) v[j] = K::at(v[j]);
}

template <class K>
KG_INLINE void products(const double* Y, i64 ld, i64 d, const double* q, double* v) {
  for (i64 j = 0; j < kStrip; ++j) v[j] = 1.0;
  for (i64 k = 0; k < d; ++k) {
    const double *y = Y + k * ld, x = q[k];
#pragma omp simd
    for (i64 j = 0; j < kStrip; ++j) v[j] *= K::at((y[j] - x) * (y[j] - x));
  }
}

// Sums run strip by strip from lo, lane by lane: the order does not depend on anything else.
template <class K, bool product>
double sum(const DensityRows& rows, const double* q, i64 lo, i64 hi) {
  double v[kStrip], total[kStrip] = {};
  for (i64 j = lo; j < hi; j += kStrip) {
    if constexpr (product)
      products<K>(rows.Y + j, rows.ld, rows.d, q, v);
    else
      radial<K>(rows.Y + j, rows.ld, rows.d, q, v);
    const double* w = rows.w + j;
    if (hi - j >= kStrip) {
#pragma omp simd
      for (i64 l = 0; l < kStrip; ++l) total[l] += w[l] * v[l];
    } else {
      for (i64 l = 0; l < hi - j; ++l) total[l] += w[l] * v[l];
    }
  }
  double all = 0;
  for (i64 l = 0; l < kStrip; ++l) all += total[l];
  return all;
}

template <class K>
double either(const DensityRows& rows, bool product, const double* q, i64 lo, i64 hi) {
  return product ? sum<K, true>(rows, q, lo, hi) : sum<K, false>(rows, q, lo, hi);
}

double window(const DensityRows& rows, int kind, bool product, const double* q, i64 lo, i64 hi) {
  switch (kind) {
    case kNormal: return sum<Normal, false>(rows, q, lo, hi);  // its product is radial
    case kExponential: return either<Exponential>(rows, product, q, lo, hi);
    case kTophat: return either<Tophat>(rows, product, q, lo, hi);
    case kEpanechnikov: return either<Epanechnikov>(rows, product, q, lo, hi);
    case kTriangle: return either<Triangle>(rows, product, q, lo, hi);
    default: return either<Cosine>(rows, product, q, lo, hi);
  }
}

}  // namespace

namespace KG_VARIANT {
extern const DensityLoops density_table;
const DensityLoops density_table = {window};
}  // namespace KG_VARIANT

}  // namespace kg
