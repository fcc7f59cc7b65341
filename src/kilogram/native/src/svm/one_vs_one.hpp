// Small machines of one kernel matrix in one call: each gathers its square, takes pair steps, and
// brings its certificate. A thread works at one machine at a time.
// Included only by bindings/svm.cpp.
#pragma once
#include "svm/loops.hpp"
#include "common/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <omp.h>

namespace kg {
namespace {

// `count` machines: machine k has the points at[start[k], start[k + 1]) with signs y and penalties C.
struct OneVsOneProblems {
  i64 count;
  const i64 *at, *start;
  const double *y, *C;
};

struct OneVsOneResult {
  double steps, bias, objective, gap, violation;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kRounds = 8;  // gradients made anew, against the rounding of many updates

PairResult steps(const PairProblem<float>& P, double tol, i64 most) {
  return smo_loops().pairs_f32(P, tol, most);
}
PairResult steps(const PairProblem<double>& P, double tol, i64 most) {
  return smo_loops().pairs_f64(P, tol, most);
}
void add(const float* const* rows, const double* delta, i64 m, i64 cols, double* g) {
  smo_loops().add_f32(rows, delta, m, cols, g);
}
void add(const double* const* rows, const double* delta, i64 m, i64 cols, double* g) {
  smo_loops().add_f64(rows, delta, m, cols, g);
}

// out (q, q) = K[at, at], by runs of points that follow one another; ends has space for q numbers
template <class S> void gather(const S* K, i64 n, const i64* at, i64 q, S* out, i64* ends) {
  i64 runs = 0;
  for (i64 j = 1; j <= q; ++j)
    if (j == q || at[j] != at[j - 1] + 1) ends[runs++] = j;
  for (i64 i = 0; i < q; ++i) {
    const S* row = K + at[i] * n;
    for (i64 r = 0, first = 0; r < runs; first = ends[r++])
      std::memcpy(out + i * q + first, row + at[first], (ends[r] - first) * sizeof(S));
  }
}

// One machine on q points: its dual min 1/2 b'(K + diag(s)) b - t'b in a box, sum b = 0.
template <class S> struct Machine {
  const S* K;
  i64 q;
  const S** rows;                                    // space for q
  double *t, *s, *lower, *upper, *f, *b, *g, *work;  // work: 4 q numbers

  // soft margins of y = +-1 with penalties C, of linear (1) or quadratic (2) slack
  void begin(const double* y, const double* C, int slack) {
    for (i64 i = 0; i < q; ++i) {
      const double most = slack == 2 ? kInfinity : C[i];
      t[i] = y[i] > 0 ? 1.0 : -1.0;
      s[i] = slack == 2 ? 0.5 / C[i] : 0.0;
      lower[i] = y[i] > 0 ? 0.0 : -most;
      upper[i] = y[i] > 0 ? most : 0.0;
      f[i] = -t[i];
      b[i] = 0;
    }
  }

  // g = K b and f from it; returns the violation
  double refresh() {
    i64 m = 0;
    for (i64 i = 0; i < q; ++i)
      if (b[i] != 0) {
        rows[m] = K + i * q;
        work[m++] = b[i];
      }
    std::fill(g, g + q, 0.0);
    add(rows, work, m, q, g);
    double smallest = kInfinity, largest = -kInfinity;
    for (i64 i = 0; i < q; ++i) {
      f[i] = g[i] + s[i] * b[i] - t[i];
      if (b[i] < upper[i]) smallest = std::min(smallest, f[i]);
      if (b[i] > lower[i]) largest = std::max(largest, f[i]);
    }
    return std::max(0.0, largest - smallest);
  }

  // -mean f of the free variables, or the middle of what the others allow
  double bias() const {
    double sum = 0, rise = kInfinity, fall = -kInfinity;
    i64 free = 0;
    for (i64 i = 0; i < q; ++i) {
      const bool up = b[i] < upper[i], low = b[i] > lower[i];
      if (up) rise = std::min(rise, f[i]);
      if (low) fall = std::max(fall, f[i]);
      if (up && low) {
        sum += f[i];
        ++free;
      }
    }
    if (free) return -sum / static_cast<double>(free);
    if (std::isfinite(rise) && std::isfinite(fall)) return -0.5 * (rise + fall);
    return std::isfinite(rise) ? -rise : std::isfinite(fall) ? -fall : 0.0;
  }

  // sup over the box of u r - s u^2 / 2
  double loss(i64 i, double r) const {
    double u = s[i] > 0 ? r / s[i] : r > 0 ? kInfinity : r < 0 ? -kInfinity : 0.0;
    u = std::min(std::max(u, lower[i]), upper[i]);
    return u == 0 ? 0.0 : u * r - 0.5 * s[i] * u * u;
  }

  OneVsOneResult certificate(i64 taken, double violation) const {
    const double at = bias();
    double square = 0, linear = 0, slack = 0, cost = 0;
    for (i64 i = 0; i < q; ++i) {
      square += b[i] * g[i];
      linear += t[i] * b[i];
      slack += s[i] * b[i] * b[i];
      cost += loss(i, t[i] - g[i] - at);
    }
    const double primal = 0.5 * square + cost;
    return {static_cast<double>(taken), at, primal, primal - (linear - 0.5 * square - 0.5 * slack),
            violation};
  }

  OneVsOneResult solve(double tol, i64 most) {
    const PairProblem<S> problem{K, q, s, lower, upper, f, b, work};
    i64 taken = 0;
    double violation = kInfinity;
    for (int round = 0; round < kRounds && violation > tol && taken < most; ++round) {
      taken += steps(problem, 0.5 * tol, most - taken).steps;
      violation = refresh();
    }
    return certificate(taken, violation);
  }
};

// Solve all machines to `tol`, with at most `visits` steps for each of their points; b as at.
template <class S>
void smo_one_vs_one(const S* K, i64 n, const OneVsOneProblems& problems, int slack, double tol, i64 visits, double* b,
               OneVsOneResult* results, int threads) {
  i64 widest = 1;
  for (i64 k = 0; k < problems.count; ++k)
    widest = std::max(widest, problems.start[k + 1] - problems.start[k]);
  const Scratch<S> squares(threads, widest * widest);
  const Scratch<double> vectors(threads, 10 * widest);
  const Scratch<const S*> pointers(threads, widest);
  const Scratch<i64> ends(threads, widest);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 k = 0; k < problems.count; ++k) {
    const i64 from = problems.start[k], q = problems.start[k + 1] - from;
    const int me = omp_get_thread_num();
    S* square = squares.block(me);
    double* v = vectors.block(me);
    gather(K, n, problems.at + from, q, square, ends.block(me));
    Machine<S> machine{square,    q,         pointers.block(me), v,         v + q,    v + 2 * q,
                       v + 3 * q, v + 4 * q, b + from,           v + 5 * q, v + 6 * q};
    machine.begin(problems.y + from, problems.C + from, slack);
    results[k] = machine.solve(tol, visits * q);
  }
}

}  // namespace
}  // namespace kg
