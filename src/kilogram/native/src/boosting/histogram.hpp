// Histograms of gradients, in integers.
//
// Gradients and second derivatives are rounded once per tree to multiples of a power of two, fine
// enough that sums over all rows still fit 64 bits: 40 digits for the gradient of half a million rows,
// 25 for the second derivative, which shares its word with the number of rows. Integers add up
// exactly: histograms, and with them all splits, are the same in any order and for any number of
// threads, and the histogram of a larger child is the parent's less the smaller child's, exactly.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <vector>

#include "boosting/boosting.hpp"

namespace kg {

// One word each: the sum of gradients; the sum of second derivatives above the number of rows.
typedef i64 Pair __attribute__((vector_size(16)));

// What turns a pair into numbers.
struct Scale {
  double gradient, hessian;  // of one unit
  int shift;                 // bits of the number of rows
  double g(const Pair& p) const { return static_cast<double>(p[0]) * gradient; }
  double h(const Pair& p) const { return static_cast<double>(p[1] >> shift) * hessian; }
  i64 rows(const Pair& p) const { return p[1] & ((i64(1) << shift) - 1); }
};

// Pairs (n,) of gradients g and second derivatives h of at least 0, and their scale.
Scale quantise(const double* g, const double* h, i64 n, Pair* out, int threads);

// Adds the pairs of these rows to the bins of columns first .. last - 1 (at most 8); base[k] is where
// the histogram of column first + k begins.
void add_rows(const BinnedRows& X, const Pair* pairs, const std::int32_t* rows, i64 m, i64 first,
              i64 last, Pair* const* base);

}  // namespace kg
