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
};

struct CodeLoops {
  // out[i] = the number of bits in which code i of n differs from q, each of `words` words
  void (*differences)(const std::uint64_t* codes, std::int64_t n, std::int64_t words,
                      const std::uint64_t* q, std::uint16_t* out);
};

template <class T> const NeighborLoops<T>& neighbor_loops();
const CodeLoops& code_loops();

}  // namespace kg
