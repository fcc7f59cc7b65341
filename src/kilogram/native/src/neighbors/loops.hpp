// Distances of one row from others, and of binary codes, one table per instruction set as in
// simd/loops.hpp.
#pragma once
#include <cstdint>

namespace kg {

enum MetricKind { kSquares, kCityBlock, kLargest, kPowers, kUnequal, kGower };

struct Metric {
  int kind;
  double p;              // the power of kPowers
  std::int64_t numbers;  // kGower: columns before this one are numbers, the others categories
};

template <class T> struct NeighborLoops {
  // out[i] = the distance of x from row i of Y; of rows farther than `bound` any number above it
  void (*distances)(const Metric& metric, const T* x, const T* Y, std::int64_t rows, std::int64_t d,
                    double bound, double* out);
  // at[0..] = the places where v - less >= least; their number
  std::int64_t (*places_at_least)(const T* v, const T* less, std::int64_t n, T least, std::int32_t* at);
};

// Of a k-d tree, see neighbors/tree.hpp. Sums of powers are taken coordinate by coordinate in one order, in
// float64. Both return a bit for every distance that is not above `bound`.
struct TreeLoops {
  // out (kLeaf) = the distances of q from the points of a leaf, points (d, kLeaf)
  std::uint32_t (*points)(const Metric& metric, const double* points, std::int64_t d, const double* q,
                          double bound, double* out);
  // out (kFan) = the distances of q from the boxes of the children of a node, boxes (2, d, kFan)
  std::uint32_t (*boxes)(const Metric& metric, const double* boxes, std::int64_t d, const double* q,
                         double bound, double* out);
};

constexpr std::int64_t kLeaf = 32;  // points of a leaf
constexpr std::int64_t kFan = 8;    // children of a node

struct CodeLoops {
  // out[i] = the number of bits in which code i of n differs from q, each of `words` words
  void (*differences)(const std::uint64_t* codes, std::int64_t n, std::int64_t words,
                      const std::uint64_t* q, std::uint16_t* out);
};

template <class T> const NeighborLoops<T>& neighbor_loops();
const CodeLoops& code_loops();
const TreeLoops& tree_loops();

}  // namespace kg
