#include "trees/column_search.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace kg {
namespace {

constexpr i64 kFew = 20;        // rows up to which comparison sorts faster than buckets
constexpr i64 kMany = 4096;     // rows from which digits sort faster than buckets
constexpr i64 kCrowd = 24;      // rows of a bucket from which it is sorted by halves
constexpr int kDigit = 11;      // bits of a digit
constexpr i64 kSparse = 4;      // distinct values per row up to which counting pays
constexpr i64 kBins = 4096;     // bins of a column, 128 KiB
constexpr i64 kBinned = 12;     // rows from which bins are faster than sorting

std::uint32_t code_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }
std::uint32_t row_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

void insertion_sort(std::uint64_t* keys, i64 m) {
  for (i64 i = 1; i < m; ++i) {
    const std::uint64_t key = keys[i];
    i64 j = i;
    for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
    keys[j] = key;
  }
}

}  // namespace

ColumnSearch::ColumnSearch(const CodedColumns& X, const SplitRules& rules, const NodeTarget& target)
    : X_(X), rules_(rules), target_(target), squares_(target), classes_(target), poisson_(target),
      absolute_(target) {
  if (target.is_pairs() && !rules.random) {
    bins_.assign(kBins, Bin{});
    inside_.assign(kBins, Inside{});
    open_.assign(kBins, 0);
  }
}

Cut ColumnSearch::best(const std::int32_t* rows, const LocalRows* local, i64 column, double slack,
                       double floor, const Bounds& bounds, std::uint64_t draw) {
  m_ = target_.m;
  column_ = column;
  slack_ = slack;
  bounds_ = bounds;
  cut_ = Cut{};
  bar_ = kNone;
  if (static_cast<i64>(keys_.size()) < m_) {
    keys_.resize(m_);
    spare_.resize(m_);
  }
  if (local && bin_ranks(rows, local->ranks(column))) return cut_;
  if (!(local ? gather(rows, local->ranks(column)) : gather(rows, X_.codes + column * X_.n))) return cut_;
  cut_.missing_known = known_ < m_;
  if (is_categorical()) order_categories(draw);
  if (rules_.random) {
    random_cut(draw);
  } else {
    const bool plain = known_ == m_ && !rules_.monotone;
    if (plain && m_ >= kBinned && target_.is_pairs()) {
      bin_pairs(floor);
    } else if (plain && m_ > kFew && target_.has_classes() && !target_.is_pairs() && target_.outputs() == 1 &&
               static_cast<i64>(high_ - low_) * target_.width() < kSparse * m_) {
      count_classes();
    } else {
      sort_keys();
      scan(false);
      if (known_ < m_ && high_ > low_) {
        std::rotate(keys_.begin(), keys_.begin() + known_, keys_.begin() + m_);
        scan(true);
      }
    }
  }
  if (cut_.column >= 0 && is_categorical()) keep_categories();
  return cut_;
}

// Keys of the rows, those with a value first; false where nothing can be cut.
template <class Code> bool ColumnSearch::gather(const std::int32_t* rows, const Code* codes) {
  constexpr Code missing = static_cast<Code>(kMissing);
  std::uint32_t low = kMissing, high = 0;
  std::uint64_t* keys = keys_.data();
  const i64 m = m_;
  i64 known = 0, end = m;
  if (!X_.missing[column_]) {
    for (i64 i = 0; i < m; ++i) {
      if (i + kAhead < m) __builtin_prefetch(codes + rows[i + kAhead]);
      const std::uint32_t code = codes[rows[i]];
      low = std::min(low, code);
      high = std::max(high, code);
      keys[i] = std::uint64_t(code) << 32 | std::uint32_t(i);
    }
    known = m;
  } else {
    for (i64 i = 0; i < m; ++i) {
      const Code code = codes[rows[i]];
      if (code == missing) {
        keys[--end] = std::uint64_t(kMissing) << 32 | std::uint32_t(i);
        continue;
      }
      low = std::min<std::uint32_t>(low, code);
      high = std::max<std::uint32_t>(high, code);
      keys[known++] = std::uint64_t(code) << 32 | std::uint32_t(i);
    }
  }
  low_ = low;
  high_ = high;
  known_ = known;
  return known > 0 && (known < m || low < high);
}

