// The rows of one thread in a pass with candidate filter and bounds, see kmeans/filter_bounds.cpp.
#pragma once
#include "kmeans/filter_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kg {

// One thread's strip of rows in a pass.
template <class T> class Hold {
  static constexpr float kBelow = 1 - 2e-6f, kAbove = 1 + 2e-6f;  // what float32 loses, and more

 public:
  Hold(const FilteredBoundsPass<T>& bounds, const CodedCentres<T>& centres)
      : h_(bounds), s_(bounds.filtered), p_(s_.pass), c_(centres), f_(filter_loops()), d_(p_.X.d),
        lines_(lines_of(d_)), blocks_(c_.coded, s_.order, s_.places), all_(blocks_.all),
        farthest_(bounds.known ? largest() : 0),
        rows_(1, f_.rows * c_.ld), strip_(1, f_.rows * lines_ * kLine),
        scores_(1, places() * f_.rows), bounds_(1, all_.blocks * f_.rows), exact_(places() * f_.rows, -1.0f),
        spread_(f_.rows), margin_(f_.rows), inverse_(f_.rows), half_(f_.rows),
        least_(f_.rows), fresh_(h_.ld), at_(f_.rows), needed_(f_.rows), own_(f_.rows), now_(f_.rows),
        best_(f_.rows), read_(f_.rows), codes_(f_.rows), found_(f_.rows * (places() + 1)), away_(found_.size()) {
    std::fill(rows_.block(0), rows_.block(0) + f_.rows * c_.ld, T(0));
  }

  // The blocks that row i has to be compared with, as bits; its bounds move with the centres.
  std::uint64_t needed(i64 i) const {
    float &upper = s_.about[i].upper, &least = h_.least[i];
    upper = (upper + s_.moved[p_.labels[i]]) * kAbove;
    least = (least - farthest_) * kBelow;
    if (upper < least) return 0;
    std::uint64_t bits;
    least = f_.below(lower(i), h_.drift, h_.ld, upper, &bits);
    return bits & every_;
  }

  // Up to a strip of the rows listed, `needed` has their blocks; adds to sums, counts exact
  // distances and blocks. `more` rows follow.
  void take(const std::int32_t* rows, i64 m, i64 more, const std::uint64_t* needed, double* sums,
            double* counted) {
    m_ = m;
    gather(rows, more, needed);
    score();
    for (i64 i = 0; i < m_; ++i)
      for (i64 b = 0; b < h_.ld; b += 16) __builtin_prefetch(lower(at_[i]) + b, 1);
    const i64 pairs = likely();
    f_.bounds(scores_.block(0), blocks_.some, spread_.data(), half_.data(), inverse_.data(), own_.data(),
              bounds_.block(0));
    counted[0] += double(decide(pairs));
    counted[1] += double(m_ * blocks_.some.blocks) / double(all_.blocks);
    for (i64 i = 0; i < m_; ++i) settle(i, sums);
    for (const Pair& pair : pairs_) exact_[pair.place * f_.rows + pair.row] = -1;
    for (i64 i = 0; i < m_; ++i) exact_[own_[i] * f_.rows + i] = -1;
  }

  // the weighted squared distance of row i from its own centre
  double measure(i64 i) {
    const T away = loops<T>().squared_distance(load(i, rows_.block(0)),
                                               p_.C + i64(p_.labels[i]) * d_, d_);
    return static_cast<double>(p_.w ? p_.w[i] : T(1)) * static_cast<double>(away);
  }

 private:
  i64 places() const { return kBlockCentres * all_.blocks; }
  float* lower(i64 i) const { return h_.lower + i * h_.ld; }
  float largest() const { return *std::max_element(s_.moved, s_.moved + p_.k) * kAbove; }
  const T* load(i64 i, T* to) const {
    loops<T>().pack(p_.X.at(i, 0), 1, d_, p_.X.rs, p_.X.cs, p_.shift, nullptr, to, c_.ld);
    return to;
  }

  // the codes of the rows and what is known of them
  void gather(const std::int32_t* rows, i64 more, const std::uint64_t* needed) {
    const i64 width = lines_ * kLine;
    for (i64 i = 0; i < f_.rows; ++i) {
      at_[i] = rows[std::min(i, m_ - 1)];
      codes_[i] = s_.codes + at_[i] * width;
      QuantisedRow& row = s_.about[at_[i]];
      inverse_[i] = row.inverse;
      spread_[i] = row.spread;
      half_[i] = row.half;
      margin_[i] = row.half > -kAlways / 2 ? c_.margin * row.inverse : kAlways;
      needed_[i] = h_.known ? needed[at_[i]] : ~std::uint64_t(0);
      least_[i] = h_.known ? limit(row) : -kAlways;
      if (!h_.known) row.upper = kAlways;
      read_[i] = 0;
    }
    f_.gather(codes_.data(), lines_, strip_.block(0));
    next_ = rows + m_;
    more_ = std::min(more, f_.rows);
  }

  // Calls for the i-th of the rows that follow. A few at a time: memory answers while scores are summed.
  void call(i64 i) const {
    const i64 next = next_[i], width = lines_ * kLine;
    __builtin_prefetch(s_.about + next, 1);
    __builtin_prefetch(p_.labels + next);
    for (i64 k = 0; k < width; k += 64) __builtin_prefetch(s_.codes + next * width + k);
  }

  // what the score of another centre has to reach, over the row's step
  float limit(const QuantisedRow& row) const {
    const float away = row.upper * row.upper * wide_;
    return away < float(kLargestSquare) ? row.half - away * row.inverse : -kAlways;
  }

  // The blocks that some row needs, and those of the rows' own centres; the places among them.
  void score() {
    std::uint64_t bits = 0;
    for (i64 i = 0; i < m_; ++i) {
      bits |= needed_[i];
      if (p_.follow) bits |= std::uint64_t(1) << c_.place[p_.labels[at_[i]]] / kBlockCentres;
    }
    blocks_.clear();
    std::fill(fresh_.begin(), fresh_.end(), -kAlways);
    const i64 wanted = __builtin_popcountll(bits);
    for (i64 b = 0, called = 0; b < all_.blocks; ++b) {
      if (!(bits >> b & 1)) continue;
      const i64 j = blocks_.add(b);
      while (called < more_ * (j + 1) / wanted) call(called++);
      f_.score(strip_.block(0), c_.coded.block(b), inverse_.data(),
               scores_.block(0) + j * kBlockCentres * f_.rows);
    }
    if (!p_.follow) f_.best(scores_.block(0), kBlockCentres * blocks_.some.blocks, own_.data());
    for (i64 i = 0; i < f_.rows; ++i) {
      if (p_.follow) own_[i] = blocks_.local(c_.place[p_.labels[at_[i]]]);
      now_[i] = own_[i];
    }
  }

  float high(const Pair& pair) const {
    return scores_.block(0)[pair.place * f_.rows + pair.row] + blocks_.reach(pair.place) * spread_[pair.row];
  }

  // the pairs that neither codes nor bounds rule out
  i64 likely() {
    f_.sure(scores_.block(0), blocks_.some, spread_.data(), margin_.data(), least_.data());
    const i64 count =
        f_.pick(scores_.block(0), blocks_.some, spread_.data(), least_.data(), own_.data(), found_.data());
    i64 kept = 0;
    for (i64 p = 0; p < count; ++p) {
      const Pair pair = found_[p];
      if (pair.row >= m_ || blocks_.centre(pair.place) < 0) continue;
      found_[kept] = pair;
      const bool near = (needed_[pair.row] >> blocks_.block(pair.place / kBlockCentres) & 1) && !behind(pair);
      kept += near;
      if (near) fetch(at_[pair.row]);
    }
    return kept;
  }

  // Whether the codes tell that a centre is not nearer than the row's own: of the difference of two
  // scores they know more than of either.
  bool behind(const Pair& pair) {
    const std::int32_t own = own_[pair.row];
    const float* scores = scores_.block(0) + pair.row;
    const float lead = scores[own * f_.rows] - scores[pair.place * f_.rows];
    return lead > blocks_.apart(own, pair.place) * spread_[pair.row] + margin_[pair.row];
  }

  // the beginning of a row, which will be read; the rest follows by itself
  void fetch(i64 i) const {
    constexpr i64 line = 64 / i64(sizeof(T));
    for (i64 k = 0; k < std::min(d_, 12 * line) && p_.X.cs == 1; k += line)
      __builtin_prefetch(p_.X.at(i, k));
  }

  // The exact distances of what is left; of two equal ones the first centre's counts.
  i64 decide(i64 count) {
    pairs_.assign(found_.begin(), found_.begin() + count);
    i64 rows = 0;
    for (i64 i = 0; i < m_ && !p_.follow; ++i) found_[rows++] = opened(i);
    for (const Pair& pair : pairs_)
      if (!read_[pair.row]) found_[rows++] = opened(pair.row);
    exact(rows);
    for (i64 p = 0; p < rows; ++p) {
      const i64 i = found_[p].row;
      best_[i] = away_[p];
      s_.about[at_[i]].upper = static_cast<float>(std::sqrt(double(away_[p])) * per_unit_);
      least_[i] = std::max(least_[i], limit(s_.about[at_[i]]));
    }
    std::erase_if(pairs_, [this](const Pair& pair) { return high(pair) < least_[pair.row]; });
    std::copy(pairs_.begin(), pairs_.end(), found_.begin());
    exact(static_cast<i64>(pairs_.size()));
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const auto [place, row] = pairs_[p];
      if (away_[p] > best_[row] || (away_[p] == best_[row] && blocks_.centre(place) > blocks_.centre(now_[row])))
        continue;
      best_[row] = away_[p];
      now_[row] = place;
    }
    for (const Pair& pair : pairs_) again(pair.row, pair.place / kBlockCentres);
    return rows + static_cast<i64>(pairs_.size());
  }

  Pair opened(i64 i) {
    load(at_[i], rows_.block(0) + i * c_.ld);
    read_[i] = 1;
    return {own_[i], static_cast<std::int32_t>(i)};
  }

  // the distances of the first `count` pairs of found_, also as bounds from below
  void exact(i64 count) {
    for (i64 p = 0; p < count; ++p) found_[p].place = blocks_.global(found_[p].place);
    pair_loops<T>().distances(rows_.block(0), c_.exact(), c_.ld, found_.data(), count, away_.data());
    for (i64 p = 0; p < count; ++p) {
      const auto [place, row] = found_[p];
      const i64 local = blocks_.local(place);
      const double from_below = std::min(std::sqrt(double(away_[p])) * under_unit_, 0.1 * kAlways);
      exact_[local * f_.rows + row] = static_cast<float>(from_below);
    }
  }

  // the bound of row i to the j-th block listed, with what has been measured
  void again(i64 i, i64 j) {
    float nearest = std::numeric_limits<float>::infinity();
    for (i64 r = 0; r < kBlockCentres; ++r) {
      const Pair pair{static_cast<std::int32_t>(j * kBlockCentres + r), static_cast<std::int32_t>(i)};
      if (pair.place == now_[i] || blocks_.centre(pair.place) < 0) continue;
      const float known = exact_[pair.place * f_.rows + i];
      const float left = std::max(0.0f, half_[i] - high(pair)) * 2 / inverse_[i];
      nearest = std::min(nearest, known >= 0 ? known : std::sqrt(left) * kBelow);
    }
    bounds_.block(0)[j * f_.rows + i] = nearest;
  }

  void settle(i64 i, double* sums) {
    const i64 at = at_[i];
    const std::int32_t label = blocks_.centre(now_[i]);
    const bool moves = !p_.follow || now_[i] != own_[i];
    if (moves) {
      const T w = p_.w ? p_.w[at] : T(1), *x = rows_.block(0) + i * c_.ld;
      if (p_.follow) add(x, -w, sums + i64(p_.labels[at]) * (d_ + 1));
      add(x, w, sums + i64(label) * (d_ + 1));
      p_.labels[at] = label;
      again(i, own_[i] / kBlockCentres);  // the centre left behind counts again
    }
    if (read_[i])
      s_.about[at].upper = static_cast<float>(std::sqrt(double(best_[i])) * per_unit_);
    else
      tighten(i);
    bound(i, moves ? blocks_.block(own_[i] / kBlockCentres) : -1);
  }

  // The codes bound the distance from the own centre as well.
  void tighten(i64 i) const {
    const Pair pair{own_[i], static_cast<std::int32_t>(i)};
    const float low = high(pair) - 2 * blocks_.reach(pair.place) * spread_[i];
    const float left = half_[i] * norms_ - low + margin_[i] + float(kNegligible) * inverse_[i];
    float& upper = s_.about[at_[i]].upper;
    if (left > 0 && left < float(kLargestSquare))
      upper = std::min(upper, std::sqrt(2 * left / inverse_[i]) * kAbove);
  }

  // What the blocks listed say now, where it is more than was known; nothing is of block `lost`.
  void bound(i64 i, i64 lost) {
    float* to = lower(at_[i]);
    if (!h_.known) {
      std::fill(to, to + all_.blocks, -kAlways);
      std::fill(to + all_.blocks, to + h_.ld, std::numeric_limits<float>::infinity());
    }
    if (lost >= 0) to[lost] = -kAlways;
    for (i64 j = 0; j < blocks_.some.blocks; ++j) fresh_[blocks_.block(j)] = bounds_.block(0)[j * f_.rows + i];
    h_.least[at_[i]] = f_.raise(to, h_.drift, fresh_.data(), h_.ld) * kBelow;
  }

  void add(const T* x, T w, double* sum) const {
    loops<T>().add_row(x, d_, w, sum);
    sum[d_] += static_cast<double>(w);
  }

  const FilteredBoundsPass<T>& h_;
  const FilteredPass<T>& s_;
  const ClusterPass<T>& p_;
  const CodedCentres<T>& c_;
  const FilterLoops& f_;
  const i64 d_, lines_;
  ListedBlocks blocks_;
  const CodedBlocks& all_;
  const float farthest_;
  const std::uint64_t every_ = ~std::uint64_t(0) >> (64 - all_.blocks);
  const float wide_ = static_cast<float>(0.5 * (1 + rounding(d_)));
  const float norms_ = static_cast<float>(1 + 4 * rounding(d_));
  const double per_unit_ = (1 + rounding(d_)) / s_.unit, under_unit_ = (1 - rounding(d_)) / s_.unit;
  Scratch<T> rows_;
  Scratch<std::uint8_t> strip_;
  Scratch<float> scores_, bounds_;
  std::vector<float> exact_;  // [place][row], -1 where not measured
  std::vector<float> spread_, margin_, inverse_, half_, least_, fresh_;
  std::vector<i64> at_;
  std::vector<std::uint64_t> needed_;
  std::vector<std::int32_t> own_, now_;  // places among the blocks listed
  std::vector<T> best_;
  std::vector<char> read_;
  std::vector<const std::uint8_t*> codes_;
  std::vector<Pair> found_, pairs_;
  std::vector<T> away_;
  const std::int32_t* next_ = nullptr;  // the rows that follow
  i64 m_ = 0, more_ = 0;
};

}  // namespace kg
