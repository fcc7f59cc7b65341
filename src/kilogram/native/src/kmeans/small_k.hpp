// SmallK centres as wide rows meet them (kmeans/small_k.cpp): exact, and as 16-bit numbers c = b G + f.
#pragma once
#include "kmeans/small_k_loops.hpp"
#include "kmeans/candidate_filter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kg {

// In groups of `size`, vector by vector: [group][vector][size][lane]
template <class T> class SmallKCentres {
 public:
  explicit SmallKCentres(const SmallKPass<T>& small_k)
      : ld(lines_of(small_k.pass.X.d) * kLine), size(size_of(small_k.pass.k)), groups(ceil_div(small_k.pass.k, size)),
        padded(small_k_padded(small_k.pass.k)), half(padded, std::numeric_limits<T>::infinity()), length(padded, T(0)),
        scale(length), off(length), drift(length), apart(small_k.pass.k * padded, T(0)),
        rows_(1, groups * size * ld), codes_(1, groups * size * ld) {
    const ClusterPass<T>& p = small_k.pass;
    std::fill(rows_.block(0), rows_.block(0) + groups * size * ld, T(0));
    std::fill(codes_.block(0), codes_.block(0) + groups * size * ld, std::int16_t(0));
    std::copy(small_k.drift, small_k.drift + p.k, drift.begin());
    for (i64 c = 0; c < p.k; ++c) {
      put(c, p.C + c * p.X.d, p.X.d);
      for (i64 o = 0; o < c; ++o) apart[c * padded + o] = apart[o * padded + c] = between(p, c, o);
    }
  }

  const T* rows(i64 g) const { return rows_.block(0) + g * size * ld; }
  const std::int16_t* codes(i64 g) const { return codes_.block(0) + g * size * ld; }

  const i64 ld, size, groups, padded;
  std::vector<T> half, length;  // |c|^2 / 2, |c|
  std::vector<T> scale, off;           // b, |f|
  std::vector<T> drift;
  std::vector<T> apart;  // [centre][padded], from above
  T largest = 0;         // |c|^2

 private:
  static constexpr double kAbove = 1 + 1e-6;

  // the size of groups that leaves the fewest places empty
  static i64 size_of(i64 k) {
    i64 best = 6;
    for (const i64 size : {5, 4})
      if (ceil_div(k, size) * size < ceil_div(k, best) * best) best = size;
    return best;
  }

  void put(i64 c, const T* from, i64 d) {
    double square = 0, top = 0, left = 0;
    for (i64 k = 0; k < d; ++k) {
      square += double(from[k]) * double(from[k]);
      top = std::max(top, std::fabs(double(from[k])));
    }
    // No sum of products with bytes is longer than both lengths; rounding adds up to half a step each.
    const double headroom = std::max(2.147e9 - 0.5 * kByte * double(d), 1e-9);
    const double longest = std::sqrt(square) * kByte * std::sqrt(double(d)) / headroom;
    const double most = std::max(top / kWord, longest), step = most > 1e-300 ? most : 1;
    const i64 lanes = small_k_loops<T>().lanes, words = small_k_loops<T>().words;
    T* row = rows_.block(0) + c / size * size * ld;
    std::int16_t* code = codes_.block(0) + c / size * size * ld;
    for (i64 k = 0; k < d; ++k) {
      const double whole = std::nearbyint(double(from[k]) / step), rest = double(from[k]) - whole * step;
      row[(k / lanes * size + c % size) * lanes + k % lanes] = from[k];
      code[(k / words * size + c % size) * words + k % words] = static_cast<std::int16_t>(whole);
      left += rest * rest;
    }
    half[c] = static_cast<T>(square / 2);
    length[c] = static_cast<T>(std::sqrt(square) * kAbove);
    scale[c] = static_cast<T>(step);
    const double rounded = std::sqrt(square) * double(std::numeric_limits<T>::epsilon());
    off[c] = static_cast<T>(std::sqrt(left) * kAbove + rounded);
    largest = std::max(largest, static_cast<T>(square));
  }

  static T between(const ClusterPass<T>& p, i64 a, i64 b) {
    double square = 0;
    for (i64 j = 0; j < p.X.d; ++j) {
      const double away = double(p.C[a * p.X.d + j]) - double(p.C[b * p.X.d + j]);
      square += away * away;
    }
    return static_cast<T>(std::sqrt(square) * kAbove);
  }

  Scratch<T> rows_;
  Scratch<std::int16_t> codes_;
};

}  // namespace kg
