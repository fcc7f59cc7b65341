// The chain of nearest neighbours, and what its users share.
#pragma once
#include "common/rows.hpp"

#include <limits>
#include <vector>

namespace kg {

inline constexpr int kNone = -1;

// The chain of slots, each followed by its nearest; knows where a slot stands when slots move.
class Chain {
 public:
  explicit Chain(i64 n) : place_(n, kNone) {}
  bool empty() const { return slots_.empty(); }
  i64 top() const { return slots_.back(); }
  i64 before() const { return slots_.size() > 1 ? slots_[slots_.size() - 2] : kNone; }
  void push(i64 slot) {
    place_[slot] = static_cast<int>(slots_.size());
    slots_.push_back(slot);
  }
  void pop() {
    place_[slots_.back()] = kNone;
    slots_.pop_back();
  }
  void moved(i64 from, i64 to) {
    place_[to] = place_[from];
    if (place_[to] != kNone) slots_[place_[to]] = to;
    if (from != to) place_[from] = kNone;
  }

 private:
  std::vector<i64> slots_;
  std::vector<int> place_;
};

template <class T> inline constexpr T kFar = std::numeric_limits<T>::infinity();

}  // namespace kg
