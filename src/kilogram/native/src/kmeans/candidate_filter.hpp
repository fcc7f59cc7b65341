// Lloyd's iteration with a quantised candidate filter, over raw buffers (kmeans/candidate_filter.cpp).
#pragma once
#include "kmeans/kmeans.hpp"
#include "kmeans/filter_loops.hpp"

#include <vector>

namespace kg {

inline constexpr double kNegligible = 1e-30;  // of the length of a row
inline constexpr double kLargestSquare = 1e30;  // of a distance: rows and centres beyond are always looked at
inline constexpr float kAlways = 1e38f;

// What float32 may lose in a sum of d products, relative to their size, several times over.
inline double rounding(i64 d) { return 1.2e-7 * (8.0 + double(d) / 4.0); }

inline i64 quads_of(i64 d) { return ceil_div(d, 4); }
inline i64 lines_of(i64 d) { return ceil_div(d, kLine); }

bool has_fast_byte_products();  // whether this machine multiplies bytes

// What the candidate filter knows of a row, all but the last over the row's step.
struct QuantisedRow {
  float inverse;  // 1
  float spread;   // what the codes may be off by
  float half;     // |x|^2 / 2, from below
  float upper;    // no less than the distance from its own centre, in units
};

// The rows less `shift`, in units of `unit`, as codes (n, kLine lines).
template <class T> struct EncodedRows {
  Rows<T> X;
  const T* shift;
  double unit;  // about the length of a row: float32 must hold what is measured in it
  std::uint8_t* codes;
  QuantisedRow* about;  // (n)
};

// Returns the balance u that `about` was made with.
template <class T> double encode_rows(const EncodedRows<T>& rows, int threads);

// A pass over rows that have codes; without `follow` the first centres tried are guessed from them.
template <class T> struct FilteredPass {
  ClusterPass<T> pass;
  const std::int32_t* order;  // (places): the centre at every place, -1 for none; near ones together
  i64 places;
  const std::int32_t* starts;  // (groups + 1): the places where groups begin, whole blocks; or null
  i64 groups;
  const float* moved;  // (k): how far each centre went since the last pass, in units; or null
  double unit, balance;
  const std::uint8_t* codes;
  QuantisedRow* about;
};

// `looked` is the number of exact distances per row, `opened` the fraction of the centres compared by codes.
template <class T> PassTerms filtered_pass(const FilteredPass<T>& pass, int threads);

// The n rows by the place of their centre, those of one place in their order, whatever the threads.
void by_place(const std::int32_t* labels, i64 n, const std::vector<std::int32_t>& place, int threads,
              std::int32_t* order);

// The same with bounds from pass to pass, in units: `upper` of about, lower (n, ld) from every block of four
// places, the own centre left out, plus what the block had drifted by then, in whole cache lines, and least
// (n), no more than the least of them. At most 64 blocks, no groups, the same order in every pass.
template <class T> struct FilteredBoundsPass {
  FilteredPass<T> filtered;
  bool known;          // whether there are bounds; with them `moved` and labels
  const float* drift;  // (ld): how far the farthest of each block went, summed over all passes
  float *least, *lower;
  i64 ld;
};

template <class T> PassTerms filtered_bounds_pass(const FilteredBoundsPass<T>& pass, int threads);

}  // namespace kg
