// Sums over the columns of two rows, abandoned once they exceed a bound; compiled once per instruction
// set, see simd/loops.cpp for the rules. Differences are taken in float64: nothing cancels.
#include "neighbors/loops.hpp"

extern "C" double pow(double, double) noexcept;

namespace kg {
namespace {

using i64 = std::int64_t;

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

}  // namespace

namespace KG_VARIANT {
extern const NeighborLoops<float> neighbors_f32;
extern const NeighborLoops<double> neighbors_f64;
extern const CodeLoops codes_table;
const NeighborLoops<float> neighbors_f32 = {distances<float>};
const NeighborLoops<double> neighbors_f64 = {distances<double>};
const CodeLoops codes_table = {differences};
}  // namespace KG_VARIANT

}  // namespace kg
