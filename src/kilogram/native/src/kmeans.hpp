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
  std::int32_t* labels;  // (n): the nearest centre; what it held before is read if `known`
  T* distances;          // (n) squared, or null
  double* sums;
  bool known;    // labels of an earlier pass say which centres need no look
  bool follow;   // sums of an earlier pass
  bool measure;  // the exact distances, for inertia and `distances`
};

struct PassTerms {
  double inertia;  // sum_i w_i |x_i - c|^2, 0 unless measured
  double looked;   // share of the centres that were looked at
};

template <class T> PassTerms cluster_pass(const ClusterPass<T>& pass, int threads);

// out (k, n) = |x - c|^2; norms (n) are |x - shift|^2
template <class T>
void distances_to(const Rows<T>& X, const T* shift, const T* C, i64 k, const T* norms, T* out,
                  int threads);

}  // namespace kg
