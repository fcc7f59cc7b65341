// One step of k-means over raw buffers.
#pragma once
#include "common/rows.hpp"

namespace kg {

// What a pass of Lloyd's algorithm sees and fills. C (k, d) are the centres less `shift`;
// sums (k, d + 1) get the weighted sums of x - shift of every cluster's rows, and their weight. With
// `follow` they hold those of the labels given, and only the rows that move are added and taken off.
template <class T> struct ClusterPass {
  Rows<T> X;
  const T* w;      // (n) or null
  const T* shift;  // (d) or null
  const T* C;
  i64 k;
  std::int32_t* labels;  // (n): the nearest centre; what it held before is read if `follow`
  T* distances;          // (n) squared, or null
  double* sums;
  bool follow;   // sums of an earlier pass
  bool measure;  // the exact distances, for inertia and `distances`
};

struct PassTerms {
  double inertia;  // sum_i w_i |x_i - c|^2, 0 unless measured
  double looked;   // fraction of the groups that were looked at, in a pass with bounds
  double opened;   // fraction of the centres compared by codes, in a pass with the candidate filter
};

template <class T> PassTerms cluster_pass(const ClusterPass<T>& pass, int threads);

// The same with bounds from pass to pass. Centres lie in groups of `size` places. For every row,
// upper (n) bounds the distance from its own centre, lower (n, ld) that from each group, its own
// centre left out, plus what the group had drifted by then, and least (n) the least of them. There are
// whole cache lines of bounds, ld of them, for a group each or none.
template <class T> struct BoundedPass {
  ClusterPass<T> pass;
  const std::int32_t* order;  // (k): the centre at every place
  i64 size;
  const T* moved;  // (k) how far each centre went since the last pass; null: nothing is known
  const T* drift;  // (ld) how far the farthest of each group went, summed over all passes
  T *upper, *least, *lower;
  i64 ld;
};

template <class T> PassTerms bounded_pass(const BoundedPass<T>& pass, int threads);

// The same for small k, with a bound for each: lower (n, padded) plus what the centre had drifted by then,
// infinite for the own one and from k on; least (n) is no more than the least of them. The rows as bytes (n, kLine
// lines), their steps, what the bytes leave (n) and norms (n) are kept from the first pass on.
template <class T> struct SmallKPass {
  ClusterPass<T> pass;
  const T* moved;  // (k) how far each centre went since the last pass; null: nothing is known
  const T* drift;  // (k) the same, summed over all passes
  bool coded;      // whether there are bytes
  std::int8_t* codes;
  T *steps, *left, *norms, *upper, *least, *lower;
};

// `looked` is the fraction of the rows that were read.
template <class T> PassTerms small_k_pass(const SmallKPass<T>& pass, int threads);

// The rows that greedy k-means++ chooses. chosen[0] is given; for every other centre `trials` rows are
// drawn by `uniforms` (k - 1, trials) in proportion to the distances left, and the best is taken.
template <class T> struct GreedyStart {
  Rows<T> X;
  const double* w;  // (n) or null
  i64 k, trials;
  const double* uniforms;
  double seconds;  // that it may take
  i64* chosen;     // (k)
};

// Returns how many were chosen before every row lay on one of them, or time was up.
template <class T> i64 greedy_start(const GreedyStart<T>& start, int threads);

// At most `most` steps of Lloyd, from and to `centres` (k, d), which are not less `origin` (d); pass.C
// is not looked at, pass.shift is `origin` in T. They end when the centres move by no more than tol in
// all, squared, or where a cluster has no rows: that step is left to the caller.
template <class T> struct LloydSteps {
  ClusterPass<T> pass;
  double* centres;
  const double* origin;
  i64 most;
  double tol;
};

struct LloydTerms {
  i64 steps;  // taken
  bool rests;
};

template <class T> LloydTerms lloyd_iterations(const LloydSteps<T>& steps);

// out (k, n) = |x - c|^2; norms (n) are |x - shift|^2
template <class T>
void distances_to(const Rows<T>& X, const T* shift, const T* C, i64 k, const T* norms, T* out,
                  int threads);

}  // namespace kg
