// exp, log and cos written so that a plain loop over them vectorises.
// Included only by simd/loops.cpp, inside that file's anonymous namespace: nothing here has linkage.
//
//   exp   x = n ln2 + r, |r| <= ln2/2;  e^r = 1 + r + r^2 g(r), g fitted at Chebyshev nodes; times 2^n.
//         Below the last normal number the result is exactly 0; above it, infinity.
//   cos   x = q pi/2 + r in three Cody-Waite parts, |x| <= kCosLimit; then the quadrant's polynomial.
//   log   x = 2^e m, m in [sqrt(1/2), sqrt 2); log m = 2 atanh((m-1)/(m+1)).
// NaN goes through all three: every comparison is written so that NaN takes the computed branch.

#define KG_INLINE static inline __attribute__((always_inline))

constexpr double kCosLimit = 1e5;

KG_INLINE double exp_(double x) {
  constexpr double low = -708.0, high = 709.8, magic = 6755399441055744.0;  // 1.5 * 2^52
  const double z = x * 1.4426950408889634 + magic;  // the integer n sits in z's low bits
  const double n = z - magic;
  double r = x - n * 0x1.62e42fee00000p-1;
  r = r - n * 0x1.a39ef35793c76p-33;
  double g = 2.51003854955103203e-08;
  g = g * r + 2.76200884454097462e-07;
  g = g * r + 2.75572684599970641e-06;
  g = g * r + 2.48015212959543761e-05;
  g = g * r + 1.98412698630536177e-04;
  g = g * r + 1.38888889172137167e-03;
  g = g * r + 8.33333333333006153e-03;
  g = g * r + 4.16666666666241289e-02;
  g = g * r + 1.66666666666666685e-01;
  g = g * r + 0.5;
  const double p = 1.0 + (r + r * r * g);
  const std::uint64_t bits = (__builtin_bit_cast(std::uint64_t, z) + 1023) << 52;
  double y = p * __builtin_bit_cast(double, bits);
  y = x < low ? 0.0 : y;  // beyond the ends y is anything, and replaced
  return x > high ? __builtin_inf() : y;
}

KG_INLINE float exp_(float x) {
  constexpr float low = -87.3f, high = 88.8f, magic = 12582912.0f;  // 1.5 * 2^23
  const float z = x * 1.44269504f + magic;
  const float n = z - magic;
  float r = x - n * 0x1.62e0000000000p-1f;
  r = r - n * 0x1.0bfbe8e7bcd5ep-15f;
  float g = 1.39261835877134942e-03f;
  g = g * r + 8.36317905272257814e-03f;
  g = g * r + 4.16665546172045737e-02f;
  g = g * r + 1.66665769896987753e-01f;
  g = g * r + 0.5f;
  const float p = 1.0f + (r + r * r * g);
  const std::uint32_t bits = (__builtin_bit_cast(std::uint32_t, z) + 127u) << 23;
  float y = p * __builtin_bit_cast(float, bits);
  y = x < low ? 0.0f : y;
  return x > high ? __builtin_inff() : y;
}

KG_INLINE double log_(double x) {  // x positive and normal, which is all the kernels ask for
  const std::uint64_t u = __builtin_bit_cast(std::uint64_t, x);
  // Adding this constant carries into the exponent exactly when the mantissa exceeds sqrt 2.
  const std::uint64_t w = u + 0x00095f619980c433ull;
  const std::uint64_t e = w >> 52;  // biased exponent of the nearer power of two
  const std::uint64_t m_bits = u - ((e - 1023) << 52);
  // Exponent to double by the magic-number route, which every vector unit has.
  const double ed =
      __builtin_bit_cast(double, 0x4330000000000000ull | e) - (4503599627370496.0 + 1023.0);
  const double m = __builtin_bit_cast(double, m_bits);
  const double f = (m - 1.0) / (m + 1.0), z = f * f;
  double g = 1.30880348509275546e-01;
  g = g * z + 1.32686383692668247e-01;
  g = g * z + 1.53862447376216654e-01;
  g = g * z + 1.81817955475211374e-01;
  g = g * z + 2.22222223925810453e-01;
  g = g * z + 2.85714285707997839e-01;
  g = g * z + 4.00000000000008848e-01;
  g = g * z + 6.66666666666666630e-01;
  const double y = ed * 6.93147180369123816490e-01 +
                   (2.0 * f + (f * (z * g) + ed * 1.90821492927058770002e-10));
  return x == x ? y : x;
}

