// Lloyd's step for few centres and wide rows: what takes the time is reading the rows.
//
// A row knows how far its own centre is at most, and every other one at least (Elkan 2003). A centre
// that moves by m changes either by no more than m, so
//     upper < every lower      the row stays and is not read
// and the rows that are read, two at a time as they lie in memory, meet all centres at once, at the pace
// of a matrix product; that makes their bounds tight again.
#include "kmeans.hpp"
#include "kmeans_lanes.hpp"
#include "kmeans_sieve_loops.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace kg {
namespace {

constexpr i64 kPiece = 480;  // rows held against their bounds at a time

// The centres in groups of `six`, vector by vector: [group][vector][six][lane].
template <class T> struct Sixes {
  explicit Sixes(const ClusterPass<T>& p)
      : six(pair_loops<T>().six), lanes(pair_loops<T>().lanes), ld(ceil_div(p.X.d, lanes) * lanes),
        groups(ceil_div(p.k, six)), packed(1, groups * six * ld), half(groups * six) {
    std::fill(packed.block(0), packed.block(0) + groups * six * ld, T(0));
    for (i64 c = 0; c < p.k; ++c) {
      const T* from = p.C + c * p.X.d;
      T* to = packed.block(0) + c / six * six * ld + c % six * lanes;
      double square = 0;
      for (i64 j = 0; j < p.X.d; ++j) {
        to[j / lanes * six * lanes + j % lanes] = from[j];
        square += double(from[j]) * double(from[j]);
      }
      half[c] = static_cast<T>(square / 2);
      largest = std::max(largest, static_cast<T>(square));
    }
  }
  const i64 six, lanes, ld, groups;
  Scratch<T> packed;
  std::vector<T> half;
  T largest = 0;  // |c|^2
};

template <class T> class Few {
  static constexpr T kEps = std::numeric_limits<T>::epsilon();
  static constexpr T kBelow = 1 - 8 * kEps, kAbove = 1 + 8 * kEps;

 public:
  Few(const FewPass<T>& few, const Sixes<T>& centres)
      : f_(few), p_(few.pass), c_(centres), d_(p_.X.d), rows_(1, 2 * c_.ld),
        dots_(2 * c_.groups * c_.six), score_(c_.groups * c_.six), zeros_(d_, T(0)), listed_(kPiece) {
    std::fill(rows_.block(0), rows_.block(0) + 2 * c_.ld, T(0));
    if (f_.moved) farthest_ = *std::max_element(f_.moved, f_.moved + p_.k);
  }

  // Rows start..stop; adds to sums, returns how many were read.
  i64 take(i64 start, i64 stop, double* sums) {
    const i64 count = hold(start, stop);
    for (i64 l = 0; l < count; l += 2) {
      const i64 m = std::min<i64>(2, count - l);
      for (i64 r = 0; r < m; ++r) load(listed_[l + r], rows_.block(0) + r * c_.ld);
      for (i64 g = 0; g < c_.groups; ++g)
        pair_loops<T>().two_rows(rows_.block(0), c_.ld, c_.packed.block(0) + g * c_.six * c_.ld,
                                 next(l + 2 + g, std::min(l + 4, count)),
                                 dots_.data() + 2 * g * c_.six);
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
      least = nearest(i);
      count += !(upper < least);
    }
    return count;
  }

  // the least of the bounds to other centres
  T nearest(i64 i) const {
    const T* lower = f_.lower + i * p_.k;
    T least = std::numeric_limits<T>::infinity();
    for (i64 c = 0; c < p_.k; ++c) least = std::min(least, lower[c] - f_.drift[c]);
    return least;
  }

  // a row to be called for while others are computed, one that is there already if there is none
  const T* next(i64 l, i64 stop) const {
    return l < stop && p_.X.cs == 1 ? p_.X.at(listed_[l], 0) : rows_.block(0);
  }
  void load(i64 i, T* to) const {
    loops<T>().pack(p_.X.at(i, 0), 1, d_, p_.X.rs, p_.X.cs, p_.shift, nullptr, to, c_.ld);
  }

  // twice <x, c> - |c|^2 / 2 of row r: by so much less than |x|^2 is the squared distance
  void score(i64 r) {
    for (i64 g = 0, c = 0; g < c_.groups; ++g)
      for (i64 s = 0; s < c_.six; ++s, ++c)
        score_[c] = 2 * (dots_[(2 * g + r) * c_.six + s] - c_.half[c]);
  }

  void settle(i64 i, i64 r, double* sums) {
    const T* x = rows_.block(0) + r * c_.ld;
    score(r);
    const auto best = std::max_element(score_.begin(), score_.begin() + p_.k);
    const auto label = static_cast<std::int32_t>(best - score_.begin());
    const std::int32_t old = p_.follow ? p_.labels[i] : -1;
    if (label != old) {
      const T w = p_.w ? p_.w[i] : T(1);
      if (old >= 0) add(x, -w, sums + old * (d_ + 1));
      add(x, w, sums + label * (d_ + 1));
      p_.labels[i] = label;
    }
    if (!f_.moved) f_.norms[i] = loops<T>().squared_distance(x, zeros_.data(), d_);
    bound(i, label);
  }

  void bound(i64 i, std::int32_t label) {
    const T norm = f_.norms[i], slack = kEps * (4 + std::sqrt(T(d_))) * (norm + c_.largest);
    T* lower = f_.lower + i * p_.k;
    for (i64 c = 0; c < p_.k; ++c) {
      const T low = std::sqrt(std::max(T(0), norm - score_[c] - slack));
      lower[c] = low * kBelow + f_.drift[c] * (1 - 4 * kEps);  // less than what rounding may add
    }
    lower[label] = std::numeric_limits<T>::infinity();
    f_.upper[i] = std::sqrt(std::max(T(0), norm - score_[label]) + slack) * kAbove;
    f_.least[i] = nearest(i);
  }

  void add(const T* x, T w, double* sum) const {
    loops<T>().add_row(x, d_, w, sum);
    sum[d_] += static_cast<double>(w);
  }

  const FewPass<T>& f_;
  const ClusterPass<T>& p_;
  const Sixes<T>& c_;
  const i64 d_;
  Scratch<T> rows_;
  std::vector<T> dots_, score_;  // [group][row][six], [centre]
  std::vector<T> zeros_;
  std::vector<i64> listed_;
  T farthest_ = 0;  // that a centre moved
};

}  // namespace

template <class T> PassTerms few_pass(const FewPass<T>& few, int threads) {
  const ClusterPass<T>& pass = few.pass;
  const i64 n = pass.X.n, pieces = ceil_div(n, kPiece), size = pass.k * (pass.X.d + 1);
  const Sixes<T> centres(pass);
  std::vector<Few<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t) team.emplace_back(few, centres);
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

template PassTerms few_pass<float>(const FewPass<float>&, int);
template PassTerms few_pass<double>(const FewPass<double>&, int);

}  // namespace kg
