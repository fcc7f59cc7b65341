// Loops of Gaussian mixtures; compiled once per instruction set, see simd/loops.cpp for the rules.
// The lanes of every vector are rows. A register block of densities is four columns of F z for three
// vectors of rows (six where there are registers for it); one of the scatter is `kHigh` columns of x
// against `kWide` of r (x - mean), summed over the rows of a block before lanes are added up.
#include "mixture/loops.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace kg {
namespace {

using i64 = std::int64_t;

#include "simd/vector_math.hpp"

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kDeep = 6, kWide = 4;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kDeep = 3, kWide = 3;
#else
constexpr int kVectorBytes = 16, kDeep = 3, kWide = 3;
#endif
constexpr int kHigh = 4;

template <class T> struct Lanes;
template <> struct Lanes<double> {
  typedef double type __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
};
template <> struct Lanes<float> {
  typedef float type __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
};
template <class T> constexpr i64 kLanes = kVectorBytes / i64(sizeof(T));

template <class T> KG_INLINE typename Lanes<T>::type at(const T* p) {
  return *reinterpret_cast<const typename Lanes<T>::type*>(p);
}

#include "mixture/rows.hpp"

// q (kDeep vectors) += the squares of four columns of F x - b; b comes first in f
template <class T>
__attribute__((noinline)) void add_squares(const T* __restrict z, i64 ld, i64 depth,
                                           const T* __restrict f, T* __restrict q) {
  typedef typename Lanes<T>::type V;
  constexpr i64 W = kLanes<T>;
  V sum[kHigh][kDeep];
#pragma GCC unroll 4
  for (int c = 0; c < kHigh; ++c)
#pragma GCC unroll 6
    for (int v = 0; v < kDeep; ++v) sum[c][v] = V{} - f[c];
  f += kHigh;
#pragma GCC unroll 2
  for (i64 k = 0; k < depth; ++k, z += ld, f += kHigh) {
    V row[kDeep];
#pragma GCC unroll 6
    for (int v = 0; v < kDeep; ++v) row[v] = at(z + v * W);
#pragma GCC unroll 4
    for (int c = 0; c < kHigh; ++c) {
      const V entry = f[c] - V{};
#pragma GCC unroll 6
      for (int v = 0; v < kDeep; ++v) sum[c][v] += entry * row[v];
    }
  }
#pragma GCC unroll 6
  for (int v = 0; v < kDeep; ++v) {
    V* to = reinterpret_cast<V*>(q + v * W);
    V total = *to;
#pragma GCC unroll 4
    for (int c = 0; c < kHigh; ++c) total += sum[c][v] * sum[c][v];
    *to = total;
  }
}

// The logarithm of a density that the type can hold; NaN stays.
template <class T> KG_INLINE T within(T v) {
  constexpr T low = sizeof(T) == 8 ? T(-1e300) : T(-1e37);
  return v < low ? low : v;
}

// Columns outside, rows inside: the register blocks that follow each other are of one depth.
template <class T>
void density(const T* x, i64 ld, i64 rows, i64 d, const T* factor, T constant, T* out) {
  for (i64 r = 0; r < rows; ++r) out[r] = T(0);
  for (i64 c = 0; c < d; c += kHigh) {
    for (i64 r = 0; r < rows; r += kDeep * kLanes<T>)
      add_squares<T>(x + r, ld, c + kHigh, factor, out + r);
    factor += kHigh * (c + kHigh + 1);
  }
#pragma omp simd
  for (i64 r = 0; r < rows; ++r) out[r] = within(constant - out[r] / 2);
}

template <class T> void responsibilities(T* logs, i64 k, i64 ld, i64 rows, const T* w, T* norm) {
  constexpr i64 S = 2 * kLanes<T>;
  for (i64 r = 0; r < rows; r += S) {
    alignas(64) T most[S], sum[S], part[S];
    for (i64 l = 0; l < S; ++l) most[l] = logs[r + l], sum[l] = T(0);
    for (i64 c = 1; c < k; ++c)
#pragma omp simd
      for (i64 l = 0; l < S; ++l) {
        const T v = logs[c * ld + r + l];
        most[l] = v > most[l] ? v : most[l];
      }
    for (i64 c = 0; c < k; ++c)
#pragma omp simd
      for (i64 l = 0; l < S; ++l) {
        const T v = exp_(logs[c * ld + r + l] - most[l]);
        logs[c * ld + r + l] = v;
        sum[l] += v;
      }
#pragma omp simd
    for (i64 l = 0; l < S; ++l) {
      norm[r + l] = most[l] + log_(sum[l]);
      part[l] = w[r + l] / sum[l];
    }
    for (i64 c = 0; c < k; ++c)
#pragma omp simd
      for (i64 l = 0; l < S; ++l) logs[c * ld + r + l] *= part[l];
  }
}

template <class T> KG_INLINE double add_lanes(const T* v) {
  double sum = 0;
  for (i64 l = 0; l < kLanes<T>; ++l) sum += static_cast<double>(v[l]);
  return sum;
}

#if defined(__clang__)
#define KG_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define KG_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Order{__VA_ARGS__})
#endif

// The sums of the lanes of as many vectors as a vector has lanes, side by side
typedef Lanes<double>::type Wide;
typedef std::int64_t Order __attribute__((vector_size(kVectorBytes)));
KG_INLINE Wide fold(const Wide* v) {
#if defined(__AVX512F__)
  Wide p[4], q[2];
  for (int i = 0; i < 4; ++i)
    p[i] = KG_SHUFFLE(v[2 * i], v[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
           KG_SHUFFLE(v[2 * i], v[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  for (int i = 0; i < 2; ++i)
    q[i] = KG_SHUFFLE(p[2 * i], p[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
           KG_SHUFFLE(p[2 * i], p[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
  return KG_SHUFFLE(q[0], q[1], 0, 1, 2, 3, 8, 9, 10, 11) +
         KG_SHUFFLE(q[0], q[1], 4, 5, 6, 7, 12, 13, 14, 15);
#elif defined(__AVX2__)
  const Wide p = KG_SHUFFLE(v[0], v[1], 0, 4, 2, 6) + KG_SHUFFLE(v[0], v[1], 1, 5, 3, 7);
  const Wide q = KG_SHUFFLE(v[2], v[3], 0, 4, 2, 6) + KG_SHUFFLE(v[2], v[3], 1, 5, 3, 7);
  return KG_SHUFFLE(p, q, 0, 1, 4, 5) + KG_SHUFFLE(p, q, 2, 3, 6, 7);
#else
  return KG_SHUFFLE(v[0], v[1], 0, 2) + KG_SHUFFLE(v[0], v[1], 1, 3);
#endif
}

// A vector in float64: floats as the sum of their two halves
KG_INLINE Wide widened(const double* v) { return at(v); }
KG_INLINE Wide widened(const float* v) {
  typedef float Half __attribute__((vector_size(kVectorBytes / 2), aligned(4), may_alias));
  const Half *h = reinterpret_cast<const Half*>(v);
  return __builtin_convertvector(h[0], Wide) + __builtin_convertvector(h[1], Wide);
}

// S (kHigh, kWide) += x u', summed over the rows
template <class T>
__attribute__((noinline)) void add_tile(const T* __restrict x, const T* __restrict u, i64 ld,
                                        i64 rows, double* __restrict S) {
  typedef typename Lanes<T>::type V;
  constexpr i64 W = kLanes<T>;
  constexpr int N = kHigh * kWide, group = kLanes<double>;
  V sum[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) sum[i] = V{};
  for (i64 r = 0; r < rows; r += W) {
    V b[kWide];
#pragma GCC unroll 4
    for (int j = 0; j < kWide; ++j) b[j] = at(u + j * ld + r);
#pragma GCC unroll 4
    for (int i = 0; i < kHigh; ++i) {
      const V a = at(x + i * ld + r);
#pragma GCC unroll 4
      for (int j = 0; j < kWide; ++j) sum[i * kWide + j] += a * b[j];
    }
  }
#pragma GCC unroll 8
  for (int g = 0; g < N; g += group) {
    Wide v[group];
#pragma GCC unroll 8
    for (int i = 0; i < group; ++i) v[i] = widened(reinterpret_cast<const T*>(&sum[g + i]));
    *reinterpret_cast<Wide*>(S + g) += fold(v);
  }
}

// u = r (x - mean) for kWide columns; their sums
template <class T>
void weigh(const T* __restrict x, i64 ld, i64 rows, const T* mean, const T* __restrict r,
           T* __restrict u, double* first) {
  typedef typename Lanes<T>::type V;
  constexpr i64 W = kLanes<T>;
  V sum[kWide], m[kWide];
#pragma GCC unroll 4
  for (int c = 0; c < kWide; ++c) sum[c] = V{}, m[c] = V{} + mean[c];
  for (i64 i = 0; i < rows; i += W) {
    const V part = at(r + i);
#pragma GCC unroll 4
    for (int c = 0; c < kWide; ++c) {
      const V v = (at(x + c * ld + i) - m[c]) * part;
      *reinterpret_cast<V*>(u + c * ld + i) = v;
      sum[c] += v;
    }
  }
  for (int c = 0; c < kWide; ++c) first[c] = add_lanes<T>(reinterpret_cast<const T*>(&sum[c]));
}

template <class T> double total(const T* r, i64 rows) {
  constexpr i64 W = kLanes<T>;
  typedef typename Lanes<T>::type V;
  V sum = V{};
  for (i64 i = 0; i < rows; i += W) sum += at(r + i);
  return add_lanes<T>(reinterpret_cast<const T*>(&sum));
}

template <class T>
void scatter(const T* x, i64 ld, i64 rows, i64 d, const T* mean, const T* r, T* u, double* S) {
  const i64 padded = (d + kHigh - 1) / kHigh * kHigh;
  S[0] += total<T>(r, rows);
  double *first = S + 1, *tile = S + 1 + padded;
  for (i64 j = 0; j < padded; j += kWide) {
    T own[kWide];
    double sum[kWide];
    for (int c = 0; c < kWide; ++c) own[c] = j + c < d ? mean[j + c] : T(0);
    weigh<T>(x + j * ld, ld, rows, own, r, u, sum);
    for (int c = 0; c < kWide && j + c < padded; ++c) first[j + c] += sum[c];
    for (i64 i = j / kHigh * kHigh; i < padded; i += kHigh, tile += kHigh * kWide)
      add_tile<T>(x + i * ld, u, ld, rows, tile);
  }
}

#include "mixture/diagonal.hpp"

template <class T> constexpr MixtureLoops<T> table() {
  return {kLanes<T>,  kDeep * kLanes<T>, kHigh,    kWide,      load<T>,             gather<T>,
          density<T>, density_diagonal<T>, responsibilities<T>, above<T>,   scatter<T>,           powers<T>};
}

}  // namespace

namespace KG_VARIANT {
extern const MixtureLoops<float> mixture_f32;
extern const MixtureLoops<double> mixture_f64;
const MixtureLoops<float> mixture_f32 = table<float>();
const MixtureLoops<double> mixture_f64 = table<double>();
}  // namespace KG_VARIANT

}  // namespace kg
