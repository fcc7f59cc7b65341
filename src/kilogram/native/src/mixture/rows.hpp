// The rows of a block on their way to the loops of mixtures: all of them, or those that count.
// Included only by mixture/loops.cpp, inside its anonymous namespace.

template <class T> struct Four {  // a row or a column of a tile that is turned
  typedef T type __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
  typedef decltype(type{} < type{}) order;
};

#if defined(__clang__)
#define KG_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define KG_MIX(a, b, ...) __builtin_shuffle(a, b, (typename Four<T>::order){__VA_ARGS__})
#endif

// x[k][row] = X(row, k) - shift[k] of four rows and four columns, both next to each other in memory
template <class T> KG_INLINE void turn(const T* X, i64 rs, const T* shift, T* x, i64 ld) {
  typedef typename Four<T>::type V;
  const auto row = [&](i64 r) { return reinterpret_cast<const V*>(X + r * rs); };
  const auto put = [&](i64 k, const V& v) { *reinterpret_cast<V*>(x + k * ld) = v - shift[k]; };
  const V a = *row(0), b = *row(1), c = *row(2), d = *row(3);
  if constexpr (sizeof(T) == 4) {
    const V p = KG_MIX(a, b, 0, 4, 1, 5), q = KG_MIX(a, b, 2, 6, 3, 7);
    const V r = KG_MIX(c, d, 0, 4, 1, 5), s = KG_MIX(c, d, 2, 6, 3, 7);
    put(0, KG_MIX(p, r, 0, 1, 4, 5));
    put(1, KG_MIX(p, r, 2, 3, 6, 7));
    put(2, KG_MIX(q, s, 0, 1, 4, 5));
    put(3, KG_MIX(q, s, 2, 3, 6, 7));
  } else {
    const V p = KG_MIX(a, b, 0, 4, 2, 6), q = KG_MIX(a, b, 1, 5, 3, 7);
    const V r = KG_MIX(c, d, 0, 4, 2, 6), s = KG_MIX(c, d, 1, 5, 3, 7);
    put(0, KG_MIX(p, r, 0, 1, 4, 5));
    put(1, KG_MIX(q, s, 0, 1, 4, 5));
    put(2, KG_MIX(p, r, 2, 3, 6, 7));
    put(3, KG_MIX(q, s, 2, 3, 6, 7));
  }
}

template <class T>
void load(const T* X, i64 rows, i64 d, i64 rs, i64 cs, const T* shift, i64 padded, i64 columns, T* x,
          i64 ld) {
  constexpr i64 together = 16;  // rows whose lines stay in L1 while the columns go by
  for (i64 i = 0; i < rows; i += together) {
    const i64 last = i + together < rows ? i + together : rows;
    const i64 whole = cs == 1 ? (last - i) / 4 * 4 + i : i, turned = whole > i ? d / 4 * 4 : 0;
    for (i64 k = 0; k < turned; k += 4)
      for (i64 r = i; r < whole; r += 4) turn<T>(X + r * rs + k, rs, shift + k, x + k * ld + r, ld);
    for (i64 k = 0; k < d; ++k)
      for (i64 r = k < turned ? whole : i; r < last; ++r)
        x[k * ld + r] = X[r * rs + k * cs] - shift[k];
  }
  for (i64 k = 0; k < columns; ++k)
    for (i64 r = k < d ? rows : 0; r < padded; ++r) x[k * ld + r] = T(0);
}

