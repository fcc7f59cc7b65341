// Shortest paths in a graph.
#pragma once
#include "common/rows.hpp"

namespace kg {

// A sparse matrix by rows: row i holds entries start[i] .. start[i + 1].
struct Graph {
  i64 n;
  const i64* start;
  const std::int32_t* index;
  const double* length;
};

// out (m, n): lengths of the shortest paths from the m sources, infinite where there is none.
void shortest_paths(const Graph& graph, const i64* sources, i64 m, double* out, int threads);

}  // namespace kg
