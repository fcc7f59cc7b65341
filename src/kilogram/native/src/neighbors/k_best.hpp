// The k smallest of what was offered, by distance and then by position.
#pragma once
#include "common/rows.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace kg {

using Found = std::pair<double, std::int32_t>;

// `held` has space for k. Few are kept sorted, more in a heap whose top is the farthest: moving half of 64
// entries costs what two steps of a heap do, whose branches are not predicted.
class KBest {
 public:
  KBest(Found* held, i64 k) : held_(held), k_(k) {}

  // No row farther than this is among the k best.
  double bound() const { return count_ < k_ ? std::numeric_limits<double>::infinity() : farthest().first; }

  void offer(double distance, i64 at) {
    const Found found{distance, static_cast<std::int32_t>(at)};
    if (count_ == k_ && !(found < farthest())) return;
    if (k_ > kSorted) return offer_to_heap(found);
    i64 i = count_ < k_ ? count_++ : k_ - 1;
    for (; i > 0 && found < held_[i - 1]; --i) held_[i] = held_[i - 1];
    held_[i] = found;
  }

  // Nearest first; their number.
  i64 sorted() {
    if (k_ > kSorted) std::sort(held_, held_ + count_);
    return count_;
  }

 private:
  static constexpr i64 kSorted = 64;

  const Found& farthest() const { return held_[k_ > kSorted ? 0 : k_ - 1]; }

  void offer_to_heap(const Found& found) {
    if (count_ == k_) std::pop_heap(held_, held_ + count_--);
    held_[count_++] = found;
    std::push_heap(held_, held_ + count_);
  }

  Found* held_;
  i64 k_, count_ = 0;
};

}  // namespace kg