// Lanes of a vector, one bit for each (for every four bytes of it below 512-bit vectors), and the
// vector of those lanes next to each other, with anything after them.
#if defined(__AVX512F__)
KG_INLINE std::uint32_t bits_above(const float* r, float least) {
  return _mm512_cmp_ps_mask(_mm512_loadu_ps(r), _mm512_set1_ps(least), _CMP_GT_OQ);
}
KG_INLINE std::uint32_t bits_above(const double* r, double least) {
  return _mm512_cmp_pd_mask(_mm512_loadu_pd(r), _mm512_set1_pd(least), _CMP_GT_OQ);
}
template <class T> KG_INLINE i64 lanes_of(std::uint32_t bits) { return __builtin_popcount(bits); }
typedef std::uint32_t Picked;
KG_INLINE Picked picked(std::uint32_t bits) { return bits; }
KG_INLINE void pick(const float* from, Picked bits, float* to) {
  _mm512_storeu_ps(to, _mm512_maskz_compress_ps((__mmask16)bits, _mm512_loadu_ps(from)));
}
KG_INLINE void pick(const double* from, Picked bits, double* to) {
  _mm512_storeu_pd(to, _mm512_maskz_compress_pd((__mmask8)bits, _mm512_loadu_pd(from)));
}
#elif defined(__AVX2__)
KG_INLINE std::uint32_t bits_above(const float* r, float least) {
  return _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(r), _mm256_set1_ps(least), _CMP_GT_OQ));
}
KG_INLINE std::uint32_t bits_above(const double* r, double least) {
  return _mm256_movemask_ps(_mm256_castpd_ps(
      _mm256_cmp_pd(_mm256_loadu_pd(r), _mm256_set1_pd(least), _CMP_GT_OQ)));
}
template <class T> KG_INLINE i64 lanes_of(std::uint32_t bits) {
  return __builtin_popcount(bits) * 4 / i64(sizeof(T));
}
struct Orders {  // of eight places, a byte each: those of the bits that are set come first
  std::uint64_t of[256];
  constexpr Orders() : of() {
    for (int bits = 0; bits < 256; ++bits) {
      int count = 0;
      for (int b = 0; b < 8; ++b)
        if (bits >> b & 1) of[bits] |= std::uint64_t(b) << (8 * count++);
    }
  }
};
constexpr Orders kOrders;
typedef __m256i Picked;
KG_INLINE Picked picked(std::uint32_t bits) {
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)kOrders.of[bits]));
}
KG_INLINE void pick(const float* from, Picked order, float* to) {
  _mm256_storeu_ps(to, _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), order));
}
KG_INLINE void pick(const double* from, Picked order, double* to) {
  pick(reinterpret_cast<const float*>(from), order, reinterpret_cast<float*>(to));
}
#else
template <class T> KG_INLINE std::uint32_t bits_above(const T* r, T least) {
  std::uint32_t bits = 0;
  for (i64 l = 0; l < kLanes<T>; ++l) bits |= std::uint32_t(r[l] > least) << l;
  return bits;
}
template <class T> KG_INLINE i64 lanes_of(std::uint32_t bits) { return __builtin_popcount(bits); }
typedef std::uint32_t Picked;
KG_INLINE Picked picked(std::uint32_t bits) { return bits; }
template <class T> KG_INLINE void pick(const T* from, Picked bits, T* to) {
  for (i64 l = 0; l < kLanes<T>; ++l)
    if (bits >> l & 1) *to++ = from[l];
}
#endif

template <class T> i64 above(const T* r, i64 rows, T least, Kept* kept, i64* vectors) {
  i64 count = 0, n = 0;
  for (i64 i = 0; i < rows; i += kLanes<T>) {
    const std::uint32_t bits = bits_above(r + i, least);
    kept[n] = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(count), bits};
    n += bits != 0;
    count += lanes_of<T>(bits);
  }
  *vectors = n;
  return count;
}

template <class T, int C>
__attribute__((noinline)) void gather_columns(const T* x, i64 ld, const Kept* kept, i64 vectors,
                                              i64 count, T* z) {
  for (i64 e = 0; e < vectors; ++e) {
    const Picked by = picked(kept[e].bits);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) pick(x + c * ld + kept[e].row, by, z + c * ld + kept[e].to);
  }
  for (int c = 0; c < C; ++c)
    *reinterpret_cast<typename Lanes<T>::type*>(z + c * ld + count) = typename Lanes<T>::type{};
}

template <class T>
void gather(const T* x, i64 ld, const Kept* kept, i64 vectors, i64 count, i64 d, T* z) {
  i64 k = 0;
  for (; k + 4 <= d; k += 4) gather_columns<T, 4>(x + k * ld, ld, kept, vectors, count, z + k * ld);
  for (; k < d; ++k) gather_columns<T, 1>(x + k * ld, ld, kept, vectors, count, z + k * ld);
}
