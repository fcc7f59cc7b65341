// Lloyd's iteration for small k and wide rows: what takes the time is reading the rows.
//
// A row knows how far its own centre is at most, and every other one at least (Elkan 2003). A centre
// that moves by m changes either by no more than m, so
//     upper < every lower      the row stays and is not read
//     else its bytes           x = a X + e tells <x, c - o> up to |e| |c - o|: most stay after all
//     else the row itself      by then few: those that change, and those between two centres
// Rows and bytes, two at a time as they lie in memory, meet all centres at once; that makes their bounds
// tight again.
#include "kmeans/small_k.hpp"
#include "kmeans/lanes.hpp"

#include <utility>

namespace kg {
namespace {

constexpr i64 kPiece = 480;  // rows compared with their bounds at a time: whole strips on every machine

template <class T> class SmallK {
  static constexpr T kEps = std::numeric_limits<T>::epsilon();
  static constexpr T kTiny = std::numeric_limits<T>::min() * T(1e10);  // squares below have lost digits
  static constexpr T kBelow = 1 - 8 * kEps, kAbove = 1 + 8 * kEps;

 public:
  SmallK(const SmallKPass<T>& small_k, const SmallKCentres<T>& centres)
      : f_(small_k), p_(small_k.pass), c_(centres), l_(small_k_loops<T>()), d_(p_.X.d), ld_(c_.ld), rows_(1, 2 * ld_),
        dots_(2 * c_.padded, T(0)), score_(c_.padded), whole_(2 * c_.padded, 0), zeros_(d_, T(0)), listed_(kPiece) {
    std::fill(rows_.block(0), rows_.block(0) + 2 * ld_, T(0));
    if (f_.moved) farthest_ = *std::max_element(f_.moved, f_.moved + p_.k);
  }

  // Rows start..stop; adds to sums, returns how many were read.
  i64 take(i64 start, i64 stop, double* sums) {
    i64 count = hold(start, stop);
    if (f_.moved) count = by_bytes(count);
    for (i64 l = 0; l < count; l += 2) {
      const i64 m = std::min<i64>(2, count - l);
      for (i64 r = 0; r < m; ++r) load(listed_[l + r], rows_.block(0) + r * ld_);
      for (i64 g = 0; g < c_.groups; ++g)
        l_.two_rows(rows_.block(0), ld_, c_.rows(g), c_.size, next(l + 2 + g, std::min(l + 4, count)),
                    dots_.data() + g * c_.size, c_.padded);
      for (i64 r = 0; r < m; ++r) settle(listed_[l + r], r, sums);
    }
    return count;
  }

  // the weighted squared distance of row i from its own centre
  double measure(i64 i) {
    load(i, rows_.block(0));
    const T away = loops<T>().squared_distance(rows_.block(0), p_.C + i64(p_.labels[i]) * d_, d_);
    return static_cast<double>(p_.w ? p_.w[i] : T(1)) * static_cast<double>(away);
  }

 private:
  T* lower(i64 i) const { return f_.lower + i * c_.padded; }
  const std::int8_t* codes(i64 i) const { return f_.codes + i * ld_; }

  // lists the rows whose bounds do not keep them where they are
  i64 hold(i64 start, i64 stop) {
    i64 count = 0;
    for (i64 i = start; i < stop; ++i) {
      listed_[count] = i;
      if (!f_.moved) {
        ++count;
        continue;
      }
      T &upper = f_.upper[i], &least = f_.least[i];
      upper = (upper + f_.moved[p_.labels[i]]) * kAbove;
      least = (least - farthest_) * kBelow;
      if (upper < least) continue;
      least = l_.least(lower(i), c_.drift.data(), c_.padded);
      count += !(upper < least);
    }
    return count;
  }

  // Of the first `count` rows listed, lists those that their bytes do not keep where they are.
  i64 by_bytes(i64 count) {
    i64 left = 0;
    for (i64 l = 0; l < count; l += 2) {
      const i64 m = std::min<i64>(2, count - l);
      for (i64 r = l + kAhead; r < std::min(l + kAhead + 2, count); ++r) call(listed_[r]);
      for (i64 g = 0; g < c_.groups; ++g)
        l_.two_codes(codes(listed_[l]), codes(listed_[l + m - 1]), ld_, c_.codes(g), c_.size,
                     whole_.data() + g * c_.size, c_.padded);
      for (i64 r = 0; r < m; ++r)
        if (!stays(listed_[l + r], whole_.data() + r * c_.padded)) listed_[left++] = listed_[l + r];
    }
    return left;
  }

  // Whether no other centre can be as near to row i as its own, by the products of bytes.
  bool stays(i64 i, const std::int32_t* whole) {
    const std::int32_t own = p_.labels[i];
    const Doubt<T> doubt{2 * f_.left[i], 2 * (std::sqrt(f_.norms[i]) + f_.left[i])};
    l_.code_scores(whole, c_.scale.data(), f_.steps[i], c_.half.data(), c_.padded, score_.data());
    const T mine = std::exchange(score_[own], -std::numeric_limits<T>::infinity());
    const T* apart = c_.apart.data() + own * c_.padded;
    const T lead = l_.lead(score_.data(), mine, apart, c_.off.data(), doubt, c_.padded);
    if (!(lead > doubt.reach * c_.off[own] + 2 * slack(i))) return false;
    score_[own] = mine;
    bound(i, own, doubt);
    return true;
  }

  // what rounding may add to the score of row i
  T slack(i64 i) const { return rounded_ * (f_.norms[i] + c_.largest); }

  void call(i64 i) const {
    for (i64 k = 0; k < ld_; k += 64) __builtin_prefetch(codes(i) + k);
  }
  // a row to be called for while others are computed, one that is there already if there is none
  const T* next(i64 l, i64 stop) const {
    return l < stop && p_.X.cs == 1 ? p_.X.at(listed_[l], 0) : rows_.block(0);
  }
  void load(i64 i, T* to) const {
    loops<T>().pack(p_.X.at(i, 0), 1, d_, p_.X.rs, p_.X.cs, p_.shift, nullptr, to, ld_);
  }

  void settle(i64 i, i64 r, double* sums) {
    const T* x = rows_.block(0) + r * ld_;
    l_.scores(dots_.data() + r * c_.padded, c_.half.data(), c_.padded, score_.data());
    const auto best = std::max_element(score_.begin(), score_.begin() + p_.k);
    const auto label = static_cast<std::int32_t>(best - score_.begin());
    const std::int32_t old = p_.follow ? p_.labels[i] : -1;
    if (label != old) {
      const T w = p_.w ? p_.w[i] : T(1);
      if (old >= 0) add(x, -w, sums + old * (d_ + 1));
      add(x, w, sums + label * (d_ + 1));
      p_.labels[i] = label;
    }
    if (!f_.coded) code(i, x);
    bound(i, label, {0, 0});
  }

  void code(i64 i, const T* x) const {
    f_.norms[i] = loops<T>().squared_distance(x, zeros_.data(), d_);
    const Rounded<T> found = l_.round_row(x, ld_, f_.codes + i * ld_);
    const T left = std::sqrt(found.left) * (1 + kEps * (8 + T(d_))) + 4 * kEps * std::sqrt(f_.norms[i]);
    f_.steps[i] = found.step;
    const T all = found.step * kByte * std::sqrt(T(d_));
    f_.left[i] = std::max(left, found.left < kTiny ? all : T(0));
  }

  void bound(i64 i, std::int32_t label, Doubt<T> doubt) {
    const T norm = f_.norms[i], slack = this->slack(i);
    const T off = slack + doubt.left * c_.length[label] + doubt.reach * c_.off[label];
    l_.bounds(score_.data(), norm - slack, c_.length.data(), c_.off.data(), doubt, c_.drift.data(), c_.padded,
              lower(i));
    lower(i)[label] = std::numeric_limits<T>::infinity();
    f_.upper[i] = std::sqrt(std::max(T(0), norm - score_[label]) + off) * kAbove;
    f_.least[i] = l_.least(lower(i), c_.drift.data(), c_.padded);
  }

  void add(const T* x, T w, double* sum) const {
    loops<T>().add_row(x, d_, w, sum);
    sum[d_] += static_cast<double>(w);
  }

  static constexpr i64 kAhead = 4;  // rows that are called for before their turn
  const SmallKPass<T>& f_;
  const ClusterPass<T>& p_;
  const SmallKCentres<T>& c_;
  const SmallKLoops<T>& l_;
  const i64 d_, ld_;
  const T rounded_ = kEps * (4 + std::sqrt(T(d_)) + T(d_) / T(2 * l_.lanes));  // of sums of d numbers
  Scratch<T> rows_;
  std::vector<T> dots_, score_;  // [row][padded], [padded]
  std::vector<std::int32_t> whole_;
  std::vector<T> zeros_;
  std::vector<i64> listed_;
  T farthest_ = 0;  // that a centre moved
};

}  // namespace

template <class T> PassTerms small_k_pass(const SmallKPass<T>& small_k, int threads) {
  const ClusterPass<T>& pass = small_k.pass;
  const i64 n = pass.X.n, pieces = ceil_div(n, kPiece), size = pass.k * (pass.X.d + 1);
  const SmallKCentres<T> centres(small_k);
  std::vector<SmallK<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t) team.emplace_back(small_k, centres);
  PassTerms terms = in_lanes(pass, pieces, threads, [&](i64 p, int thread, double* sums) {
    const i64 stop = std::min(n, (p + 1) * kPiece);
    sums[size] += double(team[thread].take(p * kPiece, stop, sums));
    double inertia = 0;
    for (i64 i = p * kPiece; pass.measure && i < stop; ++i) inertia += team[thread].measure(i);
    return inertia;
  });
  terms.looked /= double(n);
  return terms;
}

template PassTerms small_k_pass<float>(const SmallKPass<float>&, int);
template PassTerms small_k_pass<double>(const SmallKPass<double>&, int);

}  // namespace kg
