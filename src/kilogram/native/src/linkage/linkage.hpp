// Medoids and merge trees over raw buffers.
#pragma once
#include "common/rows.hpp"

namespace kg {

// What a sweep over all candidates sees and changes: D (n, n) symmetric, w (n) or null, medoids (k).
template <class T> struct Medoids {
  const T* D;
  i64 n;
  const T* w;
  std::int32_t* chosen;
  i64 k;
};

struct SweepEnd {
  i64 swaps;
  i64 quiet;     // candidates in a row that brought nothing
  double total;  // sum_i w_i D(i, nearest medoid)
};

// One sweep of swaps. Eager: every candidate that lowers the total is taken at once, going on from
// `quiet` candidates seen in vain, until n are. Otherwise the one best swap is made.
template <class T> SweepEnd medoid_sweep(const Medoids<T>& m, bool eager, i64 quiet, int threads);

// The start BUILD: one after another, the candidate that lowers the total most.
template <class T> void medoid_build(const Medoids<T>& m, int threads);

// Every function below fills merges (n - 1): two rows, one of each cluster, and the height.
struct Merge {
  std::int32_t a, b;
  double height;
};

enum Linkage : int { kComplete, kAverage, kWard, kCentroid };

// Prim's minimum spanning tree of the Euclidean graph; heights are squared distances.
template <class T> void tree_of_rows(const Rows<T>& X, Merge* merges);
// The same of a stored matrix of distances.
template <class T> void tree_of_matrix(const T* D, i64 n, Merge* merges);
// Ward's linkage from the rows, without a matrix; heights are squared. size (n): weights of the rows.
template <class T> void ward_of_rows(const Rows<T>& X, const T* size, Merge* merges);
// Nearest neighbours merged over D (n, n), which is overwritten: complete, average, Ward's.
template <class T>
void chain_of_matrix(T* D, i64 n, const T* size, Linkage linkage, Merge* merges, int threads);
// Complete and average linkage of rows; the matrix is kept of the clusters that are left when it is
// smaller than `memory_limit` bytes, or smaller than a round over the rows is worth.
template <class T>
void link_cloud(const Rows<T>& X, const T* size, Linkage linkage, i64 memory_limit, Merge* merges,
                int threads);
// The closest pair again and again, for linkages that may bring a merged cluster nearer: centroid on
// squared distances, which are overwritten; or, with `medoids`, the distance of the medoids.
template <class T>
void closest_pairs(T* D, i64 n, const T* size, bool medoids, Merge* merges);

// merges in order of height -> names of clusters (n - 1, 2): rows are 0..n-1, merger t is n + t
void name_clusters(const Merge* merges, i64 n, i64* children, double* weights);

}  // namespace kg