KG_INLINE float log_(float x) { return static_cast<float>(log_(static_cast<double>(x))); }

KG_INLINE double cos_(double x) {
  constexpr double magic = 6755399441055744.0;
  const double z = x * 0.63661977236758134 + magic;
  const double q = z - magic;
  double r = x - q * 0x1.921fb54400000p+0;
  r = r - q * 0x1.0b4611a600000p-34;
  r = r - q * 0x1.3198a2e037073p-69;
  const double s = r * r;
  double a = 1.59181012302741205e-10;
  a = a * s - 2.50511314554279461e-08;
  a = a * s + 2.75573161006830287e-06;
  a = a * s - 1.98412698367549713e-04;
  a = a * s + 8.33333333333094624e-03;
  a = a * s - 1.66666666666666657e-01;
  const double sine = r + r * s * a;
  double c = -1.13826148685563245e-11;
  c = c * s + 2.08761460246897470e-09;
  c = c * s - 2.75573172705603264e-07;
  c = c * s + 2.48015872987634326e-05;
  c = c * s - 1.38888888888873954e-03;
  c = c * s + 4.16666666666666644e-02;
  const double cosine = 1.0 - (0.5 * s - s * s * c);
  const std::uint64_t quadrant = __builtin_bit_cast(std::uint64_t, z);
  const std::uint64_t odd = 0 - (quadrant & 1);  // all ones where the sine polynomial is wanted
  const std::uint64_t sign = ((quadrant + 1) & 2) << 62;
  const std::uint64_t y = (__builtin_bit_cast(std::uint64_t, sine) & odd) |
                          (__builtin_bit_cast(std::uint64_t, cosine) & ~odd);
  return __builtin_bit_cast(double, y ^ sign);
}

KG_INLINE float cos_(float x) {
  constexpr float magic = 12582912.0f;
  const float z = x * 0.636619772f + magic;
  const float q = z - magic;
#ifdef __FMA__
  // Each step is exact but the last: q has 17 bits and x - q pi/2 lies on the grid of q's product.
  float r = __builtin_fmaf(-q, 0x1.921fb6p+0f, x);
  r = __builtin_fmaf(-q, -0x1.777a5cp-25f, r);
  r = __builtin_fmaf(-q, -0x1.ee59dap-50f, r);
#else
  const float r = static_cast<float>(static_cast<double>(x) -
                                     static_cast<double>(q) * 1.5707963267948966);
#endif
  const float s = r * r;
  float a = -1.95878405213053240e-04f;
  a = a * s + 8.33274803751714657e-03f;
  a = a * s - 1.66666646611148384e-01f;
  const float sine = r + r * s * a;
  float c = 2.45478916198138600e-05f;
  c = c * s - 1.38883028023091613e-03f;
  c = c * s + 4.16666646583004202e-02f;
  const float cosine = 1.0f - (0.5f * s - s * s * c);
  const std::uint32_t quadrant = __builtin_bit_cast(std::uint32_t, z);
  const std::uint32_t odd = 0u - (quadrant & 1u);
  const std::uint32_t sign = ((quadrant + 1u) & 2u) << 30;
  const std::uint32_t y = (__builtin_bit_cast(std::uint32_t, sine) & odd) |
                          (__builtin_bit_cast(std::uint32_t, cosine) & ~odd);
  return __builtin_bit_cast(float, y ^ sign);
}
