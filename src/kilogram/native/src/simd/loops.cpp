// Elementwise loops; compiled once per instruction set with KG_VARIANT naming the namespace.
// Everything has internal linkage except the two tables at the end, and no standard-library
// template is used: such a template compiled here with AVX flags could be the copy the linker keeps.
#include "simd/loops.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

extern "C" {
double cos(double) noexcept;
float cosf(float) noexcept;
double pow(double, double) noexcept;
double sqrt(double) noexcept;
float sqrtf(float) noexcept;
}

namespace kg {
namespace {

using i64 = std::int64_t;

#include "simd/vector_math.hpp"
#include "simd/loops_counts.hpp"
#include "simd/loops_direct.hpp"
#include "simd/loops_logistic.hpp"
#include "simd/loops_map.hpp"
#include "simd/loops_pack.hpp"
#include "simd/loops_product.hpp"
#include "simd/loops_factor.hpp"
#include "simd/loops_thin.hpp"
#include "simd/loops_half.hpp"
#include "simd/loops_nearest.hpp"
#include "simd/loops_linkage.hpp"

template <class T> void cosine(T* tile, i64 rows, i64 cols, i64 ld, const T* b, T scale) {
  for (i64 i = 0; i < rows; ++i) {
    T* __restrict row = tile + i * ld;
    if (b) {
#pragma omp simd
      for (i64 j = 0; j < cols; ++j) row[j] += b[j];
    }
    i64 far = 0;  // arguments beyond the reach of the three-part reduction, and not NaN
#pragma omp simd reduction(+ : far)
    for (i64 j = 0; j < cols; ++j)
      far += (row[j] > T(kCosLimit)) + (row[j] < T(-kCosLimit));
    if (far == 0) {
#pragma omp simd
      for (i64 j = 0; j < cols; ++j) row[j] = scale * cos_(row[j]);
    } else {
      for (i64 j = 0; j < cols; ++j) row[j] = scale * static_cast<T>(cos(static_cast<double>(row[j])));
    }
  }
}

template <class T> void exp_array(const T* x, T* y, i64 n) {
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] = exp_(x[i]);
}

template <class T> void log_array(const T* x, T* y, i64 n) {
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] = log_(x[i]);
}

template <class T> void cos_array(const T* x, T* y, i64 n) {
  for (i64 i = 0; i < n; ++i) y[i] = x[i];
  cosine<T>(y, 1, n, n, nullptr, T(1));
}

template <class T> constexpr Loops<T> table() {
  return {kStrip<T>,          pack_row_strips<T>, pack_column_strips<T>, strip_norms<T>,
          product<T>, gram<T>, put_rows<T>, gather_strips<T>, cross<T>, pack<T>,               pack_t<T>,
          add_norms<T>,       map<T>,             direct<T>,             cosine<T>,
          transpose<T>,       add<T>,             add_powers<T>,         add_counts<T>, add_presence<T>, column_ranges<T>, add_categories<T>, row_dots<T>,
          add_rows<T>,        logistic<T>,        softmax<T>,            kLanes<T>, thin<T>, half_rows<T>, kSteps<T>, pack_lanes<T>, solve_lanes<T>, subtract_rows<T>,
          pack_four<T>,       nearest<T>,          half_distances<T>, two_nearest<T>, least_bound<T>,      squared_distance<T>, add_row<T>, shift_lanes<T>,
          kPanel, panel_distances<T>, row_min<T>, ward_scale<T>, relax<T>, places_below<T>, gain_over<T>,
          exp_array<T>,
          cos_array<T>,       log_array<T>};
}

}  // namespace

namespace KG_VARIANT {
extern const Loops<float> loops_f32;
extern const Loops<double> loops_f64;
const Loops<float> loops_f32 = table<float>();
const Loops<double> loops_f64 = table<double>();
}  // namespace KG_VARIANT

}  // namespace kg