// Codes become places of the categories in order of the mean of the target (the frequency of the
// node's largest class), which holds the best of all subsets for one real target or two classes.
void ColumnSearch::order_categories(std::uint64_t draw) {
  const i64 span = i64(high_) - low_ + 1, K = target_.outputs();
  std::vector<double> weight(span), sum(span);
  i64 chosen = target_.has_classes() ? target_.first_class(0) : 0;
  if (target_.has_classes())
    for (i64 c = chosen; c < target_.first_class(1); ++c)
      if (target_.sums[c] > target_.sums[chosen]) chosen = c;
  for (i64 i = 0; i < known_; ++i) {
    const i64 at = code_of(keys_[i]) - low_, row = row_of(keys_[i]);
    const double value = target_.has_classes() ? double(target_.label[row * K] == chosen) : target_.y[row * K];
    weight[at] += target_.w[row];
    sum[at] += target_.w[row] * value;
  }
  std::vector<std::uint32_t> place(span);
  category_.clear();
  for (i64 at = 0; at < span; ++at)
    if (weight[at] > 0) category_.push_back(static_cast<std::uint32_t>(at));
  const auto hash = [&](std::uint32_t c) { return (draw ^ (c * 0x9e3779b97f4a7c15ull)) * 0xd6e8feb86659fd93ull; };
  std::stable_sort(category_.begin(), category_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return rules_.random ? hash(a) < hash(b) : sum[a] / weight[a] < sum[b] / weight[b];
  });
  for (std::size_t p = 0; p < category_.size(); ++p) place[category_[p]] = static_cast<std::uint32_t>(p);
  for (i64 i = 0; i < known_; ++i)
    keys_[i] = std::uint64_t(place[code_of(keys_[i]) - low_]) << 32 | row_of(keys_[i]);
  for (std::uint32_t& c : category_) c += low_;
  low_ = 0;
  high_ = static_cast<std::uint32_t>(category_.size() - 1);
}

void ColumnSearch::sort_keys() {
  if (known_ <= kFew) return insertion_sort(keys_.data(), known_);
  const std::uint32_t range = high_ - low_;
  if (known_ > kMany && i64(range) > known_) return sort_digits();
  int shift = 0;
  while ((i64(range) >> shift) > 2 * known_) ++shift;
  sort_buckets(shift);
}

void ColumnSearch::sort_buckets(int shift) {
  const i64 buckets = (i64(high_ - low_) >> shift) + 1;
  starts_.assign(buckets + 1, 0);
  const auto bucket = [&](std::uint64_t key) { return (code_of(key) - low_) >> shift; };
  for (i64 i = 0; i < known_; ++i) ++starts_[bucket(keys_[i]) + 1];
  for (i64 b = 0; b < buckets; ++b) starts_[b + 1] += starts_[b];
  for (i64 i = 0; i < known_; ++i) spare_[starts_[bucket(keys_[i])]++] = keys_[i];
  std::copy(keys_.begin() + known_, keys_.begin() + m_, spare_.begin() + known_);
  keys_.swap(spare_);
  if (shift == 0) return;
  i64 begin = 0;
  for (i64 b = 0; b < buckets; ++b) {  // starts_[b] is now the end of bucket b
    const i64 end = starts_[b];
    if (end - begin > kCrowd)
      std::sort(keys_.begin() + begin, keys_.begin() + end);
    else if (end - begin > 1)
      insertion_sort(keys_.data() + begin, end - begin);
    begin = end;
  }
}

