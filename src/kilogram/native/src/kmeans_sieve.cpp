// Lloyd's step behind a sieve of whole numbers.
//
// Every row and every centre is rounded to bytes with a step of its own, x = a X + e, c = b G + f, and
//     <x, c>  <=  a b <X, G> + |e| |c| + |a X| |f|
// whose first term is summed four times as fast as in float32. With s(c) = <x, c> - |c|^2 / 2 the
// distance is |x|^2 - 2 s(c): a centre whose s(c) stays below that of the row's last centre, even with
// all that rounding may have taken, is not looked at. The exact distance decides between the others,
// so the labels are those of a plain pass. The two error terms are bounded together as
//     |e| |c| + |a X| |f|  <=  sqrt(u |e|^2 + |a X|^2 / u) sqrt(|c|^2 / u + u |f|^2)      for any u > 0
// The distance from the own centre is known from above: it grows by no more than the centre moves. So a
// row that nothing else comes near is not even read; the bound is made exact when something does.
#include "kmeans_sieve.hpp"
#include "kmeans_lanes.hpp"
#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace kg {

namespace {

constexpr i64 kFour = 4;
constexpr float kMuch = 0.02f;      // of the distance from the own centre, for that centre to move
constexpr i64 kManyBlocks = 32, kSomeBlocks = 4;  // of so many blocks one of four tells a good guess

// The centres at their places: exact, and as codes with what they may be off by.
template <class T> class CodedCentres {
 public:
  explicit CodedCentres(const SievedPass<T>& p)
      : k_(p.pass.k), d_(p.pass.X.d), blocks(ceil_div(k_, kFour)), quads(quads_of(d_)),
        ld(ceil_div(d_, pair_loops<T>().lanes) * pair_loops<T>().lanes), place(k_),
        exact_(1, blocks * kFour * ld), codes_(blocks * size(), 0), scale_(blocks * kFour, 0.0f),
        half_(blocks * kFour, std::numeric_limits<float>::infinity()), reach_(scale_) {
    std::fill(exact(), exact() + blocks * kFour * ld, T(0));
    for (i64 at = 0; at < k_; ++at) {
      place[p.order[at]] = static_cast<std::int32_t>(at);
      const T* c = p.pass.C + i64(p.order[at]) * d_;
      std::copy(c, c + d_, exact() + at * ld);
      encode(c, 1 / p.unit, p.balance, at);
    }
  }
  T* exact() const { return exact_.block(0); }
  const std::int8_t* codes() const { return codes_.data(); }
  const float* scale() const { return scale_.data(); }
  const float* half() const { return half_.data(); }
  const float* reach() const { return reach_.data(); }

 private:
  i64 k_, d_;

 public:
  const i64 blocks, quads, ld;
  std::vector<std::int32_t> place;

 private:
  i64 size() const { return 4 * kFour * (quads + ceil_div(quads, kChunkQuads)); }

  void encode(const T* c, double unit, double balance, i64 at) {
    double top = 0, longest = 0, halves[2], squares = 0, off = 0;
    for (i64 j = 0; j < d_; ++j) {
      if (j % (4 * kChunkQuads) == 0) halves[0] = halves[1] = 0;
      const double v = double(c[j]) * unit;
      top = std::max(top, std::fabs(v));
      longest = std::max(longest, halves[j / 2 % 2] += v * v);
      squares += v * v;
    }
    const double most = std::max(std::sqrt(longest) / kCentreLength, top / kCentreCode);
    const double step = most > 0 ? most : 1, inverse = unit / step;
    std::vector<std::int8_t> codes(4 * quads, 0);
    for (i64 j = 0; j < d_; ++j) {
      const double v = double(c[j]) * inverse, whole = std::nearbyint(v);
      codes[j] = static_cast<std::int8_t>(std::clamp(whole, -double(kCentreCode), double(kCentreCode)));
      off += (v - codes[j]) * (v - codes[j]);
    }
    put(codes, at);
    const double slack = rounding(d_), left = std::sqrt(off) * step + slack * std::sqrt(squares);
    const bool far_out = !(squares < kFarOut);
    scale_[at] = far_out ? 0 : static_cast<float>(step);
    half_[at] = far_out ? -kAlways : static_cast<float>(squares / 2 * (1 - slack));
    if (!far_out)
      reach_[at] = static_cast<float>(std::sqrt(squares / balance + balance * left * left) *
                                      (1 + slack));
  }

  void put(const std::vector<std::int8_t>& codes, i64 at) {
    std::int8_t* to = codes_.data() + at / kFour * size() + at % kFour * 4;
    for (i64 q0 = 0; q0 < quads; q0 += kChunkQuads) {
      const i64 q1 = std::min(quads, q0 + kChunkQuads);
      std::int32_t sums[2] = {0, 0};
      for (i64 j = 4 * q0; j < 4 * q1; ++j) sums[j / 2 % 2] -= kMiddle * codes[j];
      const std::int16_t start[2] = {static_cast<std::int16_t>(sums[0]),
                                     static_cast<std::int16_t>(sums[1])};
      std::memcpy(to, start, 4);
      to += 4 * kFour;
      for (i64 q = q0; q < q1; ++q, to += 4 * kFour) std::memcpy(to, codes.data() + 4 * q, 4);
    }
  }

  Scratch<T> exact_;
  std::vector<std::int8_t> codes_;
  std::vector<float> scale_, half_, reach_;
};

// One thread's strip of rows on its way.
template <class T> class Sift {
 public:
  Sift(const SievedPass<T>& sieved, const CodedCentres<T>& centres)
      : s_(sieved), p_(sieved.pass), c_(centres), f_(sieve_loops()), d_(p_.X.d),
        rows_(1, f_.rows * c_.ld), spread_(f_.rows), inverse_(f_.rows), least_(f_.rows),
        own_(f_.rows), best_(f_.rows), label_(f_.rows), read_(f_.rows),
        found_(f_.rows * c_.blocks * kFour + f_.rows), away_(found_.size()) {
    std::fill(rows_.block(0), rows_.block(0) + f_.rows * c_.ld, T(0));
  }

  // strip s; adds to sums (k, d + 1), counts the exact distances; returns the inertia if measured
  double take(i64 s, double* sums, double& looked) {
    first_ = s * f_.rows;
    m_ = std::min(f_.rows, p_.X.n - first_);
    const std::uint8_t* strip = s_.codes + s * f_.rows * 4 * c_.quads;
    begin(strip);
    i64 count =
        f_.sift(strip, c_.quads, c_.codes(), c_.scale(), c_.reach(), c_.half(), c_.blocks,
                spread_.data(), inverse_.data(), least_.data(), own_.data(), found_.data());
    if (count) count = decide(count);
    looked += double(count);
    double inertia = 0;
    for (i64 i = 0; i < m_; ++i)
      if (read_[i]) inertia += settle(first_ + i, i, sums);
    return inertia;
  }

 private:
  const Sieved& about(i64 i) const { return s_.about[first_ + i]; }

  // every row's own centre, or one that seems near, and what another must reach to be nearer
  void begin(const std::uint8_t* strip) {
    for (i64 i = 0; i < f_.rows; ++i) {
      const bool there = i < m_;
      inverse_[i] = there ? about(i).inverse : 1.0f;
      spread_[i] = there ? about(i).spread : 0.0f;
      least_[i] = kAlways;
      read_[i] = 0;
    }
    if (!p_.follow)
      f_.guess(strip, c_.quads, c_.codes(), c_.scale(), c_.half(), c_.blocks,
               c_.blocks < kManyBlocks ? 1 : kSomeBlocks, inverse_.data(), own_.data());
    i64 count = 0;
    for (i64 i = 0; i < m_; ++i) {
      if (p_.follow) own_[i] = c_.place[p_.labels[first_ + i]];
      label_[i] = s_.order[own_[i]];
      if (loose(i))
        found_[count++] = {own_[i], static_cast<std::int32_t>(i)};
      else
        least_[i] = limit(i);
    }
    from_own(count);
  }

  // Moves the bound of a row's distance with its centre: whether it says too little now.
  bool loose(i64 i) {
    if (!p_.follow || !s_.moved) return true;
    float& upper = s_.about[first_ + i].upper;
    const float moved = s_.moved[label_[i]];
    upper = (upper + moved) * 1.000001f;
    return p_.measure || moved > kMuch * upper;
  }

  // what another centre's score has to reach, over the row's step
  float limit(i64 i) const {
    const float away = about(i).upper * about(i).upper / 2 * float(1 + rounding(d_));
    return away < float(kFarOut) ? about(i).half - away * about(i).inverse : -kAlways;
  }

  // The rows that stand first in found_, each with its own place: read, and measured from there.
  void from_own(i64 count) {
    for (i64 p = 0; p < count; ++p) {
      const i64 i = found_[p].row;
      loops<T>().pack(p_.X.at(first_ + i, 0), 1, d_, p_.X.rs, p_.X.cs, p_.shift, nullptr,
                      rows_.block(0) + i * c_.ld, c_.ld);
      read_[i] = 1;
    }
    pair_loops<T>().distances(rows_.block(0), c_.exact(), c_.ld, found_.data(), count, away_.data());
    for (i64 p = 0; p < count; ++p) {
      const i64 i = found_[p].row;
      best_[i] = away_[p];
      raise(i);
      least_[i] = limit(i);
    }
  }

  // the bound of a row whose distance is known
  void raise(i64 i) {
    s_.about[first_ + i].upper =
        static_cast<float>(std::sqrt(double(best_[i])) / s_.unit * (1 + rounding(d_)));
  }

  // the exact distances of the pairs that came through; of two equal ones the first centre's counts
  i64 decide(i64 count) {
    i64 rows = 0, kept = 0;
    pairs_.assign(found_.begin(), found_.begin() + count);
    for (const Pair& pair : pairs_)
      if (!read_[pair.row]) {
        read_[pair.row] = 1;
        found_[rows++] = {own_[pair.row], pair.row};
      }
    from_own(rows);
    for (const Pair& pair : pairs_) {
      found_[kept] = pair;
      kept += pair.place < p_.k;
    }
    pair_loops<T>().distances(rows_.block(0), c_.exact(), c_.ld, found_.data(), kept, away_.data());
    for (i64 p = 0; p < kept; ++p) {
      const std::int32_t row = found_[p].row, label = s_.order[found_[p].place];
      if (away_[p] > best_[row] || (away_[p] == best_[row] && label > label_[row])) continue;
      best_[row] = away_[p];
      label_[row] = label;
    }
    return rows + kept;
  }

  double settle(i64 at, i64 i, double* sums) {
    const std::int32_t label = label_[i], old = p_.follow ? p_.labels[at] : -1;
    const T w = p_.w ? p_.w[at] : T(1), *x = rows_.block(0) + i * c_.ld;
    if (label != old) {
      if (old >= 0) add(x, -w, sums + old * (d_ + 1));
      add(x, w, sums + label * (d_ + 1));
      p_.labels[at] = label;
    }
    raise(i);
    return static_cast<double>(w) * static_cast<double>(best_[i]);
  }

  void add(const T* x, T w, double* sum) const {
    loops<T>().add_row(x, d_, w, sum);
    sum[d_] += static_cast<double>(w);
  }

  const SievedPass<T>& s_;
  const ClusterPass<T>& p_;
  const CodedCentres<T>& c_;
  const SieveLoops& f_;
  const i64 d_;
  Scratch<T> rows_;
  std::vector<float> spread_, inverse_, least_;
  std::vector<std::int32_t> own_;
  std::vector<T> best_;
  std::vector<std::int32_t> label_;
  std::vector<char> read_;
  std::vector<Pair> found_, pairs_;
  std::vector<T> away_;
  i64 first_ = 0, m_ = 0;
};

}  // namespace

template <class T> PassTerms sieved_pass(const SievedPass<T>& sieved, int threads) {
  const CodedCentres<T> centres(sieved);
  std::vector<Sift<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t) team.emplace_back(sieved, centres);
  const i64 n = sieved.pass.X.n, size = sieved.pass.k * (sieved.pass.X.d + 1);
  PassTerms terms = in_lanes(sieved.pass, ceil_div(n, sieve_loops().rows), threads,
                             [&](i64 s, int thread, double* sums) {
                               return team[thread].take(s, sums, sums[size]);
                             });
  terms.looked /= double(n);
  return terms;
}

template PassTerms sieved_pass<float>(const SievedPass<float>&, int);
template PassTerms sieved_pass<double>(const SievedPass<double>&, int);

}  // namespace kg
