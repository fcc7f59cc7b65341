// The blocks of centres that a strip of rows is compared with, some of all of them (kmeans/filter_bounds.hpp).
#pragma once
#include "kmeans/coded_centres.hpp"

#include <algorithm>
#include <vector>

namespace kg {

// Their places are counted among the blocks listed; `global` is the place among all.
class ListedBlocks {

 public:
  ListedBlocks(const Coded& coded, const std::int32_t* order, i64 places)
      : all(coded.blocks()), coded_(coded), order_(order), places_(places), listed_(all.blocks),
        where_(all.blocks), reach_(kBlockCentres * all.blocks), apart_(kBlockCentres * all.blocks * kBlockCentres * all.blocks, -1.0f) {
    clear();
  }

  void clear() {
    some = all;
    some.reach = reach_.data();
    some.blocks = 0;
  }

  // block b of all; its number among those listed
  i64 add(i64 b) {
    const i64 j = some.blocks++;
    listed_[j] = b;
    where_[b] = j;
    std::copy(all.reach + b * kBlockCentres, all.reach + (b + 1) * kBlockCentres, reach_.data() + j * kBlockCentres);
    return j;
  }

  i64 block(i64 j) const { return listed_[j]; }
  std::int32_t global(std::int32_t place) const {
    return static_cast<std::int32_t>(listed_[place / kBlockCentres] * kBlockCentres + place % kBlockCentres);
  }
  std::int32_t local(std::int32_t place) const {
    return static_cast<std::int32_t>(where_[place / kBlockCentres] * kBlockCentres + place % kBlockCentres);
  }
  // the centre at a place, or -1
  std::int32_t centre(std::int32_t place) const {
    const i64 at = global(place);
    return at < places_ ? order_[at] : -1;
  }
  float reach(i64 place) const { return reach_[place]; }

  // `Coded::apart` of two places, remembered
  float apart(std::int32_t a, std::int32_t b) {
    float& known = apart_[global(a) * kBlockCentres * all.blocks + global(b)];
    if (known < 0) known = coded_.apart(global(a), global(b));
    return known;
  }

  const CodedBlocks all;
  CodedBlocks some{};

 private:
  const Coded& coded_;
  const std::int32_t* order_;
  const i64 places_;
  std::vector<i64> listed_, where_;
  std::vector<float> reach_;
  std::vector<float> apart_;  // [place][place], -1 where not asked for yet
};

}  // namespace kg
