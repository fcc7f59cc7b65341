// Neighbours of rows, and shortest paths in a graph of them.
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

// The k nearest rows of Y for each row of X: index (n, k) and squared distances (n, k), nearest
// first, ties by position. `skip_self`: row i of X is row i of Y and is no neighbour of its own.
// norms (Y.n) are |y - shift|^2.
template <class T>
void nearest_rows(const Rows<T>& X, const Rows<T>& Y, const T* shift, const T* norms, i64 k,
                  bool skip_self, std::int32_t* index, T* squares, int threads);

// out (m, n): lengths of the shortest paths from the m sources, infinite where there is none.
void shortest_paths(const Graph& graph, const i64* sources, i64 m, double* out, int threads);

}  // namespace kg
