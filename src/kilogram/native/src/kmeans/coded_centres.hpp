// Centres of the candidate filter of k-means (kmeans/candidate_filter.cpp): exact, and as codes with what
// they may be off by.
#pragma once
#include "kmeans/candidate_filter.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <omp.h>
#include <vector>

namespace kg {

// Points at places, in blocks of four; a place that is not set is infinitely far.
class Coded {
 public:
  Coded(i64 d, i64 places, double balance)
      : d_(d), quads_(quads_of(d)), blocks_(ceil_div(places, kBlockCentres)),
        balance_(balance), codes_(blocks_ * size(), 0), scale_(blocks_ * kBlockCentres, 0.0f),
        half_(scale_.size(), std::numeric_limits<float>::infinity()), reach_(scale_),
        radius_(scale_), squares_(scale_.size(), 0.0), parts_(2 * d * blocks_ * kBlockCentres, 0.0f) {}

  CodedBlocks blocks() const {
    return {codes_.data(), scale_.data(), reach_.data(), half_.data(), radius_.data(), quads_, blocks_};
  }

  CodedBlocks block(i64 b) const {
    const i64 at = b * kBlockCentres;
    return {codes_.data() + b * size(), scale_.data() + at, reach_.data() + at, half_.data() + at,
            radius_.data() + at, quads_, 1};
  }

  i64 padded() const { return 4 * quads_; }

  // The point c, in units, for all centres within `radius` of it. Any thread may set a place of its own, with
  // `padded` bytes of its own.
  void set(i64 at, const double* c, double radius, std::int8_t* one) {
    std::fill(one, one + padded(), std::int8_t(0));
    double top = 0, longest = 0, halves[2], squares = 0, off = 0;
    for (i64 j = 0; j < d_; ++j) {
      if (j % (4 * grain_.chunk(quads_)) == 0) halves[0] = halves[1] = 0;
      top = std::max(top, std::fabs(c[j]));
      longest = std::max(longest, halves[j / 2 % 2] += c[j] * c[j]);
      squares += c[j] * c[j];
    }
    const double most = std::max(std::sqrt(longest) / grain_.centre_length, top / grain_.centre_code);
    const double most_code = grain_.centre_code;
    const double step = most > 0 ? most : 1, inverse = 1 / step;
    float* parts = parts_.data() + 2 * d_ * at;
    for (i64 j = 0; j < d_; ++j) {
      const double v = c[j] * inverse, whole = std::nearbyint(v);
      one[j] = static_cast<std::int8_t>(std::clamp(whole, -most_code, most_code));
      off += (v - one[j]) * (v - one[j]);
      parts[j] = static_cast<float>(c[j] * by_);
      parts[d_ + j] = static_cast<float>((v - one[j]) * step / by_);
    }
    put(at, one);
    const double slack = rounding(d_), left = std::sqrt(off) * step + slack * std::sqrt(squares);
    const bool far_out = !(squares < kLargestSquare && radius * radius < kLargestSquare);
    scale_[at] = far_out ? 0 : static_cast<float>(step);
    half_[at] =
        far_out ? 0 : static_cast<float>((squares - radius * radius) / 2 - slack * squares);
    radius_[at] = far_out ? 0 : static_cast<float>(radius);
    reach_[at] = far_out ? 3 * kAlways
                         : static_cast<float>(std::sqrt(squares / balance_ + balance_ * left * left) *
                                              (1 + slack));
    squares_[at] = far_out ? 0 : squares;
  }

  // What the codes may be off by in the difference of the scores of two points, relative to the spread of
  // a row: <e, c - o> + <a X, f - g>, bounded as either term is for a single point.
  float apart(i64 a, i64 b) const {
    if (!(reach_[a] < kAlways && reach_[b] < kAlways)) return 3 * kAlways;
    const float square = loops<float>().squared_distance(parts_.data() + 2 * d_ * a,
                                                         parts_.data() + 2 * d_ * b, 2 * d_);
    return static_cast<float>(std::sqrt(double(square)) * (1 + 8 * rounding(d_)) +
                              4 * rounding(d_) * (double(reach_[a]) + double(reach_[b])));
  }

  // what rounding may add to a score, relative to the inverse of the row's step
  float margin() const {
    const double longest = squares_.empty() ? 0 : *std::max_element(squares_.begin(), squares_.end());
    return static_cast<float>(4 * rounding(d_) * longest);
  }

 private:

  i64 size() const { return 4 * kBlockCentres * (quads_ + ceil_div(quads_, grain_.chunk(quads_))); }

