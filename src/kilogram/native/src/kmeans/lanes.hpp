// The rows of a pass dealt in pieces to fixed lanes, each with its own sums, added in order at the
// end: the result does not depend on the threads.
#pragma once
#include "kmeans/kmeans.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <omp.h>

namespace kg {

// take(piece, thread, sums) adds to sums (k (d + 1)), counts in the two entries after them what it
// looked at and what it opened, and returns its inertia. The pieces of a lane lie side by side, or they
// are dealt in turn: where the work of a piece goes with its place, all lanes take the same time then.
template <class T, class Take>
PassTerms in_lanes(const ClusterPass<T>& pass, i64 pieces, int threads, const Take& take,
                   bool dealt = false) {
  constexpr i64 lane_count = 16, lane_bytes = i64(1) << 26;  // of all lanes' sums together
  const i64 size = pass.k * (pass.X.d + 1);
  const i64 most = std::clamp<i64>(lane_bytes / (8 * size), 1, lane_count);
  const i64 count = std::max<i64>(1, std::min(most, pieces));
  const Scratch<double> lanes(count, size + 3);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    double* sums = lanes.block(lane);
    std::fill(sums, sums + size + 3, 0.0);
    const i64 first = dealt ? lane : lane * pieces / count, step = dealt ? count : 1;
    const i64 end = dealt ? pieces : (lane + 1) * pieces / count;
    for (i64 s = first; s < end; s += step) sums[size + 2] += take(s, omp_get_thread_num(), sums);
  }
  PassTerms terms{0, 0, 0};
  if (!pass.follow) std::fill(pass.sums, pass.sums + size, 0.0);
  constexpr i64 part = 4096;  // numbers that stay in cache while all lanes are added to them
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 at = 0; at < size; at += part)
    for (i64 l = 0; l < count; ++l) {
      const i64 m = std::min(part, size - at);
      loops<double>().add(lanes.block(l) + at, 1, m, m, pass.sums + at, m);
    }
  for (i64 l = 0; l < count; ++l) {
    terms.looked += lanes.block(l)[size];
    terms.opened += lanes.block(l)[size + 1];
    terms.inertia += lanes.block(l)[size + 2];
  }
  return terms;
}

}  // namespace kg
