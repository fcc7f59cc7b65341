// Loops of the candidate filter of k-means; compiled once per instruction set, see simd/loops.cpp for the rules.
// The lanes are rows, two vectors of them against four centres: products of bytes are summed in pairs
// to 16 bits (modulo 2^16: only the whole sum has to fit) and those to 32 bits once a chunk. Where the
// machine sums four of them to 32 bits at once, there is one chunk, and codes have a bit more.
#include "kmeans/filter_loops.hpp"
#include "simd/loops.hpp"
#include "simd/vectors.hpp"

namespace kg {
namespace {

#if defined(__AVX512VNNI__)
constexpr Grain kGrain = kSums32;
#else
constexpr Grain kGrain = kSums16;
#endif
constexpr int kTwo = 2;  // vectors of rows of a strip
constexpr i64 kLanes = kBytes / 4;  // rows of a vector
constexpr i64 kRows = kTwo * kLanes;

typedef std::int8_t Int8 __attribute__((vector_size(kBytes), aligned(4), may_alias));
typedef std::int16_t Int16 __attribute__((vector_size(kBytes), aligned(4), may_alias));
typedef std::int32_t Int32 __attribute__((vector_size(kBytes), aligned(4), may_alias));
typedef float Float __attribute__((vector_size(kBytes), aligned(4), may_alias));

#define KG_INLINE static inline __attribute__((always_inline))

KG_INLINE Float at(const float* p, int vector) {
  return *reinterpret_cast<const Float*>(p + vector * kLanes);
}

template <class S, class V> KG_INLINE S sum_of(V v) {
  return folded<S>(v, [](auto a, auto b) { return a + b; });
}

// sums of two neighbouring products, unsigned by signed bytes
KG_INLINE Int16 byte_products(Int8 x, Int8 c) {
#if defined(__AVX512BW__)
  return (Int16)_mm512_maddubs_epi16((__m512i)x, (__m512i)c);
#elif defined(__AVX2__)
  return (Int16)_mm256_maddubs_epi16((__m256i)x, (__m256i)c);
#else
  Int16 sum;
  for (int i = 0; i < kBytes / 2; ++i)
    sum[i] = static_cast<std::int16_t>(static_cast<std::uint8_t>(x[2 * i]) * c[2 * i] +
                                       static_cast<std::uint8_t>(x[2 * i + 1]) * c[2 * i + 1]);
  return sum;
#endif
}

// sums of two neighbours, in 32 bits
KG_INLINE Int32 widened(Int16 v) {
#if defined(__AVX512BW__)
  return (Int32)_mm512_madd_epi16((__m512i)v, _mm512_set1_epi16(1));
#elif defined(__AVX2__)
  return (Int32)_mm256_madd_epi16((__m256i)v, _mm256_set1_epi16(1));
#else
  const Int32 both = (Int32)v;
  return ((both << 16) >> 16) + (both >> 16);
#endif
}

// the signs of the lanes
KG_INLINE unsigned signs(Int32 mask) {
#if defined(__AVX512BW__)
  return _mm512_movepi32_mask((__m512i)mask);
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_ps((__m256)mask));
#else
  unsigned found = 0;
  for (i64 i = 0; i < kLanes; ++i) found |= static_cast<unsigned>(mask[i] < 0) << i;
  return found;
#endif
}

// out[centre][vector] = <X, G> of one strip and one block of centres; kMany: more than one chunk
#if defined(__AVX512VNNI__)
template <bool kMany>
KG_INLINE void products(const std::uint8_t* x, i64 quads, const std::int8_t* c, Float out[kBlockCentres][kTwo]) {
  __m512i sum[kBlockCentres][kTwo];
#pragma GCC unroll 4
  for (int r = 0; r < kBlockCentres; ++r)
    sum[r][0] = sum[r][1] = _mm512_set1_epi32(reinterpret_cast<const std::int32_t*>(c)[r]);
  c += 4 * kBlockCentres;
  for (i64 q = 0; q < quads; ++q, x += kTwo * kBytes, c += 4 * kBlockCentres) {
    const __m512i x0 = _mm512_loadu_si512(x), x1 = _mm512_loadu_si512(x + kBytes);
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r) {
      const __m512i quad = _mm512_set1_epi32(reinterpret_cast<const std::int32_t*>(c)[r]);
      sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], x0, quad);
      sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], x1, quad);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kBlockCentres; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kTwo; ++v) out[r][v] = (Float)_mm512_cvtepi32_ps(sum[r][v]);
}
#else
template <bool kMany>
KG_INLINE void products(const std::uint8_t* x, i64 quads, const std::int8_t* c, Float out[kBlockCentres][kTwo]) {
  Int32 total[kBlockCentres][kTwo];
  for (i64 q0 = 0; q0 < (kMany ? quads : 1); q0 += kGrain.many_chunks) {
    const i64 q1 = kMany && quads - q0 > kGrain.many_chunks ? kGrain.many_chunks : quads - q0;
    Int16 sum[kBlockCentres][kTwo];
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r)
      sum[r][0] = sum[r][1] = (Int16)(Int32{} + reinterpret_cast<const std::int32_t*>(c)[r]);
    c += 4 * kBlockCentres;
    for (i64 q = 0; q < q1; ++q, x += kTwo * kBytes, c += 4 * kBlockCentres) {
      const Int8 x0 = *reinterpret_cast<const Int8*>(x), x1 = *reinterpret_cast<const Int8*>(x + kBytes);
#pragma GCC unroll 4
      for (int r = 0; r < kBlockCentres; ++r) {
        const Int8 quad = (Int8)(Int32{} + reinterpret_cast<const std::int32_t*>(c)[r]);
        sum[r][0] += byte_products(x0, quad);
        sum[r][1] += byte_products(x1, quad);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < kTwo; ++v)
        total[r][v] = kMany && q0 ? total[r][v] + widened(sum[r][v]) : widened(sum[r][v]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kBlockCentres; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kTwo; ++v) out[r][v] = __builtin_convertvector(total[r][v], Float);
}
#endif

constexpr i64 block_bytes(i64 quads) {
  return 4 * kBlockCentres * (quads + (quads + kGrain.chunk(quads) - 1) / kGrain.chunk(quads));
}

constexpr int kWords = (kBlockCentres * kRows + 63) / 64;
constexpr unsigned kAll = (1u << kLanes) - 1;

// Which pairs of a block are not below zero, as bits [centre][row]; all are numbers, so the signs tell.
KG_INLINE void to_bits(const Float f[kBlockCentres][kTwo], std::uint64_t* found) {
#pragma GCC unroll 2
  for (int w = 0; w < kWords; ++w) found[w] = 0;
#pragma GCC unroll 4
  for (int r = 0; r < kBlockCentres; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kTwo; ++v) {
      const i64 at = r * kRows + v * kLanes;
      found[at / 64] |= static_cast<std::uint64_t>(signs((Int32)f[r][v]) ^ kAll) << (at % 64);
    }
}

// The pairs of a block whose bits are set, but for a row's own; how many.
KG_INLINE i64 to_pairs(const std::uint64_t* found, i64 block, const std::int32_t* own, Pair* out) {
  i64 pairs = 0;
  for (int w = 0; w < kWords; ++w)
    for (std::uint64_t word = found[w]; word; word &= word - 1) {
      const i64 at = w * 64 + __builtin_ctzll(word), row = at % kRows;
      const auto place = static_cast<std::int32_t>(block * kBlockCentres + at / kRows);
      out[pairs] = {place, static_cast<std::int32_t>(row)};
      pairs += place != own[row];
    }
  return pairs;
}

// scale <X, G> + reach spread - half inverse - least of a strip and block b, plus radius upper of groups
template <bool kMany, bool kGroups>
KG_INLINE void reached(const std::uint8_t* x, const CodedBlocks& c, i64 quads, i64 size, i64 b,
                       const StripLimits& l, Float f[kBlockCentres][kTwo]) {
  products<kMany>(x, quads, c.codes + b * size, f);
  const float *scale = c.scale + b * kBlockCentres, *reach = c.reach + b * kBlockCentres, *half = c.half + b * kBlockCentres;
#pragma GCC unroll 4
  for (int r = 0; r < kBlockCentres; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kTwo; ++v) {
      const Float needed = half[r] * at(l.inverse, v) + at(l.least, v);
      f[r][v] = f[r][v] * scale[r] + (reach[r] * at(l.spread, v) - needed);
      if (kGroups) f[r][v] += c.radius[b * kBlockCentres + r] * at(l.upper, v);
    }
}

// The first of the blocks listed, from the l-th on, that has a pair which may be near enough, and which
// pairs; `count` if there is none. Not inlined: the sums need the registers.
template <bool kMany>
__attribute__((noinline)) i64 next_near(const std::uint8_t* __restrict x, const CodedBlocks& c,
                                        const std::int32_t* __restrict listed, i64 l, i64 count,
                                        const StripLimits& limits, std::uint64_t* __restrict found) {
  const i64 quads = c.quads, size = block_bytes(quads);
  for (; l < count; ++l) {
    Float f[kBlockCentres][kTwo];
    Int32 below = Int32{} - 1;
    reached<kMany, false>(x, c, quads, size, listed[l], limits, f);
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r) below &= (Int32)f[r][0] & (Int32)f[r][1];
    if (__builtin_expect(signs(below) == kAll, 1)) continue;
    to_bits(f, found);
    return l;
  }
  return count;
}

