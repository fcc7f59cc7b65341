// Shortest paths: Dijkstra's algorithm, the sources dealt to the threads.
#include "graph/graph.hpp"

#include <algorithm>
#include <limits>
#include <omp.h>
#include <utility>
#include <vector>

namespace kg {
namespace {

using Step = std::pair<double, std::int32_t>;

void paths_from(const Graph& graph, i64 source, double* length, std::vector<Step>& heap) {
  const auto later = [](const Step& a, const Step& b) { return a.first > b.first; };
  std::fill(length, length + graph.n, std::numeric_limits<double>::infinity());
  length[source] = 0;
  heap.assign(1, {0.0, std::int32_t(source)});
  while (!heap.empty()) {
    const auto [reached, from] = heap.front();
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    if (reached > length[from]) continue;  // a shorter way was found since
    for (i64 e = graph.start[from]; e < graph.start[from + 1]; ++e) {
      const std::int32_t to = graph.index[e];
      const double next = reached + graph.length[e];
      if (next < length[to]) {
        length[to] = next;
        heap.push_back({next, to});
        std::push_heap(heap.begin(), heap.end(), later);
      }
    }
  }
}

}  // namespace

void shortest_paths(const Graph& graph, const i64* sources, i64 m, double* out, int threads) {
  std::vector<std::vector<Step>> heaps(threads);
  for (auto& heap : heaps) heap.reserve(graph.start[graph.n] + 1);  // no throw in the loop below
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads)
  for (i64 s = 0; s < m; ++s)
    paths_from(graph, sources[s], out + s * graph.n, heaps[omp_get_thread_num()]);
}

}  // namespace kg
