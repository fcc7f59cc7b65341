// Lloyd's step behind the sieve (kmeans_sieve.cpp) with bounds from pass to pass (kmeans_bounds.cpp).
//
// A row knows how far its own centre is at most and, for every block of four centres, how far the
// nearest of them is at least, its own left out; both move with the centres. What happens to it:
//     upper < every lower      it stays, and neither it nor its codes are read: most rows, most passes
//     else its codes           against the blocks that are not far enough give new bounds of both kinds
//     else the row itself      against the few centres that the codes cannot tell apart
// So wide rows are read by those that lie between clusters only. The exact distance decides there, and
// the labels are those of a plain pass.
#include "kmeans_held.hpp"
#include "kmeans_lanes.hpp"

#include <numeric>

namespace kg {

namespace {

constexpr i64 kFour = 4;
constexpr i64 kPiece = 960;    // rows held against their bounds at a time, by one thread
constexpr i64 kFewBlocks = 4;  // of which any set may be needed

// The rows that need some block. Rows that need the same ones stand side by side: those of one cluster
// where blocks are many, unless most rows need most of them anyway.
template <class T>
std::vector<std::int32_t> listed(const HeldPass<T>& h, const CodedCentres<T>& centres,
                                 const std::vector<std::uint64_t>& needed) {
  const ClusterPass<T>& p = h.sieved.pass;
  const i64 n = p.X.n, blocks = ceil_div(h.sieved.places, kFour);
  if (!h.known) {
    std::vector<std::int32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  i64 wanted = 0;
  for (i64 i = 0; i < n; ++i) wanted += __builtin_popcountll(needed[i]);
  const bool few = blocks <= kFewBlocks, all = 2 * wanted > n * blocks;
  const auto key = [&](i64 i) -> i64 {
    const i64 place = centres.place[p.labels[i]];
    return few ? i64(needed[i] | std::uint64_t(1) << place / kFour) : all ? 0 : place;
  };
  std::vector<i64> start(std::max(h.sieved.places, i64(1) << kFewBlocks) + 1, 0);
  for (i64 i = 0; i < n; ++i)
    if (needed[i]) ++start[key(i) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::int32_t> order(start.back());
  for (i64 i = 0; i < n; ++i)
    if (needed[i]) order[start[key(i)]++] = static_cast<std::int32_t>(i);
  return order;
}

}  // namespace

template <class T> PassTerms held_pass(const HeldPass<T>& held, int threads) {
  const ClusterPass<T>& pass = held.sieved.pass;
  const CodedCentres<T> centres(held.sieved);
  std::vector<Hold<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t) team.emplace_back(held, centres);
  const i64 n = pass.X.n, pieces = ceil_div(n, kPiece), size = pass.k * (pass.X.d + 1);
  const i64 strip = sieve_loops().rows;
  std::vector<std::uint64_t> needed(held.known ? n : 0);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 p = 0; p < (held.known ? pieces : 0); ++p)
    for (i64 i = p * kPiece; i < std::min(n, (p + 1) * kPiece); ++i)
      needed[i] = team[omp_get_thread_num()].needed(i);
  const std::vector<std::int32_t> order = listed(held, centres, needed);
  const i64 count = static_cast<i64>(order.size());
  PassTerms terms =
      in_lanes(pass, ceil_div(count, strip), threads, [&](i64 s, int thread, double* sums) {
        const i64 from = s * strip, m = std::min(strip, count - from);
        const i64 more = std::min(strip, count - from - m);
        team[thread].take(order.data() + from, m, more, needed.data(), sums, sums + size);
        return 0.0;
      });
  terms.looked /= double(n);
  terms.opened /= double(n);
  if (!pass.measure) return terms;
  std::vector<double> inertia(pieces, 0.0);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 p = 0; p < pieces; ++p)
    for (i64 i = p * kPiece; i < std::min(n, (p + 1) * kPiece); ++i)
      inertia[p] += team[omp_get_thread_num()].measure(i);
  terms.inertia = std::accumulate(inertia.begin(), inertia.end(), 0.0);
  return terms;
}

template PassTerms held_pass<float>(const HeldPass<float>&, int);
template PassTerms held_pass<double>(const HeldPass<double>&, int);

}  // namespace kg