template <bool kMany>
__attribute__((noinline)) void open_groups(const std::uint8_t* __restrict x, const CodedBlocks& c,
                                           const StripLimits& limits, std::uint8_t* __restrict open) {
  const i64 quads = c.quads, size = block_bytes(quads);
  for (i64 b = 0; b < c.blocks; ++b, open += kBlockCentres) {
    Float f[kBlockCentres][kTwo];
    reached<kMany, true>(x, c, quads, size, b, limits, f);
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r) open[r] = signs((Int32)f[r][0] & (Int32)f[r][1]) != kAll;
  }
}

void gate(const std::uint8_t* strip, const CodedBlocks& groups, const StripLimits& limits,
          std::uint8_t* open) {
  const auto all = groups.quads > kGrain.one_chunk ? open_groups<true> : open_groups<false>;
  all(strip, groups, limits, open);
}

i64 sift(const std::uint8_t* strip, const CodedBlocks& centres, const std::int32_t* listed, i64 count,
         const StripLimits& limits, const std::int32_t* own, Pair* out) {
  const auto next = centres.quads > kGrain.one_chunk ? next_near<true> : next_near<false>;
  std::uint64_t found[kWords];
  i64 pairs = 0;
  for (i64 l = 0; (l = next(strip, centres, listed, l, count, limits, found)) < count; ++l)
    pairs += to_pairs(found, listed[l], own, out + pairs);
  return pairs;
}

