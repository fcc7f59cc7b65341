// Loops of k-means with small k; compiled once per instruction set, see simd/loops.cpp for the rules.
#include "kmeans/small_k_loops.hpp"
#include "simd/vectors.hpp"

#include <limits>

namespace kg {
namespace {

constexpr i64 kWords = kBytes / 2;

typedef std::int16_t Int16 __attribute__((vector_size(kBytes), aligned(2), may_alias));
typedef std::int32_t Int32 __attribute__((vector_size(kBytes), aligned(4), may_alias));

#define KG_INLINE static inline __attribute__((always_inline))

// a register of its own: read once, not with either product
#if defined(__x86_64__)
#define KG_FILTER_BOUNDS(v) asm("" : "+x"(v))
#else
#define KG_FILTER_BOUNDS(v)
#endif

template <class V, class S> KG_INLINE S sum_of(V v) {
  return folded<S>(v, [](auto a, auto b) { return a + b; });
}

// Not inlined: up to twelve sums need the registers.
template <class T, int kSize>
__attribute__((noinline)) void rows_by(const T* __restrict rows, i64 ld, const T* __restrict centres,
                                       const T* next, T* __restrict out, i64 stride) {
  typedef typename Wide<T>::type V;
  constexpr i64 W = kBytes / i64(sizeof(T));
  const V *x = reinterpret_cast<const V*>(rows), *y = reinterpret_cast<const V*>(rows + ld),
          *c = reinterpret_cast<const V*>(centres);
  V sum[2][kSize];
#pragma GCC unroll 6
  for (int r = 0; r < kSize; ++r) sum[0][r] = sum[1][r] = V{};
  for (i64 k = 0; k < ld / W; ++k, c += kSize) {
    const V one = x[k], two = y[k];
    __builtin_prefetch(next + k * W);
#pragma GCC unroll 6
    for (int r = 0; r < kSize; ++r) {
      V v = c[r];
      KG_FILTER_BOUNDS(v);
      sum[0][r] += one * v;
      sum[1][r] += two * v;
    }
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i)
#pragma GCC unroll 6
    for (int r = 0; r < kSize; ++r) out[i * stride + r] = sum_of<V, T>(sum[i][r]);
}

template <class T>
void two_rows(const T* rows, i64 ld, const T* centres, i64 size, const T* next, T* out, i64 stride) {
  if (size == 4) return rows_by<T, 4>(rows, ld, centres, next, out, stride);
  if (size == 5) return rows_by<T, 5>(rows, ld, centres, next, out, stride);
  rows_by<T, 6>(rows, ld, centres, next, out, stride);
}

KG_INLINE Int16 widened(const std::int8_t* bytes) {
#if defined(__AVX512BW__)
  return (Int16)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)bytes));
#elif defined(__AVX2__)
  return (Int16)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)bytes));
#else
  Int16 wide;
  for (i64 k = 0; k < kWords; ++k) wide[k] = bytes[k];
  return wide;
#endif
}

// sums of two neighbouring products
KG_INLINE Int32 word_products(Int16 x, Int16 c) {
#if defined(__AVX512BW__)
  return (Int32)_mm512_madd_epi16((__m512i)x, (__m512i)c);
#elif defined(__AVX2__)
  return (Int32)_mm256_madd_epi16((__m256i)x, (__m256i)c);
#else
  const Int32 a = (Int32)x, b = (Int32)c;
  return ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}

template <int kSize>
__attribute__((noinline)) void codes_by(const std::int8_t* __restrict one, const std::int8_t* __restrict two,
                                        i64 width, const std::int16_t* __restrict centres,
                                        std::int32_t* __restrict out, i64 stride) {
  const Int16* c = reinterpret_cast<const Int16*>(centres);
  Int32 sum[2][kSize];
#pragma GCC unroll 6
  for (int r = 0; r < kSize; ++r) sum[0][r] = sum[1][r] = Int32{};
  for (i64 k = 0; k < width; k += kWords, c += kSize) {
    const Int16 x = widened(one + k), y = widened(two + k);
#pragma GCC unroll 6
    for (int r = 0; r < kSize; ++r) {
      Int16 v = c[r];
      KG_FILTER_BOUNDS(v);
      sum[0][r] += word_products(x, v);
      sum[1][r] += word_products(y, v);
    }
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i)
#pragma GCC unroll 6
    for (int r = 0; r < kSize; ++r) out[i * stride + r] = sum_of<Int32, std::int32_t>(sum[i][r]);
}

