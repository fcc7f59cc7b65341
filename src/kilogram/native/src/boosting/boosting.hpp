// Gradient boosting on binned rows: bins, trees grown on histograms, gradients, predictions.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "common/rows.hpp"

namespace kg {

using Bin = std::uint8_t;
constexpr i64 kBins = 256;  // at most 255 for values and one for what is missing

// Numbers of bins, row by row for histograms and column by column for splits. Values of column k
// have the bins 0 .. bins[k] - 1, what is missing has bins[k].
struct BinnedRows {
  i64 n, d;
  std::vector<Bin> by_row, by_column;
  std::vector<std::int32_t> bins;
  std::vector<char> categorical;
};

// A node as predictions read it. Children are neighbours: left and left + 1. A leaf is its own left
// child with an infinite threshold, so that rows which have arrived stay.
struct BoostNode {
  double threshold;
  double value;  // of leaves, learning rate included
  std::int32_t feature;
  std::int32_t left;
  std::int32_t categories;     // row of the table of category sets, -1 for a threshold
  std::int32_t missing_right;  // 1: rows without a value go right
};

// Values of a category set: bit c is set where category c goes left.
struct CategorySet {
  std::uint32_t words[kBins / 32];
  bool has(i64 c) const { return words[c >> 5] >> (c & 31) & 1u; }
  void add(i64 c) { words[c >> 5] |= 1u << (c & 31); }
};

struct GrowthRules {
  i64 max_leaves, max_depth, min_leaf;
  double l2, min_hessian, learning_rate;
  double max_features;  // fraction of the allowed features that a split considers
  std::uint64_t seed;
};

struct GrownTree {
  std::vector<BoostNode> nodes;
  std::vector<std::int32_t> cut;  // last bin on the left, of numeric splits
  std::vector<double> gain, samples;
  std::vector<CategorySet> sets;
  i64 depth = 0;
};

// Upper limits of the bins of a column but the last, (at most max_bins - 1); sorts the values.
std::vector<double> bin_limits(std::vector<double>& values, i64 max_bins);

// The number of limits below x, which is not missing: limits[i] < x for i < result.
inline i64 bin_of(double x, const double* limits, i64 count) {
  const double* base = limits;
  while (count > 1) {
    const i64 half = count / 2;
    base += (base[half - 1] < x) * half;
    count -= half;
  }
  return base - limits + (count == 1 && *base < x);
}

template <class T>
void map_to_bins(const Rows<T>& X, const double* limits, const i64* starts, BinnedRows& out,
                 int threads);

// out (n, classes) gets the leaves of trees first .. last - 1; tree t belongs to class t % classes.
template <class T>
void add_trees(const BoostNode* nodes, const CategorySet* sets, const i64* roots,
               const std::int32_t* depths, i64 first, i64 last, const Rows<T>& X, double* out,
               i64 classes, int threads);

enum class BoostLoss { squared, absolute, quantile, poisson, gamma, binary, multinomial, huber };

// Some rows: from class to class there are `stride` numbers of raw and `out_stride` of g and h.
constexpr i64 kGradientRows = 1024;  // the most of a chunk
struct GradientChunk {
  BoostLoss loss;
  double parameter;
  const double* y;
  const double* w;  // or null
  const double* raw;
  i64 n, stride, classes;
  double* g;
  double* h;
  i64 out_stride;
};
void chunk_gradients(const GradientChunk& chunk);

// Gradients and second derivatives (classes, n) of the loss at raw (classes, n), times w if given.
void boost_gradients(BoostLoss loss, double parameter, const double* y, const double* w,
                     const double* raw, i64 n, i64 classes, double* g, double* h, int threads);

}  // namespace kg
