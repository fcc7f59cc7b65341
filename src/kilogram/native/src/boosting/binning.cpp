// Columns as bins: limits between distinct values or at quantiles, and the bins of values.
#include <algorithm>
#include <cmath>

#include "boosting/boosting.hpp"

namespace kg {
namespace {

// Between two neighbours, such that `x <= limit` separates them whatever the rounding.
double middle(double a, double b) {
  const double m = a + (b - a) / 2;
  return m < b && m >= a ? m : a;
}

constexpr i64 kStrip = 512;  // rows mapped column by column while they are in cache

}  // namespace

std::vector<double> bin_limits(std::vector<double>& values, i64 max_bins) {
  std::sort(values.begin(), values.end());
  std::vector<double> distinct;
  for (double v : values) {
    if (distinct.empty() || v > distinct.back()) distinct.push_back(v);
    if (static_cast<i64>(distinct.size()) > max_bins) break;
  }
  std::vector<double> limits;
  if (static_cast<i64>(distinct.size()) <= max_bins) {
    for (std::size_t i = 1; i < distinct.size(); ++i)
      limits.push_back(middle(distinct[i - 1], distinct[i]));
    return limits;
  }
  const i64 n = static_cast<i64>(values.size());
  for (i64 b = 1; b < max_bins; ++b) {
    const double place = static_cast<double>(b) * static_cast<double>(n - 1) /
                         static_cast<double>(max_bins);
    const i64 low = static_cast<i64>(place), high = std::min(low + (place > low), n - 1);
    const double limit = middle(values[low], values[high]);
    if ((limits.empty() || limit > limits.back()) && limit < values.back()) limits.push_back(limit);
  }
  return limits;
}

template <class T>
void map_to_bins(const Rows<T>& X, const double* limits, const i64* starts, BinnedRows& out,
                 int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 first = 0; first < X.n; first += kStrip) {
    const i64 last = std::min(first + kStrip, X.n);
    for (i64 k = 0; k < X.d; ++k) {
      const double* limit = limits + starts[k];
      const i64 count = starts[k + 1] - starts[k];
      for (i64 i = first; i < last; ++i) {
        const double x = *X.at(i, k);
        i64 b = out.bins[k];
        if (!std::isnan(x)) b = out.categorical[k] ? static_cast<i64>(x) : bin_of(x, limit, count);
        out.by_row[i * X.d + k] = out.by_column[k * X.n + i] = static_cast<Bin>(b);
      }
    }
  }
}

template void map_to_bins(const Rows<float>&, const double*, const i64*, BinnedRows&, int);
template void map_to_bins(const Rows<double>&, const double*, const i64*, BinnedRows&, int);

}  // namespace kg