  void put(i64 at, const std::int8_t* one) {
    std::int8_t* to = codes_.data() + at / kBlockCentres * size() + at % kBlockCentres * 4;
    for (i64 q0 = 0; q0 < quads_; q0 += grain_.chunk(quads_)) {
      const i64 q1 = std::min(quads_, q0 + grain_.chunk(quads_));
      std::uint32_t sums[2] = {0, 0};  // which may run over, as those of the loops
      for (i64 j = 4 * q0; j < 4 * q1; ++j) sums[j / 2 % 2] -= std::uint32_t(grain_.middle * one[j]);
      const std::uint32_t both = sums[0] + sums[1];
      const std::int16_t start[2] = {static_cast<std::int16_t>(sums[0]),
                                     static_cast<std::int16_t>(sums[1])};
      std::memcpy(to, grain_.wide ? static_cast<const void*>(&both) : start, 4);
      to += 4 * kBlockCentres;
      for (i64 q = q0; q < q1; ++q, to += 4 * kBlockCentres) std::memcpy(to, one + 4 * q, 4);
    }
  }

  const Grain& grain_ = filter_loops().grain;
  i64 d_, quads_, blocks_;
  double balance_;
  double by_ = 1 / std::sqrt(balance_);
  std::vector<std::int8_t> codes_;
  std::vector<float> scale_, half_, reach_, radius_;
  std::vector<double> squares_;  // |c|^2
  std::vector<float> parts_;  // of every point: itself and what its codes leave, balanced
};

// The centres at their places, and their groups.
template <class T> class CodedCentres {
 public:
  CodedCentres(const FilteredPass<T>& p, int threads)
      : ld(ceil_div(p.pass.X.d, pair_loops<T>().lanes) * pair_loops<T>().lanes), place(p.pass.k),
        coded(p.pass.X.d, p.places, p.balance), groups(p.pass.X.d, p.starts ? p.groups : 0, p.balance),
        exact_(1, p.places * ld) {
    std::fill(exact(), exact() + p.places * ld, T(0));
    const i64 d = p.pass.X.d;
    const Scratch<double> points(threads, d);  // nothing may be thrown by the loops below
    const Scratch<std::int8_t> codes(threads, coded.padded());
#pragma omp parallel for schedule(static) num_threads(threads)
    for (i64 at = 0; at < p.places; ++at) {
      if (p.order[at] < 0) continue;
      double* point = points.block(omp_get_thread_num());
      place[p.order[at]] = static_cast<std::int32_t>(at);
      const T* c = p.pass.C + i64(p.order[at]) * d;
      std::copy(c, c + d, exact() + at * ld);
      for (i64 j = 0; j < d; ++j) point[j] = double(c[j]) / p.unit;
      coded.set(at, point, 0, codes.block(omp_get_thread_num()));
    }
    margin = coded.margin();
#pragma omp parallel for schedule(static) num_threads(threads)
    for (i64 g = 0; g < (p.starts ? p.groups : 0); ++g)
      set_group(p, g, points.block(omp_get_thread_num()), codes.block(omp_get_thread_num()));
  }
  T* exact() const { return exact_.block(0); }

  const i64 ld;
  std::vector<std::int32_t> place;
  Coded coded, groups;
  float margin;  // of the centres

 private:
  // the mean of the centres of a group and how far the farthest is from it
  void set_group(const FilteredPass<T>& p, i64 g, double* mean, std::int8_t* codes) {
    const i64 d = p.pass.X.d;
    std::fill(mean, mean + d, 0.0);
    i64 count = 0;
    for (i64 at = p.starts[g]; at < p.starts[g + 1]; ++at) {
      if (p.order[at] < 0) continue;
      ++count;
      for (i64 j = 0; j < d; ++j) mean[j] += double(exact()[at * ld + j]) / p.unit;
    }
    if (!count) return;
    for (i64 j = 0; j < d; ++j) mean[j] /= double(count);
    double radius = 0;
    for (i64 at = p.starts[g]; at < p.starts[g + 1]; ++at) {
      if (p.order[at] < 0) continue;
      double square = 0;
      for (i64 j = 0; j < d; ++j) {
        const double off = double(exact()[at * ld + j]) / p.unit - mean[j];
        square += off * off;
      }
      radius = std::max(radius, std::sqrt(square));
    }
    groups.set(g, mean, radius * (1 + 1e-5), codes);
  }

  Scratch<T> exact_;
};

}  // namespace kg
