// Lloyd's iteration with bounds that leave distances out (Yinyang k-means; Ding et al. 2015).
//
// A centre that moves by m brings no row nearer by more than m. So a row keeps an upper bound u on
// the distance from its own centre and, for each group of centres, a lower bound l_g on that from
// the nearest other centre of the group; both move with the centres, and
//     u < min_g l_g      the row stays: it is not even read
//     |x - c_own| < l_g  no centre of group g is nearer
// First every row is compared with its bounds, in order; then the remaining rows are gathered, those of
// one cluster side by side, because they need the same groups.
#include "kmeans/kmeans.hpp"
#include "kmeans/lanes.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <omp.h>
#include <utility>
#include <vector>

namespace kg {
namespace {

constexpr i64 kPiece = 960;  // rows compared with their bounds at a time, by one thread
constexpr i64 kStrips = 8;   // strips' worth of remaining rows that one thread takes at a time
constexpr i64 kAhead = 12;   // rows that are called for while others are measured

// The centres in their places, four to a block, whole blocks to a group.
template <class T> struct Groups {
  explicit Groups(const BoundedPass<T>& p)
      : d(p.pass.X.d), size(p.size), count(ceil_div(p.pass.k, p.size)), place(p.pass.k),
        packed(1, count * size * d), half(1, count * size) {
    std::vector<T> four(kBlockCentres * d);
    for (i64 b = 0; b < count * size; b += kBlockCentres) {
      const i64 filled = std::clamp<i64>(p.pass.k - b, 0, kBlockCentres);
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

using Queue = std::vector<std::int32_t>;  // rows that the first look leaves for the second

template <class T> T wider(T square) {
  return std::sqrt(square) * (1 + 4 * std::numeric_limits<T>::epsilon());
}

template <class T> class Look {
 public:
  Look(const BoundedPass<T>& bounded, const Groups<T>& groups)
      : b_(bounded), p_(bounded.pass), g_(groups), d_(p_.X.d), strip_(loops<T>().strip),
        rows_(1, strip_ * d_), packed_(1, strip_ * d_), origin_(d_, T(0)), first_(strip_),
        second_(strip_), norms_(strip_), row_(strip_), place_(strip_), own_(strip_), at_(strip_),
        doubtful_(kPiece), lower_(strip_) {}

  // Rows start..stop against their bounds; those that may have a nearer centre are queued.
  void hold(i64 start, i64 stop, Queue& queue) {
    const i64 count = near(doubtful(start, stop));
    queue.assign(doubtful_.begin(), doubtful_.begin() + count);
  }

  // The `count` rows from place `from` of the queue, or of X where nothing is known, of which `more`
  // follow: each against its own centre, then strips of them against all groups that one of them needs.
  // Adds to sums, counts `looked`; returns the inertia.
  double take(const Queue& queue, i64 from, i64 count, i64 more, double* sums, double& looked) {
    double inertia = 0;
    i64 m = 0;
    for (i64 j = from; j < from + count; ++j) {
      if (j + kAhead < from + count + more) fetch(b_.moved ? queue[j + kAhead] : j + kAhead);
      if (!begin(row_[m], b_.moved ? queue[j] : j, rows_.block(0) + m * d_))
        inertia += static_cast<double>(weight(row_[m].i)) * static_cast<double>(row_[m].best);
      else if (++m == strip_)
        inertia += flush(std::exchange(m, 0), sums, looked);
    }
    return m ? inertia + flush(m, sums, looked) : inertia;
  }

 private:
  struct Row {
    i64 i;
    std::int32_t label;
    T best;  // squared distance
    std::uint64_t needed;
  };

  T* lower(i64 i) const { return b_.lower + i * b_.ld; }
  T weight(i64 i) const { return p_.w ? p_.w[i] : T(1); }
  T exact(const T* x, std::int32_t c) const {
    return loops<T>().squared_distance(x, p_.C + i64(c) * d_, d_);
  }
  const T* load(i64 i, T* to) const {
    loops<T>().pack(p_.X.at(i, 0), 1, d_, p_.X.rs, p_.X.cs, p_.shift, nullptr, to, d_);
    return to;
  }

  // Moves the bounds of the rows start..stop with the centres; lists those not settled by that.
  i64 doubtful(i64 start, i64 stop) {
    i64 count = 0;
    for (i64 i = start; i < stop; ++i) {
      T &upper = b_.upper[i], &least = b_.least[i];
      upper += b_.moved[p_.labels[i]];
      least -= g_.farthest;
      doubtful_[count] = static_cast<std::int32_t>(i);
      count += p_.measure || !(upper < least);
    }
    return count;
  }

  // Keeps the rows listed that some group may be near to: mostly few centres move, and far, and the
  // bounds of a row are a third of it to read.
  i64 near(i64 count) {
    i64 kept = 0;
    for (i64 f = 0; f < count; ++f) {
      if (f + kAhead < count) __builtin_prefetch(lower(doubtful_[f + kAhead]));
      const std::int32_t i = doubtful_[f];
      doubtful_[kept] = i;
      kept += below(i) != 0 || p_.measure;
    }
    return kept;
  }

  // the groups that may be as near as a row's own centre; sets the least bound
  std::uint64_t below(i64 i) const {
    std::uint64_t groups;
    b_.least[i] = loops<T>().least_bound(lower(i), b_.drift, b_.ld, b_.upper[i], &groups);
    return groups;
  }

  // Rows that are looked at lie anywhere: they are called for while those before them are.
  void fetch(i64 i) const {
    constexpr i64 line = 64 / sizeof(T);
    const T* x = p_.X.at(i, 0);
    for (i64 k = 0; k < d_ && p_.X.cs == 1; k += line) __builtin_prefetch(x + k);
    for (i64 g = 0; g < g_.count; g += line) __builtin_prefetch(lower(i) + g, 1);
    __builtin_prefetch(p_.labels + i, 1);
    __builtin_prefetch(b_.upper + i, 1);
    __builtin_prefetch(b_.least + i, 1);
  }

  // A row and its own centre, most likely still the nearest: whether there may be a nearer one.
  bool begin(Row& row, i64 i, T* x) const {
    load(i, x);
    const std::int32_t label = p_.follow ? p_.labels[i] : -1;
    row = {i, label, label < 0 ? std::numeric_limits<T>::max() : exact(x, label), all_};
    if (!b_.moved) {
      std::fill(lower(i), lower(i) + b_.ld, std::numeric_limits<T>::infinity());
      return true;
    }
    b_.upper[i] = wider(row.best);
    row.needed = b_.upper[i] < b_.least[i] ? 0 : below(i);
    return row.needed != 0;
  }

  // the first m rows against the groups they need
  double flush(i64 m, double* sums, double& looked) {
    std::uint64_t needed = 0;
    for (i64 i = 0; i < m; ++i) {
      norms_[i] = loops<T>().squared_distance(rows_.block(0) + i * d_, origin_.data(), d_);
      needed |= row_[i].needed;
      lower_[i] = lower(row_[i].i);
      place_[i] = row_[i].label < 0 ? -1 : g_.place[row_[i].label];
    }
    const T norm = *std::max_element(norms_.begin(), norms_.begin() + m);
    slack_ = std::numeric_limits<T>::epsilon() * (4 + std::sqrt(T(d_))) * (norm + g_.largest);
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

  // the strip against the centres of group g
  void against(i64 g, i64 m) {
    const i64 place0 = g * g_.size;
    for (i64 i = 0; i < strip_; ++i) own_[i] = place_[i] - static_cast<std::int32_t>(place0);
    loops<T>().two_nearest(packed_.block(0), d_, g_.packed.block(0) + place0 * d_,
                           g_.half.block(0) + place0, g_.size / kBlockCentres, own_.data(), norms_.data(),
                           slack_, first_.data(), second_.data(), at_.data());
    const T drift = b_.drift[g];
    for (i64 i = 0; i < m; ++i) {
      lower_[i][g] = first_[i] + drift;
      if (first_[i] * first_[i] < row_[i].best) weigh(g, row_[i], i);
    }
  }

  // a centre of group g that may be nearer than the row's own: the bound of the group if it is
  void weigh(i64 g, Row& row, i64 lane) {
    const i64 place = g * g_.size + at_[lane];
    if (place >= p_.k) return;
    const std::int32_t candidate = b_.order[place];
    const T away = exact(rows_.block(0) + lane * d_, candidate);
    if (!(away < row.best)) return;
    lower_[lane][g] = second_[lane] + b_.drift[g];
    if (row.label >= 0) {  // the centre left behind counts among those of its group again
      const i64 its = g_.place[row.label] / g_.size;
      const T behind = std::sqrt(row.best) * (1 - 8 * std::numeric_limits<T>::epsilon());
      lower_[lane][its] = std::min(lower_[lane][its], behind + b_.drift[its]);
    }
    row.best = away;
    row.label = candidate;
    place_[lane] = static_cast<std::int32_t>(place);
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
    b_.upper[row.i] = wider(row.best);
    below(row.i);
    return static_cast<double>(w) * static_cast<double>(row.best);
  }

  void add(const T* x, T w, double* sum) const {
    loops<T>().add_row(x, d_, w, sum);
    sum[d_] += static_cast<double>(w);
  }

  const BoundedPass<T>& b_;
  const ClusterPass<T>& p_;
  const Groups<T>& g_;
  const i64 d_, strip_;
  Scratch<T> rows_, packed_;
  std::vector<T> origin_, first_, second_, norms_;
  std::vector<Row> row_;
  std::vector<std::int32_t> place_, own_, at_, doubtful_;
  std::vector<T*> lower_;
  T slack_ = 0;
  const std::uint64_t all_ = g_.count < 64 ? (std::uint64_t(1) << g_.count) - 1 : ~std::uint64_t(0);
};

// The rows queued, cluster by cluster, each cluster's in their order. Where most are, they are read one
// after another in memory sooner than they need fewer groups.
template <class T> Queue in_order(const BoundedPass<T>& b, const std::vector<Queue>& pieces) {
  i64 count = 0;
  for (const Queue& piece : pieces) count += static_cast<i64>(piece.size());
  const auto key = [&](i64 i) { return 2 * count > b.pass.X.n ? 0 : b.pass.labels[i]; };
  std::vector<i64> start(b.pass.k + 1, 0);
  for (const Queue& piece : pieces)
    for (const std::int32_t i : piece) ++start[key(i) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  Queue order(count);
  for (const Queue& piece : pieces)
    for (const std::int32_t i : piece) order[start[key(i)]++] = i;
  return order;
}

}  // namespace

template <class T> PassTerms bounded_pass(const BoundedPass<T>& bounded, int threads) {
  const i64 n = bounded.pass.X.n, size = bounded.pass.k * (bounded.pass.X.d + 1);
  const Groups<T> groups(bounded);
  std::vector<Look<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t) team.emplace_back(bounded, groups);
  std::vector<Queue> pieces(bounded.moved ? ceil_div(n, kPiece) : 0);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 p = 0; p < static_cast<i64>(pieces.size()); ++p)
    team[omp_get_thread_num()].hold(p * kPiece, std::min(n, (p + 1) * kPiece), pieces[p]);
  const Queue queue = in_order(bounded, pieces);
  const i64 count = bounded.moved ? static_cast<i64>(queue.size()) : n;
  const i64 some = kStrips * loops<T>().strip;
  PassTerms terms = in_lanes(
      bounded.pass, ceil_div(count, some), threads, [&](i64 s, int thread, double* sums) {
        const i64 from = s * some, m = std::min(some, count - from);
        return team[thread].take(queue, from, m, count - from - m, sums, sums[size]);
      });
  terms.looked /= double(n) * double(groups.count);
  return terms;
}

template PassTerms bounded_pass<float>(const BoundedPass<float>&, int);
template PassTerms bounded_pass<double>(const BoundedPass<double>&, int);

}  // namespace kg
