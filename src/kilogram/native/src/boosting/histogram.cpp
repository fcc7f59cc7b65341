// Rounding of gradients and the sums over rows: the loops that take most of the time.
#include "boosting/histogram.hpp"

namespace kg {
namespace {

constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52: x + magic has the nearest integer in its low bits
constexpr int kMostBits = 50;                  // of one rounded number
constexpr i64 kAhead = 16;                     // rows fetched ahead

inline i64 nearest(double x) { return std::bit_cast<i64>(x + kMagic) - std::bit_cast<i64>(kMagic); }

// The power of two by which numbers up to `most` stay below 2^bits.
double unit_of(double most, int bits) {
  if (!(most > 0) || !std::isfinite(most)) return 1;
  return std::ldexp(1.0, std::max(std::ilogb(most) + 1 - bits, -1000));
}

template <int K>
void add_columns(const BinnedRows& X, const Pair* pairs, const std::int32_t* rows, i64 m, i64 first,
                 Pair* const* base) {
  Pair* h[K];
  for (int k = 0; k < K; ++k) h[k] = base[k];
  const Bin* bins = X.by_row.data() + first;
  for (i64 i = 0; i < m; ++i) {
    const i64 row = rows[i];
    if (i + kAhead < m) {
      __builtin_prefetch(pairs + rows[i + kAhead]);
      __builtin_prefetch(bins + rows[i + kAhead] * X.d);
    }
    const Pair pair = pairs[row];
    const Bin* bin = bins + row * X.d;
    for (int k = 0; k < K; ++k) h[k][bin[k]] += pair;
  }
}

}  // namespace

Scale quantise(const double* g, const double* h, i64 n, Pair* out, int threads) {
  double largest_g = 0, largest_h = 0;
#pragma omp parallel for simd schedule(static) num_threads(threads) \
    reduction(max : largest_g, largest_h) if (threads > 1)
  for (i64 i = 0; i < n; ++i) {
    largest_g = std::max(largest_g, std::abs(g[i]));
    largest_h = std::max(largest_h, h[i]);
  }
  const int digits = std::bit_width(static_cast<std::uint64_t>(n));  // n < 2^digits
  const double unit_g = unit_of(largest_g, std::min(62 - digits, kMostBits));
  const double unit_h = unit_of(largest_h, std::min(62 - 2 * digits, kMostBits));
  const double to_g = 1 / unit_g, to_h = 1 / unit_h;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (i64 i = 0; i < n; ++i)
    out[i] = Pair{nearest(g[i] * to_g), (nearest(h[i] * to_h) << digits) + 1};
  return {unit_g, unit_h, digits};
}

void add_rows(const BinnedRows& X, const Pair* pairs, const std::int32_t* rows, i64 m, i64 first,
              i64 last, Pair* const* base) {
  switch (last - first) {
    case 1: return add_columns<1>(X, pairs, rows, m, first, base);
    case 2: return add_columns<2>(X, pairs, rows, m, first, base);
    case 3: return add_columns<3>(X, pairs, rows, m, first, base);
    case 4: return add_columns<4>(X, pairs, rows, m, first, base);
    case 5: return add_columns<5>(X, pairs, rows, m, first, base);
    case 6: return add_columns<6>(X, pairs, rows, m, first, base);
    case 7: return add_columns<7>(X, pairs, rows, m, first, base);
    default: return add_columns<8>(X, pairs, rows, m, first, base);
  }
}

}  // namespace kg
