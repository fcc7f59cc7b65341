// Lloyd's step with bounds that leave distances out (Yinyang k-means; Ding et al. 2015).
//
// A centre that moves by m brings no row nearer by more than m. So a row keeps an upper bound u on
// the distance from its own centre and, for each group of centres, a lower bound l_g on that from
// the nearest other centre of the group; both move with the centres, and
//     u < min_g l_g      the row stays: it is not even read
//     |x - c_own| < l_g  no centre of group g is nearer
// First every row is held against its bounds, in order; then the rows left over are gathered, those of
// one cluster side by side, because they need the same groups.
#include "kmeans.hpp"
#include "kmeans_lanes.hpp"
#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <omp.h>
#include <vector>

namespace kg {
namespace {

constexpr i64 kFour = 4;
constexpr i64 kPiece = 960;  // rows held against their bounds at a time, by one thread

// The centres in their places, four to a block, whole blocks to a group.
template <class T> struct Groups {
  explicit Groups(const BoundedPass<T>& p)
      : d(p.pass.X.d), size(p.size), count(ceil_div(p.pass.k, p.size)), place(p.pass.k),
        packed(1, count * size * d), half(1, count * size) {
    std::vector<T> four(kFour * d);
    for (i64 b = 0; b < count * size; b += kFour) {
      const i64 filled = std::clamp<i64>(p.pass.k - b, 0, kFour);
      for (i64 r = 0; r < filled; ++r) {
        const T* c = p.pass.C + i64(p.order[b + r]) * d;
        std::copy(c, c + d, four.data() + r * d);
        place[p.order[b + r]] = static_cast<std::int32_t>(b + r);
      }
      loops<T>().pack_four(four.data(), filled, d, packed.block(0) + b * d, half.block(0) + b);
      for (i64 r = 0; r < filled; ++r) largest = std::max(largest, 2 * half.block(0)[b + r]);
    }
    if (p.moved) farthest = *std::max_element(p.moved, p.moved + p.pass.k);
  }
  const i64 d, size, count;
  std::vector<std::int32_t> place;
  Scratch<T> packed, half;
  T largest = 0;   // |c|^2
  T farthest = 0;  // that a centre moved
};

// What the first look leaves for the second: the groups every row needs, none for most.
template <class T> struct Left {
  explicit Left(i64 n) : needed(n), best(n) {}
  std::vector<std::uint64_t> needed;
  std::vector<T> best;  // squared distance from the own centre
};

template <class T> T wider(T square) {
  return std::sqrt(square) * (1 + 4 * std::numeric_limits<T>::epsilon());
}

template <class T> class Look {
 public:
  Look(const BoundedPass<T>& bounded, const Groups<T>& groups, Left<T>& left)
      : b_(bounded), p_(bounded.pass), g_(groups), left_(left), d_(p_.X.d),
        strip_(loops<T>().strip), rows_(1, strip_ * d_), packed_(1, strip_ * d_), origin_(d_, T(0)),
        first_(strip_), second_(strip_), norms_(strip_), row_(strip_), own_(strip_), at_(strip_) {}

  // Rows start..stop against their bounds; returns the inertia of those that stay, if measured.
  double hold(i64 start, i64 stop) {
    double inertia = 0;
    T* x = rows_.block(0);
    for (i64 i = start; i < stop; ++i) {
      const std::int32_t label = p_.labels[i];
      T &upper = b_.upper[i], &least = b_.least[i];
      upper += b_.moved[label];
      least -= g_.farthest;
      left_.needed[i] = 0;
      if (upper < least && !p_.measure) continue;
      const T best = exact(load(i, x), label);
      upper = wider(best);
      if (!(upper < least))
        least = loops<T>().least_bound(lower(i), b_.drift, g_.count, upper, &left_.needed[i]);
      left_.best[i] = best;
      if (!left_.needed[i]) inertia += static_cast<double>(weight(i)) * static_cast<double>(best);
    }
    return inertia;
  }

  // Up to a strip of rows against all groups that one of them needs; adds to sums, counts `looked`.
  // `more` rows follow in the order.
  double take(const std::int32_t* order, i64 m, i64 more, double* sums, double& looked) {
    std::uint64_t needed = 0;
    for (i64 i = 0; i < m; ++i) {
      if (i < more) fetch(order[m + i]);
      begin(row_[i], order[i], rows_.block(0) + i * d_);
      norms_[i] = row_[i].norm;
      needed |= row_[i].needed;
    }
    looked += double(m) * double(__builtin_popcountll(needed));
    loops<T>().pack_lanes(rows_.block(0), m, d_, d_, packed_.block(0));
    const i64 third = strip_ / 3, end = strip_ * d_;
    std::fill(packed_.block(0) + ceil_div(m, third) * third * d_, packed_.block(0) + end, T(0));
    for (i64 g = 0; g < g_.count; ++g)
      if (needed >> g & 1) against(g, m);
    double inertia = 0;
    for (i64 i = 0; i < m; ++i) inertia += settle(row_[i], rows_.block(0) + i * d_, sums);
    return inertia;
  }

 private:
  struct Row {
    i64 i;
    std::int32_t label;
    T best, norm;  // squared
    std::uint64_t needed;
  };

  T* lower(i64 i) const { return b_.lower + i * g_.count; }
  T weight(i64 i) const { return p_.w ? p_.w[i] : T(1); }
  T exact(const T* x, std::int32_t c) const {
    return loops<T>().squared_distance(x, p_.C + i64(c) * d_, d_);
  }
  const T* load(i64 i, T* to) const {
    loops<T>().pack(p_.X.at(i, 0), 1, d_, p_.X.rs, p_.X.cs, p_.shift, nullptr, to, d_);
    return to;
  }

  // Rows of one cluster lie anywhere: they are called for while the strip before them is looked at.
  void fetch(i64 i) const {
    constexpr i64 line = 64 / sizeof(T);
    const T* x = p_.X.at(i, 0);
    for (i64 k = 0; k < d_ && p_.X.cs == 1; k += line) __builtin_prefetch(x + k);
    for (i64 g = 0; g < g_.count; g += line) __builtin_prefetch(lower(i) + g, 1);
    __builtin_prefetch(p_.labels + i, 1);
    __builtin_prefetch(b_.upper + i, 1);
    __builtin_prefetch(b_.least + i, 1);
    if (!b_.moved) return;
    __builtin_prefetch(left_.needed.data() + i);
    __builtin_prefetch(left_.best.data() + i);
  }

  void begin(Row& row, i64 i, T* x) const {
    load(i, x);
    const bool known = b_.moved != nullptr;
    const std::int32_t label = p_.follow ? p_.labels[i] : -1;  // most likely still the nearest
    row = {i, label,
           known        ? left_.best[i]
           : label >= 0 ? exact(x, label)
                        : std::numeric_limits<T>::max(),
           loops<T>().squared_distance(x, origin_.data(), d_),
           known ? left_.needed[i] : all_};
  }

  // the strip against the centres of group g
  void against(i64 g, i64 m) {
    const i64 place0 = g * g_.size;
    for (i64 i = 0; i < m; ++i) {
      const i64 place = row_[i].label < 0 ? -1 : g_.place[row_[i].label] - place0;
      own_[i] = static_cast<std::int32_t>(place >= 0 && place < g_.size ? place : -1);
    }
    const T norm = *std::max_element(norms_.begin(), norms_.begin() + m);
    const T slack =
        std::numeric_limits<T>::epsilon() * (4 + std::sqrt(T(d_))) * (norm + g_.largest);
    loops<T>().two_nearest(packed_.block(0), d_, g_.packed.block(0) + place0 * d_,
                           g_.half.block(0) + place0, g_.size / kFour, own_.data(), norms_.data(),
                           slack, first_.data(), second_.data(), at_.data());
    for (i64 i = 0; i < m; ++i) weigh(g, row_[i], i);
  }

  // the bound of a row to group g, and its centre if that is the nearer one
  void weigh(i64 g, Row& row, i64 lane) {
    T& mine = lower(row.i)[g];
    mine = first_[lane] + b_.drift[g];
    const i64 place = g * g_.size + at_[lane];
    if (place >= p_.k || !(first_[lane] * first_[lane] < row.best)) return;
    const std::int32_t candidate = b_.order[place];
    const T away = exact(rows_.block(0) + lane * d_, candidate);
    if (!(away < row.best)) return;
    mine = second_[lane] + b_.drift[g];
    if (row.label >= 0) {  // the centre left behind counts among those of its group again
      const i64 its = g_.place[row.label] / g_.size;
      const T behind = std::sqrt(row.best) * (1 - 8 * std::numeric_limits<T>::epsilon());
      lower(row.i)[its] = std::min(lower(row.i)[its], behind + b_.drift[its]);
    }
    row.best = away;
    row.label = candidate;
  }

  double settle(const Row& row, const T* x, double* sums) {
    const T w = weight(row.i);
    const std::int32_t old = p_.follow ? p_.labels[row.i] : -1;
    const std::int32_t label = std::max(row.label, 0);  // a row of NaN is near to nothing
    if (label != old) {
      if (old >= 0) add(x, -w, sums + old * (d_ + 1));
      add(x, w, sums + label * (d_ + 1));
      p_.labels[row.i] = label;
    }
    std::uint64_t none;
    b_.upper[row.i] = wider(row.best);
    b_.least[row.i] = loops<T>().least_bound(lower(row.i), b_.drift, g_.count, T(0), &none);
    return static_cast<double>(w) * static_cast<double>(row.best);
  }

  void add(const T* x, T w, double* sum) const {
    loops<T>().add_row(x, d_, w, sum);
    sum[d_] += static_cast<double>(w);
  }

  const BoundedPass<T>& b_;
  const ClusterPass<T>& p_;
  const Groups<T>& g_;
  Left<T>& left_;
  const i64 d_, strip_;
  Scratch<T> rows_, packed_;
  std::vector<T> origin_, first_, second_, norms_;
  std::vector<Row> row_;
  std::vector<std::int32_t> own_, at_;
  const std::uint64_t all_ = g_.count < 64 ? (std::uint64_t(1) << g_.count) - 1 : ~std::uint64_t(0);
};

// The rows left over, cluster by cluster, each cluster's in their order; all rows if none is known. Where
// most are left, one after another in memory they are read sooner than they need fewer groups.
template <class T> std::vector<std::int32_t> in_order(const BoundedPass<T>& b, const Left<T>& left) {
  const i64 n = b.pass.X.n;
  std::vector<std::int32_t> order;
  if (!b.moved) {
    order.resize(n);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  const i64 count = n - std::count(left.needed.begin(), left.needed.end(), 0);
  const auto key = [&](i64 i) { return 2 * count > n ? 0 : b.pass.labels[i]; };
  std::vector<i64> start(b.pass.k + 1, 0);
  for (i64 i = 0; i < n; ++i) start[key(i) + 1] += left.needed[i] != 0;
  std::partial_sum(start.begin(), start.end(), start.begin());
  order.resize(start.back());
  for (i64 i = 0; i < n; ++i)
    if (left.needed[i]) order[start[key(i)]++] = static_cast<std::int32_t>(i);
  return order;
}

}  // namespace

template <class T> PassTerms bounded_pass(const BoundedPass<T>& bounded, int threads) {
  const i64 n = bounded.pass.X.n, strip = loops<T>().strip;
  const i64 size = bounded.pass.k * (bounded.pass.X.d + 1);
  const Groups<T> groups(bounded);
  Left<T> left(bounded.moved ? n : 0);
  std::vector<Look<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t) team.emplace_back(bounded, groups, left);
  double stayed = 0;
  if (bounded.moved) {
    const i64 pieces = ceil_div(n, kPiece);
    std::vector<double> inertia(pieces);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (i64 p = 0; p < pieces; ++p)
      inertia[p] = team[omp_get_thread_num()].hold(p * kPiece, std::min(n, (p + 1) * kPiece));
    stayed = std::accumulate(inertia.begin(), inertia.end(), 0.0);
  }
  const std::vector<std::int32_t> order = in_order(bounded, left);
  const i64 count = static_cast<i64>(order.size());
  PassTerms terms = in_lanes(
      bounded.pass, ceil_div(count, strip), threads, [&](i64 s, int thread, double* sums) {
        const i64 from = s * strip, m = std::min(strip, count - from);
        const i64 more = std::min(strip, count - from - m);
        return team[thread].take(order.data() + from, m, more, sums, sums[size]);
      });
  terms.inertia += stayed;
  terms.looked /= double(n) * double(groups.count);
  return terms;
}

template PassTerms bounded_pass<float>(const BoundedPass<float>&, int);
template PassTerms bounded_pass<double>(const BoundedPass<double>&, int);

}  // namespace kg
