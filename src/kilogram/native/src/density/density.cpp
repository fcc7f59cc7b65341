// Sums of kernels over windows of rows. Each query is summed by one thread, block after block of
// rows that stay in cache, so the result does not depend on the threads.
#include "common/interrupt.hpp"
#include "density/density.hpp"
#include "simd/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace kg {

KG_TABLE(DensityLoops, density_table)
const DensityLoops& density_loops() { KG_PICK(density_table) }

namespace {

constexpr i64 kQueries = 64;  // of one chunk, summed by one thread
constexpr i64 kPairsAtOnce = 1 << 24;  // of a thread between two looks for Ctrl-C

i64 pairs_of(const DensityQueries& of, i64 chunk) {
  i64 sum = 0;
  const i64 last = std::min(of.m, (chunk + 1) * kQueries) * of.windows;
  for (i64 i = chunk * kQueries * of.windows; i < last; ++i)
    sum += std::max<i64>(0, of.hi[i] - of.lo[i]);
  return sum;
}

}  // namespace

void density_sums(const DensityRows& rows, int kind, bool product, const DensityQueries& of,
                  int threads) {
  constexpr i64 kBytes = 1 << 18;
  const auto window = density_loops().window;
  const i64 block = std::max<i64>(kBytes / (8 * (rows.d + 1)) / kStrip, 4) * kStrip;
  const i64 chunks = ceil_div(of.m, kQueries);
  for (i64 some = 0, stop = 0; some < chunks; some = stop) {
    check_interrupt();
    for (i64 pairs = 0; stop < chunks && pairs < threads * kPairsAtOnce; ++stop)
      pairs += pairs_of(of, stop);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (i64 c = some; c < stop; ++c) {
      const i64 first = c * kQueries, last = std::min(of.m, first + kQueries);
      for (i64 i = first; i < last; ++i) of.out[i] = 0;
      for (i64 s = 0; s < of.windows; ++s) {
        i64 low = INT64_MAX, high = 0;
        for (i64 i = first; i < last; ++i) {
          if (of.lo[i * of.windows + s] >= of.hi[i * of.windows + s]) continue;
          low = std::min(low, of.lo[i * of.windows + s]);
          high = std::max(high, of.hi[i * of.windows + s]);
        }
        // blocks of rows on the outside: queries that share rows find them in cache
        for (i64 begin = low; begin < high; begin += block)
          for (i64 i = first; i < last; ++i) {
            const i64 lo = std::max(begin, of.lo[i * of.windows + s]);
            const i64 hi = std::min(begin + block, of.hi[i * of.windows + s]);
            if (lo < hi) of.out[i] += window(rows, kind, product, of.q + i * rows.d, lo, hi);
          }
      }
    }
  }
}

void exponential_line(const double* y, const double* w, i64 n, const double* q, i64 m,
                      double* out) {
  double sum = 0, at = 0;  // sum = sum_{y_j <= at} w_j exp(y_j - at)
  i64 j = 0;
  for (i64 i = 0; i < m; ++i) {
    for (; j < n && y[j] <= q[i]; ++j) {
      sum = sum * std::exp(at - y[j]) + w[j];
      at = y[j];
    }
    out[i] = j ? sum * std::exp(at - q[i]) : 0;
  }
  sum = at = 0;
  j = n - 1;
  for (i64 i = m - 1; i >= 0; --i) {
    for (; j >= 0 && y[j] > q[i]; --j) {
      sum = j + 1 < n ? sum * std::exp(y[j] - at) + w[j] : w[j];
      at = y[j];
    }
    if (j + 1 < n) out[i] += sum * std::exp(q[i] - at);
  }
}

}  // namespace kg
