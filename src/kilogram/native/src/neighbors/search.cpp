// Each query keeps its k best; the farthest of them is the bound at which the sum of a distance is abandoned.
// Rows are taken in blocks that stay in cache while several queries pass. Every query is searched by one
// thread, so the result does not depend on their number.
#include "neighbors/search.hpp"

#include "neighbors/k_best.hpp"
#include "simd/dispatch.hpp"

#include <cmath>

namespace kg {

KG_TABLE(NeighborLoops<float>, neighbors_f32)
KG_TABLE(NeighborLoops<double>, neighbors_f64)
KG_TABLE(CodeLoops, codes_table)
template <> const NeighborLoops<float>& neighbor_loops<float>() { KG_PICK(neighbors_f32) }
template <> const NeighborLoops<double>& neighbor_loops<double>() { KG_PICK(neighbors_f64) }
const CodeLoops& code_loops() { KG_PICK(codes_table) }

namespace {

constexpr i64 kBlockBytes = 1 << 17;  // of rows that several queries find in cache
constexpr i64 kAtOnce = 64;           // distances between two looks at the heap
constexpr i64 kChunk = 16;            // queries of one turn of a thread
constexpr i64 kTurns = 64;            // chunks of a thread between two looks for an interrupt
constexpr double kSlack = 1 + 1e-12;  // a radius is compared with distances, not with rounded sums

void write(const Found* found, i64 k, std::int32_t* index, double* distances) {
  for (i64 b = 0; b < k; ++b) index[b] = found[b].second, distances[b] = found[b].first;
}

// take(distance, row) for the rows begin..end of Y that are at most reach() away; reach() may shrink
template <class T, class Reach, class Take>
void for_distances(const Metric& metric, const T* x, const DenseRows<T>& Y, i64 begin, i64 end, const Reach& reach,
                   const Take& take) {
  double away[kAtOnce];
  for (i64 a = begin; a < end; a += kAtOnce) {
    const i64 count = std::min(kAtOnce, end - a);
    const double bound = reach();
    neighbor_loops<T>().distances(metric, x, Y.row(a), count, Y.d, bound, away);
    for (i64 i = 0; i < count; ++i)
      if (away[i] <= bound) take(away[i], a + i);
  }
}

// Positions of the `wanted` smallest of `values`, which are at most `bits`, smallest first and of equal
// ones the first: by counting. Two counters for each value: increments of one wait for each other.
void smallest(const std::uint16_t* values, i64 n, i64 bits, i64 wanted, std::vector<i64>& counts,
              std::int32_t* out) {
  const i64 size = bits + 1;
  counts.assign(static_cast<std::size_t>(2 * size), 0);
  i64 *even = counts.data(), *odd = even + size;
  for (i64 i = 0; i + 1 < n; i += 2) ++even[values[i]], ++odd[values[i + 1]];
  if (n % 2) ++even[values[n - 1]];
  i64 limit = 0, below = 0;
  for (; below + even[limit] + odd[limit] < wanted; ++limit) {
    const i64 held = even[limit] + odd[limit];
    even[limit] = below;  // now where the next of this value goes
    below += held;
  }
  even[limit] = below;
  for (i64 i = 0, left = wanted; left > 0; ++i) {
    if (values[i] > limit || (values[i] == limit && even[limit] >= wanted)) continue;
    out[even[values[i]]++] = static_cast<std::int32_t>(i);
    --left;
  }
}

}  // namespace

double to_distance(const Metric& metric, double sum) {
  if (metric.kind == kSquares) return std::sqrt(sum);
  return metric.kind == kPowers ? std::pow(sum, 1 / metric.p) : sum;
}

double from_distance(const Metric& metric, double distance) {
  if (metric.kind == kSquares) return distance * distance;
  return metric.kind == kPowers ? std::pow(distance, metric.p) : distance;
}

Ragged joined(std::vector<RaggedPart>& parts, i64 m) {
  Ragged all;
  all.start.assign(static_cast<std::size_t>(m + 1), 0);
  for (const RaggedPart& part : parts)
    for (std::size_t q = 0; q < part.queries.size(); ++q) all.start[part.queries[q] + 1] = part.counts[q];
  for (i64 i = 0; i < m; ++i) all.start[i + 1] += all.start[i];
  all.index.resize(static_cast<std::size_t>(all.start[m]));
  all.distances.resize(static_cast<std::size_t>(all.start[m]));
  for (RaggedPart& part : parts) {
    i64 from = 0;
    for (std::size_t q = 0; q < part.queries.size(); ++q) {
      const i64 to = all.start[part.queries[q]], count = part.counts[q];
      std::copy_n(part.index.begin() + from, count, all.index.begin() + to);
      std::copy_n(part.distances.begin() + from, count, all.distances.begin() + to);
      from += count;
    }
    part = {};
  }
  return all;
}

template <class T>
void metric_nearest(const Metric& metric, const DenseRows<T>& X, const DenseRows<T>& Y, i64 k,
                    std::int32_t* index, double* distances, int threads) {
  const i64 row_bytes = std::max<i64>(1, Y.d * static_cast<i64>(sizeof(T)));
  const i64 block = std::max<i64>(kAtOnce, kBlockBytes / row_bytes / kAtOnce * kAtOnce);
  const i64 chunk = std::clamp<i64>(ceil_div(X.n, threads), 1, kChunk);
  const Scratch<Found> heaps(threads, chunk * k);
  for_chunks(ceil_div(X.n, chunk), kTurns, threads, [&](i64 c, int thread) {
    const i64 first = c * chunk, last = std::min(X.n, first + chunk);
    Found* heap = heaps.block(thread);
    std::vector<KBest> best;
    best.reserve(static_cast<std::size_t>(last - first));
    for (i64 i = first; i < last; ++i) best.emplace_back(heap + (i - first) * k, k);
    for (i64 a = 0; a < Y.n; a += block)
      for (i64 i = first; i < last; ++i) {
        KBest& own = best[static_cast<std::size_t>(i - first)];
        for_distances(metric, X.row(i), Y, a, std::min(Y.n, a + block), [&] { return own.bound(); },
                      [&](double away, i64 j) { own.offer(away, j); });
      }
    for (i64 i = first; i < last; ++i) {
      best[static_cast<std::size_t>(i - first)].sorted();
      write(heap + (i - first) * k, k, index + i * k, distances + i * k);
    }
  });
}

template <class T>
Ragged metric_within(const Metric& metric, const DenseRows<T>& X, const DenseRows<T>& Y, double radius,
                     bool skip_self, Order by, int threads) {
  const i64 row_bytes = std::max<i64>(1, Y.d * static_cast<i64>(sizeof(T)));
  const i64 block = std::max<i64>(kAtOnce, kBlockBytes / row_bytes / kAtOnce * kAtOnce);
  const i64 chunk = std::clamp<i64>(ceil_div(X.n, threads), 1, kChunk), chunks = ceil_div(X.n, chunk);
  const double bound = from_distance(metric, radius) * kSlack;
  std::vector<RaggedPart> parts(static_cast<std::size_t>(chunks));
  std::vector<std::vector<Found>> space(static_cast<std::size_t>(threads * chunk));
  for_chunks(chunks, kTurns, threads, [&](i64 c, int thread) {
    const i64 first = c * chunk, last = std::min(X.n, first + chunk);
    std::vector<Found>* found = space.data() + thread * chunk;
    for (i64 i = first; i < last; ++i) found[i - first].clear();
    for (i64 a = 0; a < Y.n; a += block)
      for (i64 i = first; i < last; ++i)
        for_distances(metric, X.row(i), Y, a, std::min(Y.n, a + block), [&] { return bound; }, [&](double away, i64 j) {
          if (!skip_self || i != j) found[i - first].push_back({to_distance(metric, away), static_cast<std::int32_t>(j)});
        });
    for (i64 i = first; i < last; ++i) parts[static_cast<std::size_t>(c)].add(i, found[i - first], radius, by);
  });
  return joined(parts, X.n);
}

template <class T>
void hashed_nearest(const DenseRows<T>& X, const DenseRows<T>& Y, const Codes& of_x, const Codes& of_y,
                    i64 candidates, i64 k, std::int32_t* index, double* distances, int threads) {
  const Metric squares{kSquares, 2.0, 0};
  const Scratch<std::uint16_t> differing(threads, of_y.n);
  const Scratch<std::int32_t> chosen(threads, candidates);
  const Scratch<Found> heaps(threads, k);
  std::vector<std::vector<i64>> counts(static_cast<std::size_t>(threads));
  for (auto& count : counts) count.reserve(static_cast<std::size_t>(2 * (64 * of_y.words + 1)));
  for_chunks(X.n, kTurns, threads, [&](i64 i, int thread) {
    std::uint16_t* bits = differing.block(thread);
    std::int32_t* at = chosen.block(thread);
    code_loops().differences(of_y.data, of_y.n, of_y.words, of_x.data + i * of_x.words, bits);
    smallest(bits, of_y.n, 64 * of_y.words, candidates, counts[static_cast<std::size_t>(thread)], at);
    Found* heap = heaps.block(thread);
    KBest best(heap, k);
    for (i64 c = 0; c < candidates; ++c) {  // likely ones first: others are abandoned early
      double away;
      const double bound = best.bound();
      neighbor_loops<T>().distances(squares, X.row(i), Y.row(at[c]), 1, Y.d, bound, &away);
      if (away <= bound) best.offer(away, at[c]);
    }
    best.sorted();
    write(heap, k, index + i * k, distances + i * k);
  });
}

template Ragged metric_within<float>(const Metric&, const DenseRows<float>&, const DenseRows<float>&, double,
                                     bool, Order, int);
template Ragged metric_within<double>(const Metric&, const DenseRows<double>&, const DenseRows<double>&, double,
                                      bool, Order, int);
template void metric_nearest<float>(const Metric&, const DenseRows<float>&, const DenseRows<float>&,
                                    i64, std::int32_t*, double*, int);
template void metric_nearest<double>(const Metric&, const DenseRows<double>&, const DenseRows<double>&,
                                     i64, std::int32_t*, double*, int);
template void hashed_nearest<float>(const DenseRows<float>&, const DenseRows<float>&, const Codes&,
                                    const Codes&, i64, i64, std::int32_t*, double*, int);
template void hashed_nearest<double>(const DenseRows<double>&, const DenseRows<double>&, const Codes&,
                                     const Codes&, i64, i64, std::int32_t*, double*, int);

}  // namespace kg
