// Sums over the columns of two rows, abandoned once they exceed a bound; compiled once per instruction
// set, see simd/loops.cpp for the rules. Differences are taken in float64: nothing cancels.
#include "neighbors/loops.hpp"

#include "simd/vectors.hpp"

extern "C" double pow(double, double) noexcept;

namespace kg {
namespace {

constexpr i64 kPiece = 64;  // columns between two looks at the bound

struct Square {
  static double of(double u, double) { return u * u; }
};
struct Size {
  static double of(double u, double) { return u < 0 ? -u : u; }
};
struct Power {
  static double of(double u, double p) { return pow(u < 0 ? -u : u, p); }
};
struct Unequal {
  static double of(double u, double) { return u != 0 ? 1.0 : 0.0; }
};

template <class Op, class T>
double piece(const T* x, const T* y, i64 d, double p) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (i64 k = 0; k < d; ++k) sum += Op::of(static_cast<double>(x[k]) - static_cast<double>(y[k]), p);
  return sum;
}

template <class Op, class T>
double sum_of(const T* x, const T* y, i64 d, double p, double bound) {
  double total = 0;
  for (i64 k = 0; k < d && !(total > bound); k += kPiece)
    total += piece<Op>(x + k, y + k, d - k < kPiece ? d - k : kPiece, p);
  return total;
}

template <class T> double largest(const T* x, const T* y, i64 d, double bound) {
  double most = 0;
  for (i64 a = 0; a < d && !(most > bound); a += kPiece) {
    const i64 b = d - a < kPiece ? d : a + kPiece;
#pragma omp simd reduction(max : most)
    for (i64 k = a; k < b; ++k) {
      const double u = static_cast<double>(x[k]) - static_cast<double>(y[k]);
      const double size = u < 0 ? -u : u;
      most = size > most ? size : most;
    }
  }
  return most;
}

// Mean over the columns that both rows know (not NaN); rows that share none are at distance 1.
// Not abandoned early: what is left may lower the mean.
template <class T> double gower(const T* x, const T* y, i64 d, i64 numbers) {
  double sum = 0, known = 0;
#pragma omp simd reduction(+ : sum, known)
  for (i64 k = 0; k < numbers; ++k) {
    const double u = static_cast<double>(x[k]) - static_cast<double>(y[k]);
    const double both = u == u ? 1.0 : 0.0;
    sum += both != 0 ? (u < 0 ? -u : u) : 0.0;
    known += both;
  }
#pragma omp simd reduction(+ : sum, known)
  for (i64 k = numbers; k < d; ++k) {
    const double u = static_cast<double>(x[k]) - static_cast<double>(y[k]);
    const double both = u == u ? 1.0 : 0.0;
    sum += both != 0 && u != 0 ? 1.0 : 0.0;
    known += both;
  }
  return known > 0 ? sum / known : 1.0;
}

template <class T>
void distances(const Metric& m, const T* x, const T* Y, i64 rows, i64 d, double bound, double* out) {
  for (i64 i = 0; i < rows; ++i) {
    const T* y = Y + i * d;
    switch (m.kind) {
      case kSquares: out[i] = sum_of<Square>(x, y, d, m.p, bound); break;
      case kCityBlock: out[i] = sum_of<Size>(x, y, d, m.p, bound); break;
      case kLargest: out[i] = largest(x, y, d, bound); break;
      case kPowers: out[i] = sum_of<Power>(x, y, d, m.p, bound); break;
      case kUnequal: out[i] = sum_of<Unequal>(x, y, d, m.p, bound); break;
      default: out[i] = gower(x, y, d, m.numbers);
    }
  }
}

// A number of words known to the compiler: no loop over them is left.
template <i64 words>
void differing(const std::uint64_t* codes, i64 n, const std::uint64_t* q, std::uint16_t* out) {
  for (i64 i = 0; i < n; ++i) {
    i64 bits = 0;
#pragma GCC unroll 8
    for (i64 w = 0; w < words; ++w) bits += __builtin_popcountll(codes[i * words + w] ^ q[w]);
    out[i] = static_cast<std::uint16_t>(bits);
  }
}

void differences(const std::uint64_t* codes, i64 n, i64 words, const std::uint64_t* q,
                 std::uint16_t* out) {
  if (words == 1) return differing<1>(codes, n, q, out);
  if (words == 2) return differing<2>(codes, n, q, out);
  if (words == 4) return differing<4>(codes, n, q, out);
  if (words == 8) return differing<8>(codes, n, q, out);
  for (i64 i = 0; i < n; ++i) {
    int bits = 0;
    for (i64 w = 0; w < words; ++w) bits += __builtin_popcountll(codes[i * words + w] ^ q[w]);
    out[i] = static_cast<std::uint16_t>(bits);
  }
}

// a bit for every lane where a <= b
template <class T>
static inline __attribute__((always_inline)) std::uint32_t lanes_at_most(typename Wide<T>::type a,
                                                                         typename Wide<T>::type b) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(T) == 4) return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ);
  else return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LE_OQ);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LE_OQ)));
  else return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LE_OQ)));
#else
  std::uint32_t bits = 0;
  for (unsigned l = 0; l < kBytes / sizeof(T); ++l) bits |= static_cast<std::uint32_t>(a[l] <= b[l]) << l;
  return bits;
#endif
}

