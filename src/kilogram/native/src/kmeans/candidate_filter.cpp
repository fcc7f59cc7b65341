// Lloyd's iteration with a quantised candidate filter.
//
// Every row and every centre is rounded to bytes with a step of its own, x = a X + e, c = b G + f, and
//     <x, c>  <=  a b <X, G> + |e| |c| + |a X| |f|
// whose first term is summed four times as fast as in float32. With s(c) = <x, c> - |c|^2 / 2 the
// distance is |x|^2 - 2 s(c): a centre whose s(c) stays below that of the row's last centre, even with
// all that rounding may have taken, is not looked at. The exact distance decides between the others,
// so the labels are those of a plain pass. The two error terms are bounded together as
//     |e| |c| + |a X| |f|  <=  sqrt(u |e|^2 + |a X|^2 / u) sqrt(|c|^2 / u + u |f|^2)      for any u > 0
// The distance from the own centre is known from above: it grows by no more than the centre moves. So a
// row that nothing else comes near is not even read; the bound is made exact when something does. Where
// centres are few, all their scores are kept at once, and the best of them tells as much.
// Centres that lie together make a group of mean g and radius r: no centre of it is nearer to x than
// |x - g| - r, and once the rows of one cluster stand side by side most groups are left out by that.
#include "kmeans/coded_centres.hpp"
#include "kmeans/lanes.hpp"

#include <iterator>
#include <numeric>
#include <utility>

