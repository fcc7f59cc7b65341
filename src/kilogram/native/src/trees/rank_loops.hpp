// Ranks of codes among some rows, one table per instruction set as in simd/loops.hpp.
#pragma once
#include <cstdint>

namespace kg {

struct RankLoops {
  // out[i] = how many distinct ones of codes (m), from `low` to `high`, are below codes[i]. bits has a bit
  // for every value from low to high, all 0 before and after; before has a number for every 64 of them.
  void (*ranks)(const std::uint32_t* codes, std::int64_t m, std::uint32_t low, std::uint32_t high,
                std::uint64_t* bits, std::uint32_t* before, std::uint16_t* out);
};

const RankLoops& rank_loops();

}  // namespace kg