void two_codes(const std::int8_t* one, const std::int8_t* two, i64 width, const std::int16_t* centres,
               i64 size, std::int32_t* out, i64 stride) {
  if (size == 4) return codes_by<4>(one, two, width, centres, out, stride);
  if (size == 5) return codes_by<5>(one, two, width, centres, out, stride);
  codes_by<6>(one, two, width, centres, out, stride);
}

template <class T> Rounded<T> round_row(const T* __restrict x, i64 ld, std::int8_t* __restrict codes) {
  constexpr T magic = sizeof(T) == 4 ? T(12582912.0) : T(6755399441055744.0);  // 1.5 * 2^23, 2^52
  T top = 0, left = 0;
#pragma omp simd reduction(max : top)
  for (i64 k = 0; k < ld; ++k) {
    const T size = x[k] < 0 ? -x[k] : x[k];
    top = size > top ? size : top;
  }
  const T up = kByte / top, scale = up < T(1e37) ? up : T(0), step = top / kByte;
#pragma omp simd reduction(+ : left)
  for (i64 k = 0; k < ld; ++k) {
    const T whole = (x[k] * scale + magic) - magic, off = x[k] - whole * step;
    left += off * off;
    codes[k] = static_cast<std::int8_t>(static_cast<std::int32_t>(whole));
  }
  return {step, left};
}

template <class T>
void scores(const T* __restrict dots, const T* __restrict half, i64 padded, T* __restrict out) {
#pragma omp simd
  for (i64 c = 0; c < padded; ++c) out[c] = 2 * (dots[c] - half[c]);
}

template <class T>
void code_scores(const std::int32_t* __restrict dots, const T* __restrict scale, T step,
                 const T* __restrict half, i64 padded, T* __restrict out) {
#pragma omp simd
  for (i64 c = 0; c < padded; ++c) out[c] = 2 * (static_cast<T>(dots[c]) * scale[c] * step - half[c]);
}

template <class T>
T lead(const T* __restrict scores, T own, const T* __restrict apart, const T* __restrict off, Doubt<T> doubt,
       i64 padded) {
  T least = std::numeric_limits<T>::infinity();
#pragma omp simd reduction(min : least)
  for (i64 c = 0; c < padded; ++c) {
    const T here = own - scores[c] - doubt.left * apart[c] - doubt.reach * off[c];
    least = here < least ? here : least;
  }
  return least;
}

template <class T> KG_INLINE T root(T x) {
  if constexpr (sizeof(T) == 4)
    return __builtin_sqrtf(x);
  else
    return __builtin_sqrt(x);
}

template <class T>
void bounds(const T* __restrict scores, T norm, const T* __restrict length, const T* __restrict off,
            Doubt<T> doubt, const T* __restrict drift, i64 padded, T* __restrict lower) {
  constexpr T eps = std::numeric_limits<T>::epsilon();
#pragma omp simd
  for (i64 c = 0; c < padded; ++c) {
    const T square = norm - scores[c] - doubt.left * length[c] - doubt.reach * off[c];
    const T low = root(square > 0 ? square : T(0)) * (1 - 8 * eps);
    lower[c] = low + drift[c] * (1 - 4 * eps);  // less than what rounding may add
  }
}

template <class T> T least(const T* __restrict lower, const T* __restrict drift, i64 padded) {
  T found = std::numeric_limits<T>::infinity();
#pragma omp simd reduction(min : found)
  for (i64 c = 0; c < padded; ++c) {
    const T here = lower[c] - drift[c];
    found = here < found ? here : found;
  }
  return found;
}

template <class T> constexpr SmallKLoops<T> table() {
  return {kBytes / i64(sizeof(T)), kWords,  two_rows<T>, two_codes, round_row<T>, scores<T>,
          code_scores<T>,          lead<T>, bounds<T>,   least<T>};
}

}  // namespace

namespace KG_VARIANT {
extern const SmallKLoops<float> small_k_f32;
extern const SmallKLoops<double> small_k_f64;
const SmallKLoops<float> small_k_f32 = table<float>();
const SmallKLoops<double> small_k_f64 = table<double>();
}  // namespace KG_VARIANT

}  // namespace kg