namespace kg {

namespace {

constexpr float kLargeMove = 0.02f;  // of the distance from the own centre, for that centre to move
constexpr i64 kFewBlocks = 48;  // of which all scores are kept
constexpr i64 kSampledOneIn = 2;     // else one of so many blocks gives a first centre where none is known

// One thread's strip of rows in a pass.
template <class T> class Sift {
 public:
  Sift(const FilteredPass<T>& filtered, const CodedCentres<T>& centres, const std::int32_t* rows)
      : s_(filtered), p_(filtered.pass), c_(centres), f_(filter_loops()), order_(rows), d_(p_.X.d),
        lines_(lines_of(d_)), blocks_(c_.coded.blocks()), groups_(c_.groups.blocks()),
        scored_(first_of(blocks_)),
        rows_(1, f_.rows * c_.ld), strip_(1, f_.rows * lines_ * kLine),
        scores_(1, 4 * scored_.blocks * f_.rows), spread_(f_.rows), margin_(f_.rows),
        inverse_(f_.rows), least_(f_.rows), upper_(f_.rows), at_(f_.rows), own_(f_.rows),
        label_(f_.rows), best_(f_.rows), read_(f_.rows), codes_(f_.rows), open_(4 * groups_.blocks),
        listed_(blocks_.blocks - scored_.blocks), found_(f_.rows * blocks_.blocks * 4 + f_.rows),
        away_(found_.size()) {
    std::fill(rows_.block(0), rows_.block(0) + f_.rows * c_.ld, T(0));
    std::iota(listed_.begin(), listed_.end(), static_cast<std::int32_t>(scored_.blocks));
  }

  // strip s; adds to sums (k, d + 1), counts exact distances and blocks; the inertia if measured
  double take(i64 s, double* sums, double* counted) {
    gather(s * f_.rows);
    begin();
    const StripLimits limits{spread_.data(), inverse_.data(), least_.data(), upper_.data()};
    // rows that are measured know more than the best of the scores
    if (scored_.blocks && p_.follow)
      f_.sure(scores_.block(0), scored_, spread_.data(), margin_.data(), least_.data());
    i64 count = f_.pick(scores_.block(0), scored_, spread_.data(), least_.data(), own_.data(), found_.data());
    const i64 blocks = gated(limits);
    count += f_.sift(strip_.block(0), blocks_, listed_.data(), blocks, limits, own_.data(),
                     found_.data() + count);
    if (count) count = decide(count);
    counted[0] += double(count);
    counted[1] += double(m_ * (blocks + scored_.blocks)) / double(blocks_.blocks);
    double inertia = 0;
    for (i64 i = 0; i < m_; ++i)
      if (read_[i]) inertia += settle(at_[i], i, sums);
    busy_ = 2 * std::count(read_.begin(), read_.begin() + m_, 1) > m_;
    return inertia;
  }

 private:
  QuantisedRow& about(i64 i) const { return s_.about[at_[i]]; }

  // the first blocks, whose scores are kept: all, or some to guess from, or none
  CodedBlocks first_of(CodedBlocks blocks) const {
    const bool few = blocks.blocks <= kFewBlocks && !s_.starts;
    blocks.blocks = few ? blocks.blocks : p_.follow ? 0 : ceil_div(blocks.blocks, kSampledOneIn);
    return blocks;
  }

  // the rows first.. of the order, or of X; those that follow are called for
  void gather(i64 first) {
    const i64 n = p_.X.n, width = lines_ * kLine;
    m_ = std::min(f_.rows, n - first);
    for (i64 i = 0; i < f_.rows; ++i) {
      const i64 from = std::min(first + i, n - 1), next = std::min(from + f_.rows, n - 1);
      at_[i] = order_ ? order_[from] : from;
      codes_[i] = s_.codes + at_[i] * width;
      if (!order_) continue;
      __builtin_prefetch(s_.about + order_[next], 1);
      __builtin_prefetch(p_.labels + order_[next]);
      for (i64 k = 0; busy_ && k < d_; k += 64 / i64(sizeof(T)))
        __builtin_prefetch(p_.X.at(order_[next], k));
      for (i64 k = 0; k < width; k += 64)
        __builtin_prefetch(s_.codes + i64(order_[next]) * width + k);
    }
    f_.gather(codes_.data(), lines_, strip_.block(0));
  }

  // every row's own centre, or one that seems near, and what another must reach to be nearer
  void begin() {
    for (i64 i = 0; i < f_.rows; ++i) {
      inverse_[i] = about(i).inverse;
      spread_[i] = about(i).spread;
      least_[i] = kAlways;
      margin_[i] = about(i).half > -kAlways / 2 ? c_.margin * inverse_[i] : kAlways;
      upper_[i] = 0;
      read_[i] = 0;
    }
    if (scored_.blocks)
      f_.score(strip_.block(0), scored_, inverse_.data(), scores_.block(0));
    if (!p_.follow) f_.best(scores_.block(0), 4 * scored_.blocks, own_.data());
    i64 count = 0;
    for (i64 i = 0; i < m_; ++i) {
      if (p_.follow) own_[i] = c_.place[p_.labels[at_[i]]];
      label_[i] = s_.order[own_[i]];
      if (loose(i))
        found_[count++] = {own_[i], static_cast<std::int32_t>(i)};
      else
        limit(i);
    }
    from_own(count);
  }

  // Moves the bound of a row's distance with its centre: whether it says too little now.
  bool loose(i64 i) const {
    if (!p_.follow || !s_.moved || p_.measure) return true;
    float& upper = about(i).upper;
    const float moved = s_.moved[label_[i]];
    upper = (upper + moved) * 1.000001f;
    return !scored_.blocks && moved > kLargeMove * upper;
  }

  // what another centre's score has to reach, over the row's step
  void limit(i64 i) {
    const QuantisedRow& row = about(i);
    const float away = row.upper * row.upper * half_;
    const bool near = away < float(kLargestSquare);
    least_[i] = near ? row.half - away * row.inverse : -kAlways;
    upper_[i] = near ? row.upper * row.inverse : 0;
  }

  // The rows that stand first in found_, each with its own place: read, and measured from there.
  void from_own(i64 count) {
    for (i64 p = 0; p < count; ++p) {
      const i64 i = found_[p].row;
      loops<T>().pack(p_.X.at(at_[i], 0), 1, d_, p_.X.rs, p_.X.cs, p_.shift, nullptr,
                      rows_.block(0) + i * c_.ld, c_.ld);
      read_[i] = 1;
    }
    pair_loops<T>().distances(rows_.block(0), c_.exact(), c_.ld, found_.data(), count, away_.data());
    for (i64 p = 0; p < count; ++p) {
      const i64 i = found_[p].row;
      best_[i] = away_[p];
      raise(i);
      limit(i);
    }
  }

  // the bound of a row whose distance is known
  void raise(i64 i) {
    about(i).upper = static_cast<float>(std::sqrt(best_[i]) * per_unit_);
  }

  // lists the blocks of the groups that may be near enough; how many
  i64 gated(const StripLimits& limits) {
    if (!s_.starts) return static_cast<i64>(listed_.size());
    f_.gate(strip_.block(0), groups_, limits, open_.data());
    i64 count = 0;
    for (i64 g = 0; g < s_.groups; ++g)
      for (i64 b = s_.starts[g] / 4; open_[g] && b < s_.starts[g + 1] / 4; ++b)
        listed_[count++] = static_cast<std::int32_t>(b);
    return count;
  }

  // the exact distances of the pairs that came through; of two equal ones the first centre's counts
  i64 decide(i64 count) {
    i64 rows = 0, kept = 0;
    pairs_.clear();  // some may be of lanes without a row
    std::copy_if(found_.begin(), found_.begin() + count, std::back_inserter(pairs_),
                 [this](const Pair& pair) { return pair.row < m_; });
    for (const Pair& pair : pairs_)
      if (!read_[pair.row]) {
        read_[pair.row] = 1;
        found_[rows++] = {own_[pair.row], pair.row};
      }
    from_own(rows);
    for (const Pair& pair : pairs_) {
      found_[kept] = pair;
      kept += pair.place < s_.places && s_.order[pair.place] >= 0;
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
    if (label_[i] != s_.order[own_[i]]) raise(i);
    return static_cast<double>(w) * static_cast<double>(best_[i]);
  }

  void add(const T* x, T w, double* sum) const {
    loops<T>().add_row(x, d_, w, sum);
    sum[d_] += static_cast<double>(w);
  }

  const FilteredPass<T>& s_;
  const ClusterPass<T>& p_;
  const CodedCentres<T>& c_;
  const FilterLoops& f_;
  const std::int32_t* order_;
  const i64 d_, lines_;
  const float half_ = static_cast<float>(0.5 * (1 + rounding(d_)));
  const double per_unit_ = (1 + rounding(d_)) / s_.unit;
  const CodedBlocks blocks_, groups_, scored_;
  Scratch<T> rows_;
  Scratch<std::uint8_t> strip_;
  Scratch<float> scores_;
  std::vector<float> spread_, margin_, inverse_, least_, upper_;
  std::vector<i64> at_;
  std::vector<std::int32_t> own_, label_;
  std::vector<T> best_;
  std::vector<char> read_;
  std::vector<const std::uint8_t*> codes_;
  std::vector<std::uint8_t> open_;
  std::vector<std::int32_t> listed_;
  std::vector<Pair> found_, pairs_;
  std::vector<T> away_;
  i64 m_ = 0;
  bool busy_ = true;  // most rows of the last strip were read
};

}  // namespace

void by_place(const std::int32_t* labels, i64 n, const std::vector<std::int32_t>& place, int threads,
              std::int32_t* order) {
  const i64 places = place.empty() ? 0 : *std::max_element(place.begin(), place.end()) + 1;
  std::vector<std::vector<i64>> at(threads, std::vector<i64>(places, 0));  // [part][place]
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; ++t)
    for (i64 i = n * t / threads; i < n * (t + 1) / threads; ++i) ++at[t][place[labels[i]]];
  i64 start = 0;
  for (i64 p = 0; p < places; ++p)
    for (std::vector<i64>& part : at) start += std::exchange(part[p], start);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; ++t)
    for (i64 i = n * t / threads; i < n * (t + 1) / threads; ++i)
      order[at[t][place[labels[i]]]++] = static_cast<std::int32_t>(i);
}

template <class T> PassTerms filtered_pass(const FilteredPass<T>& filtered, int threads) {
  const CodedCentres<T> centres(filtered, threads);
  std::vector<std::int32_t> order(filtered.starts && filtered.pass.follow ? filtered.pass.X.n : 0);
  if (!order.empty())
    by_place(filtered.pass.labels, filtered.pass.X.n, centres.place, threads, order.data());
  std::vector<Sift<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t)
    team.emplace_back(filtered, centres, order.empty() ? nullptr : order.data());
  const i64 n = filtered.pass.X.n, size = filtered.pass.k * (filtered.pass.X.d + 1);
  PassTerms terms = in_lanes(filtered.pass, ceil_div(n, filter_loops().rows), threads,
                             [&](i64 s, int thread, double* sums) {
                               return team[thread].take(s, sums, sums + size);
                             });
  terms.looked /= double(n);
  terms.opened /= double(n);
  return terms;
}

template PassTerms filtered_pass<float>(const FilteredPass<float>&, int);
template PassTerms filtered_pass<double>(const FilteredPass<double>&, int);

}  // namespace kg
