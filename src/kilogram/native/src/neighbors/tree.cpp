// Queries of a k-d tree: the nearest box first, until none is as near as the k-th best. Queries are taken
// leaf by leaf: those that follow each other read the same points.
#include "neighbors/tree.hpp"

#include "neighbors/k_best.hpp"
#include "simd/dispatch.hpp"

#include <cmath>
#include <limits>

namespace kg {

KG_TABLE(TreeLoops, tree_table)
const TreeLoops& tree_loops() { KG_PICK(tree_table) }

namespace {

constexpr i64 kQueries = 64;       // of one turn of a thread
constexpr i64 kTurns = 64;         // turns of a thread between two looks for an interrupt
constexpr i64 kFewQueries = 64;    // not worth ordering
constexpr i64 kDeep = 16 * kFan;   // 8^16 leaves
constexpr double kSlack = 1 + 1e-12;  // rounding may put a box farther away than a point in it
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Step {
  double away;
  std::int32_t child;
};

struct Query {
  std::int32_t leaf, at;
};

class Traversal {
 public:
  Traversal(const Tree& tree, const Metric& metric)
      : tree_(tree), metric_(metric), loops_(tree_loops()), box_(2 * tree.d * kFan) {}

  // take(row, distance) for all points that are at most reach() away; reach() may shrink meanwhile
  template <class Reach, class Take> void visit(const double* q, const Reach& reach, const Take& take) const {
    Step stack[kDeep];
    i64 held = push_children(0, q, reach(), stack, 0);
    while (held > 0) {
      const Step step = stack[--held];
      if (step.away > reach() * kSlack) continue;
      if (step.child > 0)
        held = push_children(step.child, q, reach(), stack, held);
      else
        look(~step.child, q, reach(), take);
    }
  }

  // The leaf that a query reaches by the nearest box at every node.
  std::int32_t leaf_of(const double* q) const {
    std::int32_t node = 0;
    double away[kFan];
    do {
      const std::int32_t* children = tree_.children + node * kFan;
      loops_.boxes(metric_, tree_.boxes + node * box_, tree_.d, q, kInfinity, away);
      i64 best = 0;
      for (i64 c = 1; c < kFan && children[c] != 0; ++c)
        if (away[c] < away[best]) best = c;
      node = children[best];
    } while (node > 0);
    return ~node;
  }

 private:
  // The children of a node within reach, the nearest last.
  i64 push_children(i64 node, const double* q, double reach, Step* stack, i64 held) const {
    double away[kFan];
    const std::int32_t* children = tree_.children + node * kFan;
    std::uint32_t bits =
        loops_.boxes(metric_, tree_.boxes + node * box_, tree_.d, q, reach * kSlack, away);
    const i64 first = held;
    for (; bits; bits &= bits - 1) {
      const int c = __builtin_ctz(bits);
      if (children[c] == 0) break;  // no more children
      i64 i = held++;
      for (; i > first && stack[i - 1].away < away[c]; --i) stack[i] = stack[i - 1];
      stack[i] = {away[c], children[c]};
    }
    return held;
  }

  template <class Take> void look(i64 leaf, const double* q, double reach, const Take& take) const {
    double away[kLeaf];
    const std::int32_t* rows = tree_.rows + leaf * kLeaf;
    std::uint32_t bits =
        loops_.points(metric_, tree_.points + leaf * tree_.d * kLeaf, tree_.d, q, reach, away);
    for (; bits; bits &= bits - 1) {
      const int i = __builtin_ctz(bits);
      if (rows[i] >= 0) take(rows[i], away[i]);
    }
  }

  const Tree& tree_;
  const Metric& metric_;
  const TreeLoops& loops_;
  i64 box_;
};

// The queries in the order of their leaves.
std::vector<Query> ordered(const Traversal& traversal, const DenseRows<double>& Q, int threads) {
  std::vector<Query> order(static_cast<std::size_t>(Q.n));
  const bool few = Q.n <= kFewQueries;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 i = 0; i < Q.n; ++i) order[i] = {few ? 0 : traversal.leaf_of(Q.row(i)), static_cast<std::int32_t>(i)};
  if (!few)
    std::sort(order.begin(), order.end(), [](const Query& a, const Query& b) {
      return a.leaf != b.leaf ? a.leaf < b.leaf : a.at < b.at;
    });
  return order;
}

}  // namespace

void tree_nearest(const Tree& tree, const Metric& metric, const DenseRows<double>& Q, i64 k, bool skip_self,
                  std::int32_t* index, double* distances, int threads) {
  const Traversal traversal(tree, metric);
  const std::vector<Query> order = ordered(traversal, Q, threads);
  const Scratch<Found> held(threads, k);
  const i64 chunk = std::clamp<i64>(ceil_div(Q.n, 4 * threads), 1, kQueries);
  for_chunks(ceil_div(Q.n, chunk), kTurns, threads, [&](i64 c, int thread) {
    Found* found = held.block(thread);
    for (i64 o = c * chunk, last = std::min(Q.n, o + chunk); o < last; ++o) {
      const std::int32_t i = order[o].at, self = skip_self ? i : -1;
      KBest best(found, k);
      traversal.visit(Q.row(i), [&] { return best.bound(); }, [&](std::int32_t row, double away) {
        if (row != self) best.offer(away, row);
      });
      best.sorted();
      for (i64 b = 0; b < k; ++b) index[i * k + b] = found[b].second, distances[i * k + b] = found[b].first;
    }
  });
}

Ragged tree_within(const Tree& tree, const Metric& metric, const DenseRows<double>& Q, double radius,
                   bool skip_self, Order by, int threads) {
  const Traversal traversal(tree, metric);
  const std::vector<Query> order = ordered(traversal, Q, threads);
  const double reach = from_distance(metric, radius) * kSlack;
  const i64 chunk = std::clamp<i64>(ceil_div(Q.n, 4 * threads), 1, kQueries), chunks = ceil_div(Q.n, chunk);
  std::vector<RaggedPart> parts(static_cast<std::size_t>(chunks));
  std::vector<std::vector<Found>> space(static_cast<std::size_t>(threads));
  for_chunks(chunks, kTurns, threads, [&](i64 c, int thread) {
    std::vector<Found>& found = space[static_cast<std::size_t>(thread)];
    for (i64 o = c * chunk, last = std::min(Q.n, o + chunk); o < last; ++o) {
      const std::int32_t i = order[o].at, self = skip_self ? i : -1;
      found.clear();
      traversal.visit(Q.row(i), [&] { return reach; }, [&](std::int32_t row, double away) {
        if (row != self) found.push_back({to_distance(metric, away), row});
      });
      parts[static_cast<std::size_t>(c)].add(i, found, radius, by);
    }
  });
  return joined(parts, Q.n);
}

}  // namespace kg
