// Passes of dual coordinate descent (Hsieh et al. 2008; Ho and Lin 2012 for the tube).
#include "svm/dual_coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace kg {
namespace {

double row_dot(const SmoLoops& f, const float* x, const double* w, i64 d) {
  return f.dot_f32(x, w, d);
}
double row_dot(const SmoLoops& f, const double* x, const double* w, i64 d) {
  return f.dot_f64(x, w, d);
}
void row_step(const SmoLoops& f, const float* x, double delta, i64 d, double* w) {
  f.step_f32(x, delta, d, w);
}
void row_step(const SmoLoops& f, const double* x, double delta, i64 d, double* w) {
  f.step_f64(x, delta, d, w);
}

template <class T> double dot(const CoordinateProblem<T>& P, i64 i) {
  double sum = P.scale * P.w[P.d];
  if (!P.indices) return sum + row_dot(P.loops, P.data + i * P.d, P.w, P.d);
  for (i64 k = P.indptr[i]; k < P.indptr[i + 1]; ++k)
    sum += static_cast<double>(P.data[k]) * P.w[P.indices[k]];
  return sum;
}

template <class T> void add(const CoordinateProblem<T>& P, i64 i, double delta) {
  P.w[P.d] += delta * P.scale;
  if (!P.indices) return row_step(P.loops, P.data + i * P.d, delta, P.d, P.w);
  for (i64 k = P.indptr[i]; k < P.indptr[i + 1]; ++k)
    P.w[P.indices[k]] += delta * static_cast<double>(P.data[k]);
}

// Ask for row i ahead of its visit: the order is random, so the processor cannot guess it.
template <class T> void fetch(const CoordinateProblem<T>& P, i64 i) {
  if (P.indices) return;
  const char* row = reinterpret_cast<const char*>(P.data + i * P.d);
  const i64 bytes = std::min<i64>(P.d * static_cast<i64>(sizeof(T)), 4096);
  for (i64 at = 0; at < bytes; at += 64) __builtin_prefetch(row + at);
}

// The part of the subgradient G + eps [-1, 1] nearest to 0 that b may follow downhill.
double pull(double G, double eps, double b, double lower, double upper) {
  const double right = b >= 0 ? G + eps : G - eps, left = b > 0 ? G + eps : G - eps;
  if (b < upper && right < 0) return right;
  if (b > lower && left > 0) return left;
  return 0;
}

// One pass over order[0, active); returns how many rows stay.
template <class T>
i64 one_pass(const CoordinateProblem<T>& P, i64* order, i64 active, double far,
                    double* violation) {
  double worst = 0;
  for (i64 k = 0; k < active; ++k) {
    const i64 i = order[k];
    if (k + 2 < active) fetch(P, order[k + 2]);
    const double G = dot(P, i) + P.s[i] * P.b[i] - P.t[i], b = P.b[i];
    const double v = pull(G, P.eps, b, P.lower[i], P.upper[i]);
    if (v == 0) {
      const bool kink = b <= P.lower[i] || b >= P.upper[i] || b == 0;
      double margin = 1e300;  // how much G must change before b moves
      if (b < P.upper[i]) margin = std::min(margin, b >= 0 ? G + P.eps : G - P.eps);
      if (b > P.lower[i]) margin = std::min(margin, -(b > 0 ? G + P.eps : G - P.eps));
      if (kink && margin > far) std::swap(order[k--], order[--active]);
      continue;
    }
    worst = std::max(worst, std::abs(v));
    const double Q = std::max(P.square[i] + P.s[i], 1e-300), z = b - G / Q, e = P.eps / Q;
    double next = z > e ? z - e : z < -e ? z + e : 0.0;
    next = std::min(std::max(next, P.lower[i]), P.upper[i]);
    if (next == b) continue;
    P.b[i] = next;
    add(P, i, next - b);
  }
  *violation = worst;
  return active;
}

// A random number below `end` (xorshift; its upper half scaled, with a bias far below 1/n).
i64 below(i64 end, std::uint64_t& seed) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return static_cast<i64>(((seed >> 32) * static_cast<std::uint64_t>(end)) >> 32);
}

}  // namespace

template <class T>
i64 coordinate_passes(const CoordinateProblem<T>& P, CoordinateState& state, double goal,
                      i64 visits) {
  i64 seen = 0;
  while (seen < visits) {
    for (i64 k = state.active - 1; k > 0; --k)
      std::swap(state.order[k], state.order[below(k + 1, state.seed)]);
    const bool all = state.active == state.n;
    seen += state.active;
    state.active = one_pass(P, state.order, state.active, state.far, &state.violation);
    state.far = state.violation > 0 ? state.violation : std::numeric_limits<double>::infinity();
    if (state.violation > goal && state.active > 0) continue;
    if (all && state.violation <= goal) break;
    state.active = state.n;  // the rows left out are looked at once more
    state.far = std::numeric_limits<double>::infinity();
  }
  return seen;
}

template i64 coordinate_passes<float>(const CoordinateProblem<float>&, CoordinateState&, double, i64);
template i64 coordinate_passes<double>(const CoordinateProblem<double>&, CoordinateState&, double,
                                       i64);

}  // namespace kg