void ColumnSearch::sort_digits() {
  const int bits = std::bit_width(high_ - low_);
  for (int done = 0; done < bits; done += kDigit) {
    std::uint32_t starts[1 << kDigit] = {};
    const auto digit = [&](std::uint64_t key) { return ((code_of(key) - low_) >> done) & ((1u << kDigit) - 1); };
    for (i64 i = 0; i < known_; ++i) ++starts[digit(keys_[i])];
    std::uint32_t sum = 0;
    for (auto& s : starts) sum += std::exchange(s, sum);
    for (i64 i = 0; i < known_; ++i) spare_[starts[digit(keys_[i])]++] = keys_[i];
    std::copy(keys_.begin() + known_, keys_.begin() + m_, spare_.begin() + known_);
    keys_.swap(spare_);
  }
}

void ColumnSearch::offer(double score, std::uint32_t code) {
  cut_.score = score;
  cut_.column = column_;
  cut_.code = code;
  cut_.missing_left = moving_left_;
  bar_ = score + slack_;
}

template <class Visit> void ColumnSearch::with_sides(const Visit& visit) {
  if (target_.is_pairs() || target_.criterion() == Criterion::squares) return visit(squares_);
  if (target_.has_classes()) return visit(classes_);
  if (target_.criterion() == Criterion::poisson) return visit(poisson_);
  visit(absolute_);
}

// All cuts of the rows in order. Missing rows come last, or first where they move left.
void ColumnSearch::scan(bool missing_left) {
  moving_left_ = missing_left;
  const i64 first = missing_left ? m_ - known_ : 0;
  if (target_.is_pairs() && !rules_.monotone) return scan_pairs(first);
  with_sides([&](auto& sides) { scan_sides(sides, first); });
}

// score = s^2 W / (w (W - w)): compared without a division until a cut is better
void ColumnSearch::scan_pairs(i64 first) {
  const Pair* pairs = target_.pairs.data();
  const double W = target_.weight, factor = target_.scale() * W;
  double w = 0, s = 0, bar = bar_ == kNone ? -1.0 : bar_ / factor;
  const i64 from = std::max(first, rules_.min_leaf - 1), to = std::min(m_ - 1, m_ - rules_.min_leaf);
  i64 i = 0;
  for (; i < std::min(from, m_); ++i) {
    const Pair& p = pairs[row_of(keys_[i])];
    w += p.w;
    s += p.s;
  }
  for (; i < to; ++i) {
    const Pair& p = pairs[row_of(keys_[i])];
    w += p.w;
    s += p.s;
    const double both = w * (W - w);
    if (s * s > bar * both && code_of(keys_[i]) != code_of(keys_[i + 1]) && !is_light(w)) {
      offer(factor * s * s / both, code_of(keys_[i]));
      bar = bar_ / factor;
    }
  }
}

template <class Sides> bool ColumnSearch::is_monotone(const Sides& sides) const {
  if (!rules_.monotone || !rules_.monotone[column_]) return true;  // bounds clip such leaves
  const double left = sides.left(), right = sides.right();
  return left >= bounds_.low && left <= bounds_.high && right >= bounds_.low &&
         right <= bounds_.high && (left - right) * rules_.monotone[column_] <= 0;
}

template <class Sides> void ColumnSearch::scan_sides(Sides& sides, i64 first) {
  sides.begin(keys_.data(), m_);
  for (i64 i = 0; i + 1 < m_; ++i) {
    sides.add(row_of(keys_[i]));
    const std::uint32_t code = code_of(keys_[i]), next = code_of(keys_[i + 1]);
    if (i < first || code == next || is_few(i + 1) || is_light(sides.weight)) continue;
    const double score = sides.score();
    if (score > bar_ && is_monotone(sides)) offer(score, code);
  }
}

// The same from sums over bins of 2^shift codes. Between two bins scores are exact. Within one, the sums
// of the left side lie between those before it, with all its negative targets and with all its positive
// ones: only bins whose bound is above the best score so far are brought in order.
void ColumnSearch::bin_pairs(double floor) {
  moving_left_ = false;
  int shift = 0;
  while (i64(high_ - low_) >> shift >= kBins) ++shift;
  fill_bins(shift);
  scan_bins<true>(shift, false);
  if (shift > 0 && open_bins(std::max(cut_.score, floor) - 2 * slack_)) {
    const i64 m = m_;
    i64 kept = 0;
    for (i64 i = 0; i < m; ++i) {
      keys_[kept] = keys_[i];
      kept += open_[(code_of(keys_[i]) - low_) >> shift];
    }
    m_ = known_ = kept;
    sort_keys();
    m_ = known_ = m;
    cut_ = Cut{};
    bar_ = kNone;
    scan_bins<true>(shift, true);
  }
  for_bins([&](i64 b) {
    bins_[b] = Bin{};
    inside_[b] = Inside{};
    open_[b] = 0;
  });
  clear_occupied();
}

