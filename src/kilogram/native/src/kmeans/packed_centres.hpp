// The centres of a plain pass of k-means, packed for simd/loops_nearest.hpp.
#pragma once
#include "kmeans/kmeans.hpp"
#include "simd/loops.hpp"

#include <algorithm>

namespace kg {


// Centres in blocks of four.
template <class T> class Blocks {
 public:
  Blocks(i64 k, i64 d)
      : count(ceil_div(k, kBlockCentres)), k_(k), d_(d), packed_(1, count * kBlockCentres * d), half_(1, count * kBlockCentres) {}
  Blocks(const T* C, i64 k, i64 d) : Blocks(k, d) { set(C); }

  void set(const T* C) {
    for (i64 b = 0; b < count; ++b)
      loops<T>().pack_four(C + b * kBlockCentres * d_, std::min(kBlockCentres, k_ - b * kBlockCentres), d_,
                           centres() + b * kBlockCentres * d_, half() + b * kBlockCentres);
  }
  T* centres() const { return packed_.block(0); }
  T* half() const { return half_.block(0); }

  const i64 count;

 private:
  const i64 k_, d_;
  Scratch<T> packed_, half_;
};

}  // namespace kg