template <class T>
i64 places_at_least(const T* v, const T* less, i64 n, T least, std::int32_t* at) {
  typedef typename Wide<T>::type V;
  constexpr i64 W = kBytes / sizeof(T), step = 2 * W;  // at most 32 bits
  const V bound = V{} + least;
  i64 found = 0, i = 0;
  for (; i + step <= n; i += step) {
    const V a = *reinterpret_cast<const V*>(v + i) - *reinterpret_cast<const V*>(less + i);
    const V b = *reinterpret_cast<const V*>(v + i + W) - *reinterpret_cast<const V*>(less + i + W);
    std::uint32_t bits = lanes_at_most<T>(bound, a) | lanes_at_most<T>(bound, b) << W;
    for (; bits; bits &= bits - 1) at[found++] = static_cast<std::int32_t>(i + __builtin_ctz(bits));
  }
  for (; i < n; ++i)
    if (v[i] - less[i] >= least) at[found++] = static_cast<std::int32_t>(i);
  return found;
}

struct Sum {
  template <class V> static V both(V a, V b) { return a + b; }
};
struct Largest {
  template <class V> static V both(V a, V b) { return a > b ? a : b; }
};

// What a difference that is not negative adds.
struct Squared {
  template <class V> static V of(V u, double) { return u * u; }
};
struct Itself {
  template <class V> static V of(V u, double) { return u; }
};
struct Raised {
  template <class V> static V of(V u, double p) {
    for (unsigned l = 0; l < sizeof(V) / sizeof(double); ++l) u[l] = pow(u[l], p);
    return u;
  }
};

typedef Wide<double>::type Lanes;
constexpr i64 kWide = kBytes / sizeof(double);
constexpr i64 kGroup = 4;  // vectors side by side: sums that do not wait for each other

template <class Op, class Join>
std::uint32_t point_distances(const double* points, i64 d, const double* q, double p, double bound, double* out) {
  std::uint32_t bits = 0;
  for (i64 a = 0; a < kLeaf; a += kGroup * kWide) {
    Lanes sum[kGroup] = {};
    for (i64 k = 0; k < d; ++k) {
      const double* x = points + k * kLeaf + a;
#pragma GCC unroll 4
      for (i64 g = 0; g < kGroup; ++g) {
        const Lanes u = *reinterpret_cast<const Lanes*>(x + g * kWide) - q[k];
        sum[g] = Join::both(sum[g], Op::of(u < 0 ? -u : u, p));
      }
    }
#pragma GCC unroll 4
    for (i64 g = 0; g < kGroup; ++g) {
      *reinterpret_cast<Lanes*>(out + a + g * kWide) = sum[g];
      bits |= lanes_at_most<double>(sum[g], Lanes{} + bound) << (a + g * kWide);
    }
  }
  return bits;
}

template <class Op, class Join>
std::uint32_t box_distances(const double* boxes, i64 d, const double* q, double p, double bound, double* out) {
  std::uint32_t bits = 0;
  for (i64 a = 0; a < kFan; a += kWide) {
    Lanes sum = {};
    for (i64 k = 0; k < d; ++k) {
      const Lanes below = *reinterpret_cast<const Lanes*>(boxes + k * kFan + a) - q[k];
      const Lanes above = q[k] - *reinterpret_cast<const Lanes*>(boxes + (d + k) * kFan + a);
      const Lanes outside = below > above ? below : above;
      sum = Join::both(sum, Op::of(outside > 0 ? outside : Lanes{}, p));
    }
    *reinterpret_cast<Lanes*>(out + a) = sum;
    bits |= lanes_at_most<double>(sum, Lanes{} + bound) << a;
  }
  return bits;
}

std::uint32_t tree_points(const Metric& m, const double* points, i64 d, const double* q, double bound, double* out) {
  switch (m.kind) {
    case kSquares: return point_distances<Squared, Sum>(points, d, q, m.p, bound, out);
    case kCityBlock: return point_distances<Itself, Sum>(points, d, q, m.p, bound, out);
    case kLargest: return point_distances<Itself, Largest>(points, d, q, m.p, bound, out);
    default: return point_distances<Raised, Sum>(points, d, q, m.p, bound, out);
  }
}

std::uint32_t tree_boxes(const Metric& m, const double* boxes, i64 d, const double* q, double bound, double* out) {
  switch (m.kind) {
    case kSquares: return box_distances<Squared, Sum>(boxes, d, q, m.p, bound, out);
    case kCityBlock: return box_distances<Itself, Sum>(boxes, d, q, m.p, bound, out);
    case kLargest: return box_distances<Itself, Largest>(boxes, d, q, m.p, bound, out);
    default: return box_distances<Raised, Sum>(boxes, d, q, m.p, bound, out);
  }
}

}  // namespace

namespace KG_VARIANT {
extern const NeighborLoops<float> neighbors_f32;
extern const NeighborLoops<double> neighbors_f64;
extern const CodeLoops codes_table;
extern const TreeLoops tree_table;
const NeighborLoops<float> neighbors_f32 = {distances<float>, places_at_least<float>};
const NeighborLoops<double> neighbors_f64 = {distances<double>, places_at_least<double>};
const CodeLoops codes_table = {differences};
const TreeLoops tree_table = {tree_points, tree_boxes};
}  // namespace KG_VARIANT

}  // namespace kg