void ColumnSearch::fill_bins(int shift) {
  const std::uint64_t* keys = keys_.data();
  const Pair* pairs = target_.pairs.data();
  const std::uint32_t low = low_;
  const i64 m = m_;
  std::uint64_t words = 0;
  for (i64 i = 0; i < m; ++i) {
    const std::uint32_t b = (code_of(keys[i]) - low) >> shift;
    const Pair p = pairs[i];
    bins_[b].w += p.w;
    bins_[b].s += p.s;
    inside_[b].size += std::abs(p.s);
    ++inside_[b].rows;
    occupied_[b >> 6] |= 1ull << (b & 63);
    words |= 1ull << (b >> 6);
  }
  occupied_words_ = words;
}

// The same of local rows, one bin for every rank; false where this column needs more.
bool ColumnSearch::bin_ranks(const std::int32_t* rows, const std::uint16_t* ranks) {
  if (m_ < kBinned || !target_.is_pairs() || X_.missing[column_] || rules_.monotone || is_categorical() ||
      rules_.min_leaf > 1)
    return false;
  moving_left_ = false;
  low_ = 0;
  const Pair* pairs = target_.pairs.data();
  const i64 m = m_;
  Bin* bins = bins_.data();
  std::uint64_t words = 0, *occupied = occupied_.data();
  for (i64 i = 0; i < m; ++i) {
    const std::uint32_t b = ranks[rows[i]];
    bins[b].w += pairs[i].w;
    bins[b].s += pairs[i].s;
    occupied[b >> 6] |= 1ull << (b & 63);
    words |= 1ull << (b >> 6);
  }
  occupied_words_ = words;
  scan_bins<false>(0, false);
  clear_occupied();
  return true;
}

void ColumnSearch::clear_occupied() {
  for (std::uint64_t words = occupied_words_; words; words &= words - 1) occupied_[std::countr_zero(words)] = 0;
}

template <class Visit> void ColumnSearch::for_bins(const Visit& visit) const {
  const std::uint64_t* occupied = occupied_.data();
  for (std::uint64_t words = occupied_words_; words; words &= words - 1) {
    const i64 word = std::countr_zero(words);
    for (std::uint64_t bits = occupied[word]; bits; bits &= bits - 1) visit(word * 64 + std::countr_zero(bits));
  }
}

// All cuts between bins and, where `refined`, within those that are open: their rows stand in order.
// Without `counted` one row suffices on each side, and bins are cleared.
template <bool counted> void ColumnSearch::scan_bins(int shift, bool refined) {
  const double W = target_.weight, factor = target_.scale() * W;
  double w = 0, s = 0, bar = -1.0;
  i64 seen = 0, key = 0;
  const auto consider = [&](std::uint32_t code) {
    const double both = w * (W - w);
    if (s * s > bar * both && !(counted && is_few(seen)) && !is_light(w)) {
      offer(factor * s * s / both, code);
      bar = bar_ / factor;
    }
  };
  bool first = true;
  Bin* bins = bins_.data();
  for_bins([&](i64 b) {
    if (!first) consider(low_ + (static_cast<std::uint32_t>(b) << shift) - 1);
    first = false;
    const double own_w = w, own_s = s;
    if (refined && open_[b]) {
      i64 rows = seen;
      for (i64 left = inside_[b].rows; left > 1; --left, ++key) {
        const Pair& p = target_.pairs[row_of(keys_[key])];
        w += p.w;
        s += p.s;
        ++seen;
        if (code_of(keys_[key]) != code_of(keys_[key + 1])) consider(code_of(keys_[key]));
      }
      ++key;
      seen = rows;
    }
    w = own_w + bins[b].w;
    s = own_s + bins[b].s;
    if (counted) seen += inside_[b].rows;
    else bins[b] = Bin{};
  });
}