#include "kmeans/loops_codes.hpp"
#include "kmeans/loops_scores.hpp"

template <class T>
__attribute__((noinline)) void distances(const T* __restrict rows, const T* __restrict centres, i64 ld,
                                         const Pair* __restrict pairs, i64 count,
                                         T* __restrict out) {
  typedef typename Wide<T>::type V;
  constexpr i64 W = kBytes / i64(sizeof(T));
  for (i64 p = 0; p < count; ++p) {
    const V *x = reinterpret_cast<const V*>(rows + pairs[p].row * ld),
            *c = reinterpret_cast<const V*>(centres + pairs[p].place * ld);
    V sums[4] = {V{}, V{}, V{}, V{}};
    i64 k = 0;
    for (; k + 3 < ld / W; k += 4)
#pragma GCC unroll 4
      for (i64 j = 0; j < 4; ++j) {
        const V off = x[k + j] - c[k + j];
        sums[j] += off * off;
      }
    for (; k < ld / W; ++k) sums[k % 4] += (x[k] - c[k]) * (x[k] - c[k]);
    const V one = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    out[p] = sum_of<T>(one);
  }
}

template <class T>
double lowered(const T* __restrict near, const double* __restrict w, i64 n, T* __restrict away) {
  double sum = 0;
  if (w) {
#pragma omp simd reduction(+ : sum)
    for (i64 i = 0; i < n; ++i) {
      away[i] = away[i] < near[i] ? away[i] : near[i];
      sum += w[i] * static_cast<double>(away[i]);
    }
  } else {
#pragma omp simd reduction(+ : sum)
    for (i64 i = 0; i < n; ++i) {
      away[i] = away[i] < near[i] ? away[i] : near[i];
      sum += static_cast<double>(away[i]);
    }
  }
  return sum;
}

template <class T> constexpr PairLoops<T> pair_table() {
  return {kBytes / i64(sizeof(T)), distances<T>, lowered<T>};
}

}  // namespace

namespace KG_VARIANT {
extern const FilterLoops filter;
extern const PairLoops<float> pairs_f32;
extern const PairLoops<double> pairs_f64;
#if defined(__AVX2__)
constexpr bool kFast = true;
#else
constexpr bool kFast = false;
#endif
const FilterLoops filter = {kGrain, kRows, kFast, encode, gather, score, best, sure, pick, bounds, below, raise,
                          gate, sift};
const PairLoops<float> pairs_f32 = pair_table<float>();
const PairLoops<double> pairs_f64 = pair_table<double>();
}  // namespace KG_VARIANT

}  // namespace kg
