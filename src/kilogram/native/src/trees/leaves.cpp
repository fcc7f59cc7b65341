// Before and after growth: columns coded by rank, and rows down many trees.
#include "trees/trees.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace kg {
namespace {

// One row down one tree.
inline std::int32_t leaf_of(const TreeTable& t, i64 root, const Rows<double>& X, i64 i) {
  std::int32_t at = static_cast<std::int32_t>(root);
  for (std::int32_t k; (k = t.feature[at]) >= 0;)
    at = *X.at(i, k) <= t.threshold[at] ? t.left[at] : t.right[at];
  return at;
}

constexpr i64 kPanel = 128;  // rows that go down one tree after another: tree and rows in cache

}  // namespace

void code_columns(const Rows<double>& X, std::uint32_t* codes, double* values, i64* counts,
                  int threads) {
#pragma omp parallel num_threads(threads)
  {
    std::vector<std::pair<double, std::uint32_t>> column(X.n);
#pragma omp for schedule(dynamic)
    for (i64 k = 0; k < X.d; ++k) {
      for (i64 i = 0; i < X.n; ++i) column[i] = {*X.at(i, k), std::uint32_t(i)};
      std::sort(column.begin(), column.end());
      i64 seen = -1;
      double* v = values + k * X.n;
      for (i64 i = 0; i < X.n; ++i) {
        if (i == 0 || column[i].first > column[i - 1].first) v[++seen] = column[i].first;
        codes[k * X.n + column[i].second] = std::uint32_t(seen);
      }
      counts[k] = seen + 1;
    }
  }
}

void sum_leaves(const TreeTable& table, const double* values, i64 width, const Rows<double>& X,
                double* out, int threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (i64 first = 0; first < X.n; first += kPanel) {
    const i64 last = std::min(first + kPanel, X.n);
    for (i64 t = 0; t < table.trees; ++t)
      for (i64 i = first; i < last; ++i) {
        const double* value = values + leaf_of(table, table.roots[t], X, i) * width;
        for (i64 c = 0; c < width; ++c) out[i * width + c] += value[c];
      }
  }
}

void find_leaves(const TreeTable& table, const Rows<double>& X, std::int32_t* out, int threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (i64 first = 0; first < X.n; first += kPanel) {
    const i64 last = std::min(first + kPanel, X.n);
    for (i64 t = 0; t < table.trees; ++t)
      for (i64 i = first; i < last; ++i)
        out[i * table.trees + t] = leaf_of(table, table.roots[t], X, i);
  }
}

}  // namespace kg
