// Columns coded by rank: the bits of a float64, made an increasing integer, are sorted by digits.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "trees/trees.hpp"

namespace kg {
namespace {

constexpr int kDigit = 11, kPasses = 6;
constexpr i64 kFew = 512;  // rows up to which comparison sorts faster than digits

struct Entry {
  std::uint64_t key;
  std::uint32_t row;
  bool operator<(const Entry& other) const { return key < other.key; }
};

std::uint64_t increasing(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x + 0.0);  // -0 and 0 are one value
  return bits >> 63 ? ~bits : bits | 1ull << 63;
}

// Sorted by key; digits that all keys share take no pass.
void sort_entries(std::vector<Entry>& entries, std::vector<Entry>& spare) {
  const i64 n = static_cast<i64>(entries.size());
  if (n <= kFew) return std::sort(entries.begin(), entries.end());
  std::vector<std::uint32_t> starts(kPasses << kDigit);
  const auto digit = [](std::uint64_t key, int pass) { return key >> (pass * kDigit) & ((1 << kDigit) - 1); };
  for (const Entry& e : entries)
    for (int pass = 0; pass < kPasses; ++pass) ++starts[(pass << kDigit) + digit(e.key, pass)];
  spare.resize(n);
  for (int pass = 0; pass < kPasses; ++pass) {
    std::uint32_t* at = starts.data() + (pass << kDigit);
    if (at[digit(entries[0].key, pass)] == n) continue;
    std::uint32_t sum = 0;
    for (i64 b = 0; b < 1 << kDigit; ++b) sum += std::exchange(at[b], sum);
    for (const Entry& e : entries) spare[at[digit(e.key, pass)]++] = e;
    entries.swap(spare);
  }
}

}  // namespace

void code_columns(const Rows<double>& X, std::uint32_t* codes, double* values, i64* counts,
                  std::uint8_t* missing, int threads) {
#pragma omp parallel num_threads(threads)
  {
    std::vector<Entry> entries, spare;
#pragma omp for schedule(dynamic)
    for (i64 k = 0; k < X.d; ++k) {
      entries.clear();
      for (i64 i = 0; i < X.n; ++i) {
        const double x = *X.at(i, k);
        codes[k * X.n + i] = kMissing;
        if (!std::isnan(x)) entries.push_back({increasing(x), std::uint32_t(i)});
      }
      missing[k] = static_cast<i64>(entries.size()) < X.n;
      sort_entries(entries, spare);
      i64 seen = -1;
      std::uint64_t last = 0;  // below the key of any number
      for (const Entry& e : entries) {
        if (e.key != last) values[k * X.n + ++seen] = *X.at(e.row, k) + 0.0;
        last = e.key;
        codes[k * X.n + e.row] = std::uint32_t(seen);
      }
      counts[k] = seen + 1;
    }
  }
}

}  // namespace kg
