// One step of k-means over raw buffers.
#pragma once
#include "rows.hpp"

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
  double looked;   // share of the groups that were looked at, in a pass with bounds
  double opened;   // share of the centres held against the codes, in a pass behind the sieve
};

template <class T> PassTerms cluster_pass(const ClusterPass<T>& pass, int threads);

// The same with bounds from pass to pass. Centres lie in groups of `size` places. For every row,
// upper (n) bounds the distance from its own centre, lower (n, groups) that from each group, its own
// centre left out, plus what the group had drifted by then, and least (n) the least of them.
template <class T> struct BoundedPass {
  ClusterPass<T> pass;
  const std::int32_t* order;  // (k): the centre at every place
  i64 size;
  const T* moved;  // (k) how far each centre went since the last pass; null: nothing is known
  const T* drift;  // (groups) how far the farthest of each group went, summed over all passes
  T *upper, *least, *lower;
};

template <class T> PassTerms bounded_pass(const BoundedPass<T>& pass, int threads);

// out (k, n) = |x - c|^2; norms (n) are |x - shift|^2
template <class T>
void distances_to(const Rows<T>& X, const T* shift, const T* C, i64 k, const T* norms, T* out,
                  int threads);

}  // namespace kg
