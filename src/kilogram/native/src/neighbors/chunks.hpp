// Queries dealt to a team of threads, and the results of queries that find different numbers of rows.
#pragma once
#include "common/interrupt.hpp"
#include "common/rows.hpp"
#include "neighbors/k_best.hpp"

#include <algorithm>
#include <exception>
#include <omp.h>
#include <vector>

namespace kg {

// f(chunk, thread) for all chunks, `turns` of a thread between two looks for an interrupt. What f throws is
// thrown again when the team is done: memory for results may end.
template <class F> void for_chunks(i64 chunks, i64 turns, int threads, const F& f) {
  const i64 round = turns * threads;
  for (i64 first = 0; first < chunks; first += round) {
    check_interrupt();
    const i64 last = std::min(chunks, first + round);
    std::exception_ptr failed;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (i64 c = first; c < last; ++c) {
      try {
        f(c, omp_get_thread_num());
      } catch (...) {
#pragma omp critical(neighbors_failed)
        failed = std::current_exception();
      }
    }
    if (failed) std::rethrow_exception(failed);
  }
}

// Rows found for m queries: those of query i are index[start[i]] .. index[start[i + 1]].
struct Ragged {
  std::vector<i64> start;
  std::vector<std::int32_t> index;
  std::vector<double> distances;
};

enum class Order { rows, distance };  // of the rows found for a query

// Rows found for the queries of one chunk, one query after the other.
struct RaggedPart {
  std::vector<i64> queries, counts;
  std::vector<std::int32_t> index;
  std::vector<double> distances;

  // Those of `found` that are at most `radius` away.
  void add(i64 query, std::vector<Found>& found, double radius, Order order) {
    std::erase_if(found, [radius](const Found& one) { return !(one.first <= radius); });
    if (order == Order::distance)
      std::sort(found.begin(), found.end());
    else
      std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.second < b.second; });
    queries.push_back(query);
    counts.push_back(static_cast<i64>(found.size()));
    for (const Found& one : found) index.push_back(one.second), distances.push_back(one.first);
  }
};

// The parts in the order of the m queries; they are emptied.
Ragged joined(std::vector<RaggedPart>& parts, i64 m);

}  // namespace kg
