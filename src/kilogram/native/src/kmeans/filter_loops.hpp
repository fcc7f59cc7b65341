// The loops of the candidate filter of k-means (kmeans/candidate_filter.cpp), one table per instruction
// set as in simd/loops.hpp.
#pragma once
#include <cstdint>

namespace kg {

// Coordinates as whole numbers. The codes of a row, each plus `middle` so that it is not negative, lie
// one after another in whole lines. Four of them are a quad: the bytes of one 32-bit lane. A strip is
// `rows` rows, [quad][row][4]. Centres come in blocks of four, [chunk]{start[4], [quad][centre][4]}; a
// chunk is as many quads as 16-bit sums may take before they move to 32 bits, and `start` takes off what
// `middle` adds to either of the two sums. Short rows are one chunk; the chunks of long ones are shorter,
// so that a few large numbers coarsen the steps of fewer others.
struct Grain {
  bool wide;  // sums of 32 bits: one chunk, and one start for both sums
  int middle, row_code, centre_code;  // the largest codes
  std::int64_t one_chunk, many_chunks;
  // The most that the numbers of one sum may have as their length, in steps: with what rounding adds, the
  // product of the two stays below 2^15, or 2^31.
  float row_length, centre_length;

  constexpr std::int64_t chunk(std::int64_t quads) const { return quads > one_chunk ? many_chunks : one_chunk; }
};
constexpr Grain kSums16{false, 64, 63, 127, 16, 8, 176, 179};
constexpr Grain kSums32{true, 128, 127, 127, std::int64_t(1) << 60, std::int64_t(1) << 60, 30000, 30000};
constexpr std::int64_t kLine = 32;  // codes of a line

struct Pair {
  std::int32_t place, row;
};

// One row in bytes: its step, the lengths of its codes and of what they leave, and its own, squared.
struct Code {
  float step, length, left, norm;
};

// Blocks of four coded centres, and what the candidate filter knows of each. A centre that stands for a group
// has a radius, else there are none.
struct CodedBlocks {
  const std::int8_t* codes;
  const float *scale, *reach, *half, *radius;
  std::int64_t quads, blocks;
};

// What is known of the rows of a strip, over their steps; `upper` is the distance from the own centre.
struct StripLimits {
  const float *spread, *inverse, *least, *upper;
};

struct FilterLoops {
  Grain grain;
  std::int64_t rows;
  bool fast;  // a machine with products of bytes; else these are plain loops, for the tests
  // x: whole lines of numbers, zeros beyond the last
  Code (*encode)(const float* x, std::int64_t lines, std::uint8_t* codes);
  // the codes of `rows` rows as a strip, which has space for whole lines
  void (*gather)(const std::uint8_t* const* codes, std::int64_t lines, std::uint8_t* strip);
  // scores[place][row] = scale <X, G> - half / step[row]
  void (*score)(const std::uint8_t* strip, const CodedBlocks& centres, const float* inverse,
                float* scores);
  // index[row] = the place of the largest score
  void (*best)(const float* scores, std::int64_t places, std::int32_t* index);
  // raises least[row] to what the best of the scores leaves for others, less margin[row]
  void (*sure)(const float* scores, const CodedBlocks& centres, const float* spread, const float* margin,
               float* least);
  // the pairs with a score that may reach least[row], those of a row with its own[row] left out; how many
  std::int64_t (*pick)(const float* scores, const CodedBlocks& centres, const float* spread,
                       const float* least, const std::int32_t* own, Pair* out);
  // out[block][row] = the distance of the nearest centre of each block, from below, with
  // half[row] = |x|^2 / 2 over the step; those of a row with its own[row] left out
  void (*bounds)(const float* scores, const CodedBlocks& centres, const float* spread,
                 const float* half, const float* inverse, const std::int32_t* own, float* out);
  // The bounds of one row to every block, in whole cache lines, each plus what the block has drifted.
  // `below`: the least of them, and a bit for each not above `reach`. `raise`: raises them to
  // fresh[block]; the least.
  float (*below)(const float* lower, const float* drift, std::int64_t blocks, float reach,
                 std::uint64_t* bits);
  float (*raise)(float* lower, const float* drift, const float* fresh, std::int64_t blocks);
  // open[place] = whether the group of that place may be near enough for a row, which is when
  // scale <X, G> + reach spread[row] + radius upper[row] - half inverse[row] >= least[row]
  void (*gate)(const std::uint8_t* strip, const CodedBlocks& groups, const StripLimits& limits,
               std::uint8_t* open);
  // the pairs of the `count` blocks listed with scale <X, G> + reach spread[row] - half inverse[row]
  // >= least[row], those of a row with its own[row] left out; how many
  std::int64_t (*sift)(const std::uint8_t* strip, const CodedBlocks& centres,
                       const std::int32_t* listed, std::int64_t count, const StripLimits& limits,
                       const std::int32_t* own, Pair* out);
};

// |x - c|^2 of the pairs; rows and centres have whole vectors of `ld` numbers
template <class T> struct PairLoops {
  std::int64_t lanes;
  void (*distances)(const T* rows, const T* centres, std::int64_t ld, const Pair* pairs,
                    std::int64_t count, T* out);
  // away = min(away, near), n of them; returns sum w away, w null: 1
  double (*lowered)(const T* near, const double* w, std::int64_t n, T* away);
};

const FilterLoops& filter_loops();
template <class T> const PairLoops<T>& pair_loops();

}  // namespace kg
