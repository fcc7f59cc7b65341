// Ranks by counting bits: where the instruction set counts those of a word at once, this is faster than
// any sort. See simd/loops.cpp for the rules.
#include "trees/rank_loops.hpp"

namespace kg {
namespace {

using i64 = std::int64_t;

void ranks(const std::uint32_t* codes, i64 m, std::uint32_t low, std::uint32_t high, std::uint64_t* bits,
           std::uint32_t* before, std::uint16_t* out) {
  const i64 words = (i64(high - low) >> 6) + 1;
  for (i64 i = 0; i < m; ++i) bits[(codes[i] - low) >> 6] |= std::uint64_t{1} << ((codes[i] - low) & 63);
  std::uint32_t sum = 0;
  for (i64 w = 0; w < words; ++w) {
    before[w] = sum;
    sum += static_cast<std::uint32_t>(__builtin_popcountll(bits[w]));
  }
  for (i64 i = 0; i < m; ++i) {
    const std::uint32_t at = codes[i] - low;
    const std::uint64_t smaller = bits[at >> 6] & ((std::uint64_t{1} << (at & 63)) - 1);
    out[i] = static_cast<std::uint16_t>(before[at >> 6] + std::uint32_t(__builtin_popcountll(smaller)));
  }
  for (i64 w = 0; w < words; ++w) bits[w] = 0;
}

}  // namespace

namespace KG_VARIANT {
extern const RankLoops ranks_table;
const RankLoops ranks_table = {ranks};
}  // namespace KG_VARIANT

}  // namespace kg
