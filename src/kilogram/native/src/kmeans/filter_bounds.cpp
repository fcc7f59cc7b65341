// Lloyd's iteration with the candidate filter (kmeans/candidate_filter.cpp) with bounds from pass to pass
// (kmeans/bounds.cpp).
//
// A row knows how far its own centre is at most and, for every block of four centres, how far the
// nearest of them is at least, its own left out; both move with the centres. What happens to it:
//     upper < every lower      it stays, and neither it nor its codes are read: most rows, most passes
//     else its codes           against the blocks that are not far enough give new bounds of both kinds
//     else the row itself      against the few centres that the codes cannot tell apart
// So wide rows are read by those that lie between clusters only. The exact distance decides there, and
// the labels are those of a plain pass.
#include "kmeans/filter_bounds.hpp"
#include "kmeans/lanes.hpp"

#include <numeric>

namespace kg {

namespace {

constexpr i64 kPiece = 960;  // rows compared with their bounds at a time, by one thread
constexpr i64 kStrips = 4;   // taken one after another

struct Wanting {
  std::uint64_t blocks;  // as bits
  std::int32_t row;
};

// Sorts by the blocks, those of equal ones as they stood: some bits at a time, from the last.
void sort_by_blocks(std::vector<Wanting>& rows, i64 blocks) {
  constexpr i64 bits = 11, values = i64(1) << bits;
  std::vector<Wanting> to(rows.size());
  for (i64 shift = 0; shift < blocks; shift += bits) {
    const auto digit = [shift](const Wanting& one) { return i64(one.blocks >> shift) & (values - 1); };
    std::vector<i64> start(values + 1, 0);
    for (const Wanting& one : rows) ++start[digit(one) + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    for (const Wanting& one : rows) to[start[digit(one)]++] = one;
    rows.swap(to);
  }
}

// The rows that need some block. A strip of rows is compared with all blocks that one of them needs, so
// rows that need the same ones stand side by side, unless most rows need most of them anyway.
template <class T>
std::vector<std::int32_t> listed(const FilteredBoundsPass<T>& h, const CodedCentres<T>& centres,
                                 const std::vector<std::uint64_t>& needed) {
  const ClusterPass<T>& p = h.filtered.pass;
  const i64 n = p.X.n, blocks = ceil_div(h.filtered.places, kBlockCentres);
  std::vector<std::int32_t> order;
  order.reserve(n);
  if (!h.known) {
    order.resize(n);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  i64 wanted = 0;
  std::vector<Wanting> rows;
  rows.reserve(n);
  for (i64 i = 0; i < n; ++i) {
    if (!needed[i]) continue;
    const std::uint64_t own = std::uint64_t(1) << centres.place[p.labels[i]] / kBlockCentres;
    wanted += __builtin_popcountll(needed[i]);
    rows.push_back({needed[i] | own, static_cast<std::int32_t>(i)});
  }
  if (2 * wanted < n * blocks) sort_by_blocks(rows, blocks);
  for (const Wanting& one : rows) order.push_back(one.row);
  return order;
}

}  // namespace

template <class T> PassTerms filtered_bounds_pass(const FilteredBoundsPass<T>& bounds, int threads) {
  const ClusterPass<T>& pass = bounds.filtered.pass;
  const CodedCentres<T> centres(bounds.filtered, threads);
  std::vector<Hold<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t) team.emplace_back(bounds, centres);
  const i64 n = pass.X.n, pieces = ceil_div(n, kPiece), size = pass.k * (pass.X.d + 1);
  const i64 strip = filter_loops().rows;
  std::vector<std::uint64_t> needed(bounds.known ? n : 0);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 p = 0; p < (bounds.known ? pieces : 0); ++p)
    for (i64 i = p * kPiece; i < std::min(n, (p + 1) * kPiece); ++i)
      needed[i] = team[omp_get_thread_num()].needed(i);
  const std::vector<std::int32_t> order = listed(bounds, centres, needed);
  const i64 count = static_cast<i64>(order.size()), run = kStrips * strip;
  const auto take = [&](i64 r, int thread, double* sums) {
    for (i64 from = r * run; from < std::min(count, (r + 1) * run); from += strip) {
      const i64 m = std::min(strip, count - from), more = std::min(strip, count - from - m);
      team[thread].take(order.data() + from, m, more, needed.data(), sums, sums + size);
    }
    return 0.0;
  };
  PassTerms terms = in_lanes(pass, ceil_div(count, run), threads, take, bounds.known);
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

template PassTerms filtered_bounds_pass<float>(const FilteredBoundsPass<float>&, int);
template PassTerms filtered_bounds_pass<double>(const FilteredBoundsPass<double>&, int);

}  // namespace kg