// Mark the bins that can hold a cut of a score above the bar; false if there are none.
bool ColumnSearch::open_bins(double bar) {
  const double W = target_.weight, least = bar / (target_.scale() * W);
  double w = 0, s = 0;
  bool any = false;
  for_bins([&](i64 b) {
    const double own = bins_[b].s, size = inside_[b].size, end = w + bins_[b].w;
    const double up = s + (size + own) / 2, down = s - (size - own) / 2;
    const double most = std::max(up * up, down * down);
    const double both = std::min(w * (W - w), end * (W - end));
    open_[b] = inside_[b].rows > 1 && !(most < least * both);
    any |= open_[b];
    w = end;
    s += own;
  });
  return any;
}

void ColumnSearch::count_classes() {
  moving_left_ = false;
  const i64 span = i64(high_) - low_ + 1, C = target_.width();
  counts_.assign(span * C, 0.0);
  starts_.assign(span, 0);
  for (i64 i = 0; i < m_; ++i) {
    const i64 b = code_of(keys_[i]) - low_;
    counts_[b * C + target_.label[i]] += target_.w[i];
    ++starts_[b];
  }
  classes_.begin(keys_.data(), m_);
  i64 seen = 0, last = -1;
  for (i64 b = 0; b < span; ++b) {
    if (!starts_[b]) continue;
    if (last >= 0 && !is_few(seen) && !is_light(classes_.weight)) {
      const double score = classes_.score();
      if (score > bar_) offer(score, low_ + std::uint32_t(last));
    }
    for (i64 c = 0; c < C; ++c) {
      const double w = counts_[b * C + c];
      if (w == 0) continue;
      classes_.move(static_cast<std::int32_t>(c), w);
      classes_.weight += w;
    }
    seen += starts_[b];
    last = b;
  }
}

// One cut between the least and the largest value; missing rows go to a random side.
void ColumnSearch::random_cut(std::uint64_t draw) {
  const double* values = X_.values + X_.starts[column_];
  const bool to_left = draw & 1;
  const double u = double(draw >> 11) * 0x1p-53;
  std::uint32_t code;
  double threshold = 0;
  if (low_ == high_) {  // only missing or not is left to cut
    code = low_;
    threshold = is_categorical() ? 0.0 : values[low_];
  } else if (is_categorical()) {
    code = static_cast<std::uint32_t>(u * high_);
  } else {
    threshold = values[low_] * (1 - u) + values[high_] * u;
    if (!(threshold >= values[low_] && threshold < values[high_])) threshold = values[low_];
    code = static_cast<std::uint32_t>(std::upper_bound(values + low_, values + high_, threshold) - values - 1);
  }
  moving_left_ = to_left && low_ != high_;
  const auto middle = std::partition(keys_.begin(), keys_.begin() + m_, [&](std::uint64_t key) {
    return code_of(key) == kMissing ? moving_left_ : code_of(key) <= code;
  });
  const i64 left = middle - keys_.begin();
  if (left == 0 || left == m_ || is_few(left)) return;
  with_sides([&](auto& sides) {
    sides.begin(keys_.data(), m_);
    for (i64 i = 0; i < left; ++i) sides.add(row_of(keys_[i]));
    if (is_light(sides.weight) || !is_monotone(sides)) return;
    const double score = sides.score();
    if (score == kNone) return;
    offer(score, code);
    cut_.threshold = threshold;
  });
}

// The categories on the left.
void ColumnSearch::keep_categories() {
  const double* values = X_.values + X_.starts[column_];
  for (std::uint32_t p = 0; p <= std::min(cut_.code, high_); ++p) {
    const i64 c = static_cast<i64>(values[category_[p]]);
    cut_.categories[c >> 6] |= 1ull << (c & 63);
  }
}

}  // namespace kg
