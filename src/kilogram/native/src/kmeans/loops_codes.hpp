// Rows as bytes, and bytes as strips, for the candidate filter of k-means.
// Included only by kmeans/filter_loops.cpp, inside its anonymous namespace.

#if defined(__AVX512BW__)
// Eight quads of sixteen rows turned round; those of rows i and i + 8 lie in one vector.
KG_INLINE void turn(const std::uint8_t* const* codes, i64 at, std::uint8_t* out) {
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
  const __m512i high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  __m512i a[8], b[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const __m256i one = _mm256_loadu_si256((const __m256i*)(codes[i] + at));
    const __m256i two = _mm256_loadu_si256((const __m256i*)(codes[i + 8] + at));
    a[i] = _mm512_inserti64x4(_mm512_castsi256_si512(one), two, 1);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    _mm512_storeu_si512(out + i * 4 * kRows, _mm512_permutex2var_epi64(a[i], low, a[i + 4]));
    _mm512_storeu_si512(out + (i + 4) * 4 * kRows, _mm512_permutex2var_epi64(a[i], high, a[i + 4]));
  }
}
#elif defined(__AVX2__)
// eight quads of eight rows, each row's in one vector, turned round
KG_INLINE void turn(const std::uint8_t* const* codes, i64 at, std::uint8_t* out) {
  __m256i a[8], b[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) a[i] = _mm256_loadu_si256((const __m256i*)(codes[i] + at));
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm256_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_epi32(a[i], a[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    a[i] = _mm256_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm256_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm256_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    __m256i* to = (__m256i*)(out + i * 4 * kRows);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(a[i], a[i + 4], 0x20));
    to = (__m256i*)(out + (i + 4) * 4 * kRows);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(a[i], a[i + 4], 0x31));
  }
}
#endif

#if defined(__AVX2__)
void gather(const std::uint8_t* const* codes, i64 lines, std::uint8_t* strip) {
  for (i64 l = 0; l < lines; ++l)
    for (i64 v = 0; v < kTwo; ++v)
      turn(codes + v * kLanes, l * kLine, strip + l * kLine * kRows + v * kBytes);
}
#else
void gather(const std::uint8_t* const* codes, i64 lines, std::uint8_t* strip) {
  for (i64 i = 0; i < kRows; ++i)
    for (i64 q = 0; q < lines * kLine / 4; ++q)
      __builtin_memcpy(strip + (q * kRows + i) * 4, codes[i] + 4 * q, 4);
}
#endif

// As vector comparisons these take three instructions, and eight bytes out of eight numbers many more.
#if defined(__AVX512BW__)
KG_INLINE Float lesser(Float a, Float b) { return (Float)_mm512_min_ps((__m512)a, (__m512)b); }
KG_INLINE Float greater(Float a, Float b) { return (Float)_mm512_max_ps((__m512)a, (__m512)b); }
KG_INLINE void to_bytes(const Int32* whole, std::uint8_t* codes) {
  for (i64 v = 0; v < kLine / kLanes; ++v)
    _mm_storeu_si128((__m128i*)(codes + v * kLanes), _mm512_cvtepi32_epi8((__m512i)whole[v]));
}
#elif defined(__AVX2__)
KG_INLINE Float lesser(Float a, Float b) { return (Float)_mm256_min_ps((__m256)a, (__m256)b); }
KG_INLINE Float greater(Float a, Float b) { return (Float)_mm256_max_ps((__m256)a, (__m256)b); }
KG_INLINE void to_bytes(const Int32* whole, std::uint8_t* codes) {
  const __m256i low = _mm256_packs_epi32((__m256i)whole[0], (__m256i)whole[1]);
  const __m256i high = _mm256_packs_epi32((__m256i)whole[2], (__m256i)whole[3]);
  const __m256i mixed = _mm256_packus_epi16(low, high);  // within either half of the register
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256((__m256i*)codes, _mm256_permutevar8x32_epi32(mixed, order));
}
#else
KG_INLINE Float lesser(Float a, Float b) { return a < b ? a : b; }
KG_INLINE Float greater(Float a, Float b) { return a > b ? a : b; }
KG_INLINE void to_bytes(const Int32* whole, std::uint8_t* codes) {
  for (i64 k = 0; k < kLine; ++k) codes[k] = static_cast<std::uint8_t>(whole[k / kLanes][k % kLanes]);
}
#endif

// codes of a line; adds the squares of the codes, in steps, and of what they leave
KG_INLINE void encode_line(const float* x, float step, std::uint8_t* codes, Float& length, Float& left) {
  constexpr float magic = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded to a whole number
  const float scale = 1 / step;
  const Float top = Float{} + float(kGrain.row_code);
  Int32 whole[kLine / kLanes];
#pragma GCC unroll 8
  for (i64 k = 0; k < kLine; k += kLanes) {
    const Float here = *reinterpret_cast<const Float*>(x + k);
    Float v = lesser(greater(here * scale, -top), top);
    v = (v + magic) - magic;
    whole[k / kLanes] = __builtin_convertvector(v, Int32) + kGrain.middle;
    const Float off = here - v * step;
    length += v * v;
    left += off * off;
  }
  to_bytes(whole, codes);
}

Code encode(const float* __restrict x, i64 lines, std::uint8_t* __restrict codes) {
  const i64 chunk = 4 * kGrain.chunk(lines * kLine / 4);
  Float top{}, bottom{};
  float longest = 0, norm = 0;
  for (i64 k0 = 0; k0 < lines * kLine; k0 += chunk) {
    const i64 k1 = lines * kLine - k0 < chunk ? lines * kLine : k0 + chunk;
    Float squares{};
    for (i64 k = k0; k < k1; k += kLanes) {
      const Float here = *reinterpret_cast<const Float*>(x + k);
      top = greater(here, top);
      bottom = lesser(here, bottom);
      squares += here * here;
    }
    const float sum = sum_of<float>(squares);
    longest = sum > longest ? sum : longest;
    norm += sum;
  }
  top = greater(top, -bottom);
  float most = __builtin_sqrtf(longest) / kGrain.row_length;
  const float largest = folded<float>(top, [](auto a, auto b) { return a > b ? a : b; }) / kGrain.row_code;
  most = largest > most ? largest : most;
  const float step = most > 1e-36f ? most : 1.0f;  // less is nothing (kNegligible), and its inverse too large
  Float length{}, left{};
  for (i64 l = 0; l < lines; ++l) encode_line(x + l * kLine, step, codes + l * kLine, length, left);
  return {step, __builtin_sqrtf(sum_of<float>(length)) * step, __builtin_sqrtf(sum_of<float>(left)), norm};
}
