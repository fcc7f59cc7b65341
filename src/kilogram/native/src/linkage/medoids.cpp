// Swaps of medoids. With d1, d2 the distances of a row from its nearest and second nearest medoid,
// the change of the total when candidate c replaces medoid m is, for all m at once,
//     loss(m)  +  sum_{d(c) < d1} w (d(c) - d1)  +  sum over the rows of m of
//         w (d1 - d2)  where d(c) < d1,     w (d(c) - d2)  where d1 <= d(c) < d2
// with loss(m) = sum over the rows of m of w (d2 - d1): n steps for a candidate, not n k
// (Schubert and Rousseeuw 2021). Rows with d(c) >= d2 have no part in it and are passed over.
#include "linkage/linkage.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <limits>
#include <omp.h>
#include <vector>

namespace kg {
namespace {

constexpr i64 kMostAhead = 16;  // candidates looked at together, for each thread

struct Swap {
  double change;
  std::int32_t out;
};

template <class T> class Nearest {
 public:
  explicit Nearest(const Medoids<T>& m)
      : m_(m), one(m.n), two(m.n), d1(m.n), d2(m.n), loss(m.k) {
    for (i64 i = 0; i < m_.n; ++i) look(i);
    sum_losses();
  }

  double weight(i64 i) const { return m_.w ? double(m_.w[i]) : 1.0; }
  double total() const {
    double sum = 0;
    for (i64 i = 0; i < m_.n; ++i) sum += weight(i) * double(d1[i]);
    return sum;
  }
  bool takes(i64 c) const { return weight(c) > 0 && d1[c] > 0; }

  // the best medoid to leave for candidate c
  Swap best_for(i64 c, double* delta, std::int32_t* at) const {
    const T* d = m_.D + c * m_.n;
    if (m_.k == 1) {
      double change = 0;
      for (i64 i = 0; i < m_.n; ++i) change += weight(i) * (double(d[i]) - double(d1[i]));
      return {change, 0};
    }
    std::copy(loss.begin(), loss.end(), delta);
    const i64 count = loops<T>().places_below(d, d2.data(), m_.n, at);
    double all = 0;
    for (i64 p = 0; p < count; ++p) {
      const i64 i = at[p];
      const double v = weight(i), near = d1[i], away = d[i];
      if (away < near) {
        all += v * (away - near);
        delta[one[i]] += v * (near - double(d2[i]));
      } else {
        delta[one[i]] += v * (away - double(d2[i]));
      }
    }
    const i64 out = std::min_element(delta, delta + m_.k) - delta;
    return {delta[out] + all, static_cast<std::int32_t>(out)};
  }

  void swap(i64 c, std::int32_t out) {
    m_.chosen[out] = static_cast<std::int32_t>(c);
    const T* d = m_.D + c * m_.n;
    for (i64 i = 0; i < m_.n; ++i) {
      if (one[i] == out || two[i] == out)
        look(i);
      else if (d[i] < d1[i])
        two[i] = one[i], d2[i] = d1[i], one[i] = out, d1[i] = d[i];
      else if (d[i] < d2[i])
        two[i] = out, d2[i] = d[i];
    }
    sum_losses();
  }

 private:
  void look(i64 i) {
    const T* row = m_.D + i * m_.n;
    d1[i] = d2[i] = std::numeric_limits<T>::infinity();
    one[i] = two[i] = 0;
    for (std::int32_t c = 0; c < m_.k; ++c) {
      const T d = row[m_.chosen[c]];
      if (d < d1[i])
        two[i] = one[i], d2[i] = d1[i], one[i] = c, d1[i] = d;
      else if (d < d2[i])
        two[i] = c, d2[i] = d;
    }
  }
  void sum_losses() {
    std::fill(loss.begin(), loss.end(), 0.0);
    if (m_.k == 1) return;
    for (i64 i = 0; i < m_.n; ++i) loss[one[i]] += weight(i) * (double(d2[i]) - double(d1[i]));
  }

  const Medoids<T>& m_;
  std::vector<std::int32_t> one, two;

 public:
  std::vector<T> d1, d2;
  std::vector<double> loss;
};

// Buffers of each thread for the changes by medoid and the places of the rows that count.
struct Workspace {
  Workspace(i64 n, i64 k, int threads) : delta(threads, k), at(threads, n) {}
  Scratch<double> delta;
  Scratch<std::int32_t> at;
};

// Candidates first..first + count, side by side; those that cannot help bring 0.
template <class T>
void look_ahead(const Nearest<T>& near, i64 first, i64 count, const Workspace& workspace, Swap* found,
                int threads) {
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads) if (count > 1)
  for (i64 j = 0; j < count; ++j) {
    const int t = omp_get_thread_num();
    found[j] = near.takes(first + j) ? near.best_for(first + j, workspace.delta.block(t), workspace.at.block(t))
                                     : Swap{0.0, 0};
  }
}

}  // namespace

template <class T> SweepEnd medoid_sweep(const Medoids<T>& m, bool eager, i64 quiet, int threads) {
  Nearest<T> near(m);
  const Workspace workspace(m.n, m.k, threads);
  const double least = -1e-12 * near.total();  // less is rounding
  SweepEnd end{0, quiet, 0};
  std::vector<Swap> found(eager ? kMostAhead * threads : m.n);
  if (!eager) {
    look_ahead(near, 0, m.n, workspace, found.data(), threads);
    const auto best = std::min_element(found.begin(), found.end(), [](const Swap& a, const Swap& b) {
      return a.change < b.change;
    });
    if (best->change < least) near.swap(best - found.begin(), best->out), ++end.swaps;
    end.quiet = end.swaps ? 0 : m.n;
  } else {
    i64 ahead = 1;  // while swaps come thick, what is seen ahead is stale
    for (i64 c = 0; c < m.n && end.quiet < m.n;) {
      const i64 count = std::min({ahead, m.n - c, m.n - end.quiet});
      look_ahead(near, c, count, workspace, found.data(), threads);
      i64 j = 0;
      while (j < count && !(found[j].change < least)) ++j;
      if (j < count) {
        near.swap(c + j, found[j].out);
        ++end.swaps;
        end.quiet = 0;
        ahead = 1;
        c += j + 1;
      } else {
        end.quiet += count;
        c += count;
        ahead = std::min<i64>(2 * ahead, found.size());
      }
    }
  }
  end.total = near.total();
  return end;
}

template <class T> void medoid_build(const Medoids<T>& m, int threads) {
  const i64 n = m.n;
  std::vector<T> near(n);
  std::vector<double> gain(n);
  T far = 0;
  for (i64 i = 0; i < n * n; ++i) far = std::max(far, m.D[i]);
  std::fill(near.begin(), near.end(), far);  // the first gain is then the least total
  for (i64 c = 0; c < m.k; ++c) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (i64 i = 0; i < n; ++i)
      gain[i] = m.w && !(m.w[i] > 0) ? -1.0
                                     : loops<T>().gain_over(m.D + i * n, near.data(), m.w, n);
    for (i64 earlier = 0; earlier < c; ++earlier) gain[m.chosen[earlier]] = -1.0;
    const i64 best = std::max_element(gain.begin(), gain.end()) - gain.begin();
    m.chosen[c] = static_cast<std::int32_t>(best);
    const T* row = m.D + best * n;
    for (i64 i = 0; i < n; ++i) near[i] = std::min(near[i], row[i]);
  }
}

#define KG_INSTANTIATE(T)                                                        \
  template SweepEnd medoid_sweep<T>(const Medoids<T>&, bool, i64, int);          \
  template void medoid_build<T>(const Medoids<T>&, int);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
