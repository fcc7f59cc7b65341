// The loops of the sieve of k-means (kmeans_sieve.cpp), one table per instruction set as in loops.hpp.
#pragma once
#include <cstdint>

namespace kg {

// Coordinates as whole numbers. Four of them are a quad: the bytes of one 32-bit lane. A strip is
// `rows` rows, [quad][row][4], each code plus kMiddle so that it is not negative. Centres come in
// blocks of four, [chunk]{start[4], [quad][centre][4]}; a chunk is kChunkQuads quads, after which 16-bit
// sums move to 32 bits, and `start` takes off what kMiddle adds to either of the two sums.
constexpr int kMiddle = 64;
constexpr int kRowCode = 63, kCentreCode = 127;  // the largest codes
constexpr std::int64_t kChunkQuads = 16;
// The most that the numbers of one 16-bit sum may have as their length, in steps: with what rounding
// adds, the product of the two stays below 2^15.
constexpr float kRowLength = 176, kCentreLength = 179;

struct Pair {
  std::int32_t place, row;
};

// One row in bytes: its step, the lengths of its codes and of what they leave, and its own, squared.
struct Code {
  float step, length, left, norm;
};

struct SieveLoops {
  std::int64_t rows;
  bool fast;  // a machine with products of bytes; else these are plain loops, for the tests
  Code (*encode)(const float* x, std::int64_t depth, std::uint8_t* codes);
  // index[row] = the place whose scale <X, G> - half / step[row] is largest, in one of `every` blocks
  void (*guess)(const std::uint8_t* strip, std::int64_t quads, const std::int8_t* centres,
                const float* scale, const float* half, std::int64_t blocks,
                std::int64_t every, const float* inverse, std::int32_t* index);
  // the pairs with scale <X, G> + reach spread[row] - half inverse[row] >= least[row], those of a
  // row with its own[row] left out; how many
  std::int64_t (*sift)(const std::uint8_t* strip, std::int64_t quads, const std::int8_t* centres,
                       const float* scale, const float* reach, const float* half,
                       std::int64_t blocks, const float* spread, const float* inverse,
                       const float* least, const std::int32_t* own, Pair* out);
};

// |x - c|^2 of the pairs; rows and centres have whole vectors of `ld` numbers
template <class T> struct PairLoops {
  std::int64_t lanes;
  void (*distances)(const T* rows, const T* centres, std::int64_t ld, const Pair* pairs,
                    std::int64_t count, T* out);
};

const SieveLoops& sieve_loops();
template <class T> const PairLoops<T>& pair_loops();

}  // namespace kg
