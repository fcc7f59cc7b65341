// Where k-means begins, and the steps of a small one: what Python would spend more time on calling
// than on computing. The draws come from outside, so the rows chosen are those that plain NumPy
// chooses from the same ones.
#include "kmeans/packed_centres.hpp"
#include "kmeans/filter_loops.hpp"
#include "common/interrupt.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <omp.h>
#include <vector>

namespace kg {
namespace {

constexpr i64 kKept = i64(1) << 23;  // bytes of rows that are packed once for all centres
constexpr double kNegligibleWeight = 1e-9;  // of the largest weight of a cluster: what rounding may leave

// Rows lie in blocks of two panels. The mass of every block is kept, so that a draw looks at the
// blocks and then at the rows of one; it is added up in order, whatever the threads.
template <class T> class GreedyInitialization {
 public:
  GreedyInitialization(const GreedyStart<T>& start, int threads)
      : s_(start), f_(loops<T>()), size_(2 * f_.panel), d_(start.X.d),
        blocks_(ceil_div(start.X.n, size_)), threads_(threads),
        kept_(blocks_ * size_ * d_ * i64(sizeof(T)) <= kKept),
        panels_(kept_ ? blocks_ : threads, size_ * d_), centres_(1, start.trials * d_),
        away_(start.trials + 1, blocks_ * size_), mass_(start.trials + 1, blocks_),
        slot_(start.trials + 1), prefix_(blocks_) {
    for (i64 t = 0; t <= s_.trials; ++t) slot_[t] = t;
    for (i64 b = 0; kept_ && b < blocks_; ++b) pack(b, panels_.block(b));
    T* near = away_.block(slot_[s_.trials]);
    std::fill(near, near + blocks_ * size_, std::numeric_limits<T>::max());
  }

  // how many rows were chosen: fewer than k when every row lies on one of them, or time is up
  i64 choose() {
    std::vector<i64> rows(s_.trials);
    const auto begun = std::chrono::steady_clock::now();
    take(s_.chosen, 1);
    for (i64 c = 1; c < s_.k; ++c) {
      check_interrupt();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
      if (taken.count() > s_.seconds) return c;
      const double* mass = mass_.block(slot_[s_.trials]);
      double total = 0;
      for (i64 b = 0; b < blocks_; ++b) prefix_[b] = total += mass[b];
      if (!(total > 0)) return c;
      for (i64 t = 0; t < s_.trials; ++t)
        rows[t] = drawn(s_.uniforms[(c - 1) * s_.trials + t] * total);
      s_.chosen[c] = rows[take(rows.data(), s_.trials)];
    }
    return s_.k;
  }

 private:
  i64 rows_of(i64 b) const { return std::min(size_, s_.X.n - b * size_); }

  void pack(i64 b, T* to) const {
    const i64 first = b * size_, m = rows_of(b);
    if (m < size_) std::fill(to, to + size_ * d_, T(0));
    for (i64 r = 0; r < m; r += f_.panel)
      f_.pack_t(s_.X.at(first + r, 0), std::min(f_.panel, m - r), d_, s_.X.rs, s_.X.cs, nullptr,
                to + r * d_, f_.panel);
  }

  // the first row at which the mass of all rows so far reaches the target
  i64 drawn(double target) const {
    const i64 b = std::min<i64>(
        std::lower_bound(prefix_.begin(), prefix_.end(), target) - prefix_.begin(), blocks_ - 1);
    const T* near = away_.block(slot_[s_.trials]) + b * size_;
    double mass = b ? prefix_[b - 1] : 0;
    i64 last = b * size_;  // that has any, should rounding keep the sum below the target
    for (i64 i = 0; i < rows_of(b); ++i) {
      const i64 row = b * size_ + i;
      const double own = (s_.w ? s_.w[row] : 1.0) * double(near[i]);
      if (!(own > 0)) continue;
      last = row;
      if ((mass += own) >= target) break;
    }
    return last;
  }

  // Of the candidates the one that leaves the least mass; what it leaves is kept.
  i64 take(const i64* rows, i64 count) {
    for (i64 t = 0; t < count; ++t)
      f_.pack(s_.X.at(rows[t], 0), 1, d_, s_.X.rs, s_.X.cs, nullptr, nullptr,
              centres_.block(0) + t * d_, d_);
#pragma omp parallel for schedule(static) num_threads(threads_) if (threads_ > 1)
    for (i64 b = 0; b < blocks_; ++b) measure(b, count);
    i64 best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (i64 t = 0; t < count; ++t) {
      const double* mass = mass_.block(slot_[t]);
      double total = 0;
      for (i64 b = 0; b < blocks_; ++b) total += mass[b];
      if (total < least) best = t;
      least = std::min(least, total);
    }
    std::swap(slot_[best], slot_[s_.trials]);
    return best;
  }

  void measure(i64 b, i64 count) {
    T* panels = panels_.block(kept_ ? b : omp_get_thread_num());
    if (!kept_) pack(b, panels);
    const T* near = away_.block(slot_[s_.trials]) + b * size_;
    const double* w = s_.w ? s_.w + b * size_ : nullptr;
    for (i64 t = 0; t < count; ++t) {
      T* away = away_.block(slot_[t]) + b * size_;
      f_.panel_distances(panels, d_, 2, centres_.block(0) + t * d_, away);
      mass_.block(slot_[t])[b] = pair_loops<T>().lowered(near, w, rows_of(b), away);
    }
  }

  const GreedyStart<T>& s_;
  const Loops<T>& f_;
  const i64 size_, d_, blocks_;
  const int threads_;
  const bool kept_;
  Scratch<T> panels_, centres_, away_;
  Scratch<double> mass_;
  std::vector<i64> slot_;  // where the distances of each candidate lie; last those kept
  std::vector<double> prefix_;
};

// Few rows, packed once for many steps: with few columns packing takes longer than the distances.
template <class T> class Resident {
 public:
  explicit Resident(const ClusterPass<T>& pass)
      : p_(pass), f_(loops<T>()), size_(f_.strip), d_(pass.X.d), strips_(ceil_div(pass.X.n, size_)),
        blocks_(pass.k, d_), rows_(1, pass.X.n * d_), packed_(1, strips_ * size_ * d_), index_(size_),
        listed_(blocks_.count) {
    std::iota(listed_.begin(), listed_.end(), 0);
    f_.pack(p_.X.at(0, 0), p_.X.n, d_, p_.X.rs, p_.X.cs, p_.shift, nullptr, rows_.block(0), d_);
    std::fill(packed_.block(0), packed_.block(0) + strips_ * size_ * d_, T(0));
    for (i64 s = 0; s < strips_; ++s)
      f_.pack_lanes(rows_.block(0) + s * size_ * d_, std::min(size_, p_.X.n - s * size_), d_, d_, strip(s));
  }

  // every row to its nearest centre; with `follow` the sums are those of the labels
  void step(const T* C, bool follow) {
    if (!follow) std::fill(p_.sums, p_.sums + p_.k * (d_ + 1), 0.0);
    blocks_.set(C);
    for (i64 s = 0; s < strips_; ++s) {
      f_.nearest(strip(s), d_, blocks_.centres(), blocks_.half(), listed_.data(), blocks_.count,
                 index_.data());
      for (i64 i = s * size_; i < std::min(p_.X.n, (s + 1) * size_); ++i)
        settle(i, index_[i - s * size_], follow ? p_.labels[i] : -1);
    }
  }

 private:
  T* strip(i64 s) const { return packed_.block(0) + s * size_ * d_; }

  void settle(i64 i, std::int32_t label, std::int32_t old) {
    if (label == old) return;
    const double w = p_.w ? double(p_.w[i]) : 1.0;
    if (old >= 0) add(i, -w, p_.sums + old * (d_ + 1));
    add(i, w, p_.sums + label * (d_ + 1));
    p_.labels[i] = label;
  }
  void add(i64 i, double w, double* sum) const {
    const T* x = rows_.block(0) + i * d_;
    for (i64 j = 0; j < d_; ++j) sum[j] += w * double(x[j]);
    sum[d_] += w;
  }

  const ClusterPass<T>& p_;
  const Loops<T>& f_;
  const i64 size_, d_, strips_;
  Blocks<T> blocks_;
  Scratch<T> rows_, packed_;
  std::vector<std::int32_t> index_, listed_;
};

}  // namespace

template <class T> i64 greedy_start(const GreedyStart<T>& start, int threads) {
  return GreedyInitialization<T>(start, threads).choose();
}

template <class T> LloydTerms lloyd_iterations(const LloydSteps<T>& l) {
  const ClusterPass<T>& pass = l.pass;
  const i64 k = pass.k, d = pass.X.d;
  std::vector<T> C(k * d);
  Resident<T> rows(pass);
  LloydTerms terms{0, false};
  while (terms.steps < l.most) {
    for (i64 j = 0; j < k * d; ++j) C[j] = static_cast<T>(l.centres[j] - l.origin[j % d]);
    rows.step(C.data(), pass.follow || terms.steps > 0);
    // sums of weights keep a little of rows that left: what is too little is counted by the caller
    double most = 0;
    for (i64 c = 0; pass.w && c < k; ++c) most = std::max(most, pass.sums[c * (d + 1) + d]);
    for (i64 c = 0; c < k; ++c)
      if (!(pass.sums[c * (d + 1) + d] > kNegligibleWeight * most)) return terms;
    double moved = 0;
    for (i64 c = 0; c < k; ++c) {
      const double *sum = pass.sums + c * (d + 1), weight = sum[d];
      for (i64 j = 0; j < d; ++j) {
        const double to = l.origin[j] + sum[j] / weight, off = to - l.centres[c * d + j];
        l.centres[c * d + j] = to;
        moved += off * off;
      }
    }
    ++terms.steps;
    if ((terms.rests = moved <= l.tol)) break;
  }
  return terms;
}

#define KG_INSTANTIATE(T)                                          \
  template i64 greedy_start<T>(const GreedyStart<T>&, int);        \
  template LloydTerms lloyd_iterations<T>(const LloydSteps<T>&);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
