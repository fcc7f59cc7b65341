// Exact search under a metric, one distance at a time, and approximate search by binary codes.
#pragma once
#include "neighbors/chunks.hpp"
#include "neighbors/loops.hpp"

namespace kg {

// Rows one after the other, (n, d).
template <class T> struct DenseRows {
  const T* data;
  i64 n, d;
  const T* row(i64 i) const { return data + i * d; }
};

// For each row of X the k nearest rows of Y, nearest first, of equal ones the first: index and
// distances (m, k).
template <class T>
void metric_nearest(const Metric& metric, const DenseRows<T>& X, const DenseRows<T>& Y, i64 k,
                    std::int32_t* index, double* distances, int threads);

// The sums of a metric's powers are what searches compare.
double to_distance(const Metric& metric, double sum);
double from_distance(const Metric& metric, double distance);

// All rows of Y at most `radius` from each row of X; the distances are no sums but distances.
template <class T>
Ragged metric_within(const Metric& metric, const DenseRows<T>& X, const DenseRows<T>& Y, double radius,
                     bool skip_self, Order by, int threads);

// Codes of rows, (n, words).
struct Codes {
  const std::uint64_t* data;
  i64 n, words;
};

// For each row of X the k nearest in squared distance among the `candidates` rows of Y whose codes differ
// least from its own.
template <class T>
void hashed_nearest(const DenseRows<T>& X, const DenseRows<T>& Y, const Codes& of_x, const Codes& of_y,
                    i64 candidates, i64 k, std::int32_t* index, double* distances, int threads);

}  // namespace kg
