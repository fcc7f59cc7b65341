// Growth of a k-d tree. A range of points is cut in two at whole leaves, across the column in which a sample
// of it spreads most; three cuts make one node. Positions are permuted, not points; the points of a range
// that fits the cache are copied once, and its cuts look at the copy.
#include "neighbors/tree.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace kg {
namespace {

constexpr i64 kSample = 64;        // points that show the spread of a range
constexpr i64 kFew = 48;           // numbers from which a median is selected without a sample
constexpr i64 kLocal = 1 << 15;    // points of a range that is copied: 1 MiB for three columns
constexpr i64 kCuts = 3;           // of one node: 2^3 = kFan children

struct Keyed {
  double key;
  std::int32_t at;
};

i64 first_half(i64 leaves) { return (leaves + 1) / 2; }

// f(child's first leaf, its leaves) for the children of a node of `leaves` leaves
template <class F> void for_children(i64 first, i64 leaves, i64 cuts, const F& f) {
  if (cuts == 0 || leaves == 1) return f(first, leaves);
  const i64 half = first_half(leaves);
  for_children(first, half, cuts - 1, f);
  for_children(first + half, leaves - half, cuts - 1, f);
}

i64 nodes_of(i64 leaves) {
  i64 count = 1;
  for_children(0, leaves, kCuts, [&](i64, i64 own) { count += own > 1 ? nodes_of(own) : 0; });
  return count;
}

// Those for which below(key) holds first; where the others begin. `spare` has space for all.
template <class F> i64 partition(Keyed* a, i64 n, Keyed* spare, const F& below) {
  i64 l = 0, r = 0;
  for (i64 i = 0; i < n; ++i) {
    const Keyed one = a[i];
    const bool first = below(one.key);
    a[l] = spare[r] = one;
    l += first;
    r += !first;
  }
  std::copy(spare, spare + r, a + l);
  return l;
}

// A number of a[0..n) that the one of this rank is not far from, on the side of the larger part.
double pivot_near(const Keyed* a, i64 n, i64 rank) {
  double some[256];
  const i64 size = std::min<i64>(256, n / 8), step = n / size;
  for (i64 i = 0; i < size; ++i) some[i] = a[i * step].key;
  const double part = double(rank) / double(n), off = std::sqrt(part * (1 - part) / double(size));
  const double at = (part > 0.5 ? part - off : part + off) * double(size);
  double* chosen = some + std::clamp<i64>(i64(at), 0, size - 1);
  std::nth_element(some, chosen, some + size);
  return *chosen;
}

// Orders a[0..n) so that none before `rank` has a larger key than any from it on.
void select(Keyed* a, i64 n, i64 rank, Keyed* spare) {
  while (n > kFew) {
    const double pivot = pivot_near(a, n, rank);
    i64 below = partition(a, n, spare, [pivot](double key) { return key < pivot; });
    if (below == 0) {  // the pivot is the smallest key
      below = partition(a, n, spare, [pivot](double key) { return key <= pivot; });
      if (rank <= below) return;
    }
    if (rank < below) {
      n = below;
    } else {
      a += below, n -= below, rank -= below;
    }
  }
  const auto less = [](const Keyed& x, const Keyed& y) { return x.key < y.key; };
  if (rank < n) std::nth_element(a, a + rank, a + n, less);
}

struct Space {
  std::vector<Keyed> keyed, spare;
  std::vector<std::int32_t> order;
  std::vector<double> copy;
  explicit Space(i64 n, i64 copied, i64 d) : keyed(n), spare(n), order(copied), copy(copied * d) {}
};

class Builder {
 public:
  Builder(const DenseRows<double>& X, const TreeArrays& out)
      : X_(X), out_(out), rows_(static_cast<std::size_t>(X.n)) {
    std::iota(rows_.begin(), rows_.end(), 0);
  }

  void build(int threads) {
    const i64 leaves = tree_leaves(X_.n), local = kLocal / kLeaf;
    if (leaves <= local) {
      jobs_.push_back({0, 0, leaves});
    } else {
      Space space(X_.n, 0, 0);
      grow({0, 0, leaves}, {X_.data, rows_.data(), 0}, space, true);
    }
    std::vector<Space> spaces;
    const i64 most = std::min(X_.n, kLocal);
    for (int t = 0; t < threads; ++t) spaces.emplace_back(most, most, X_.d);
    for_chunks(static_cast<i64>(jobs_.size()), kTurns, threads, [&](i64 c, int thread) {
      const Range& job = jobs_[static_cast<std::size_t>(c)];
      Space& space = spaces[static_cast<std::size_t>(thread)];
      const i64 a = job.first * kLeaf, n = end(job.first + job.leaves) - a;
      for (i64 i = 0; i < n; ++i) {
        space.order[i] = static_cast<std::int32_t>(i);
        std::copy_n(X_.row(rows_[a + i]), X_.d, space.copy.data() + i * X_.d);
      }
      grow(job, {space.copy.data(), space.order.data(), a}, space, false);
    });
    for (i64 node = tree_nodes(X_.n) - 1; node >= 0; --node) bound(node);
  }

 private:
  static constexpr i64 kTurns = 16;

  struct Range {
    i64 node, first, leaves;  // the node is not used for a single leaf that has a parent
  };

  // Points of a range: point i of the tree is at data + order[i - begin] * d.
  struct Points {
    const double* data;
    std::int32_t* order;
    i64 begin;
  };

  i64 end(i64 leaf) const { return std::min(X_.n, leaf * kLeaf); }

  // The node of a range and those below it. At the top, ranges that are small enough become jobs.
  void grow(const Range& range, const Points& points, Space& space, bool top) {
    for (i64 c = 0; c < kFan; ++c) out_.children[range.node * kFan + c] = 0;
    cut(points, range.first, range.leaves, kCuts, space);
    i64 next = range.node + 1, child = range.node * kFan;
    for_children(range.first, range.leaves, kCuts, [&](i64 first, i64 leaves) {
      if (leaves == 1) {
        out_.children[child++] = static_cast<std::int32_t>(~first);
        if (!top) put_leaf(points, first);
        return;
      }
      const Range below{next, first, leaves};
      out_.children[child++] = static_cast<std::int32_t>(next);
      next += nodes_of(leaves);
      if (top && leaves <= kLocal / kLeaf)
        jobs_.push_back(below);
      else
        grow(below, points, space, top);
    });
  }

  void cut(const Points& points, i64 first, i64 leaves, i64 cuts, Space& space) const {
    if (cuts == 0 || leaves == 1) return;
    const i64 half = first_half(leaves), a = first * kLeaf, n = end(first + leaves) - a;
    std::int32_t* order = points.order + (a - points.begin);
    const double* column = points.data + widest(points.data, order, n);
    Keyed* keyed = space.keyed.data();
    for (i64 i = 0; i < n; ++i) keyed[i] = {column[order[i] * X_.d], order[i]};
    select(keyed, n, half * kLeaf, space.spare.data());
    for (i64 i = 0; i < n; ++i) order[i] = keyed[i].at;
    cut(points, first, half, cuts - 1, space);
    cut(points, first + half, leaves - half, cuts - 1, space);
  }

  // The column of the largest range among a sample.
  i64 widest(const double* data, const std::int32_t* order, i64 n) const {
    const i64 step = std::max<i64>(1, n / kSample);
    i64 best = 0;
    double most = -1;
    for (i64 k = 0; k < X_.d; ++k) {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      for (i64 i = 0; i < n; i += step) {
        const double x = data[order[i] * X_.d + k];
        low = std::min(low, x), high = std::max(high, x);
      }
      if (high - low > most) most = high - low, best = k;
    }
    return best;
  }

  void put_leaf(const Points& points, i64 leaf) const {
    const i64 a = leaf * kLeaf, n = end(leaf + 1) - a, d = X_.d;
    const std::int32_t* order = points.order + (a - points.begin);
    double* at = out_.points + leaf * d * kLeaf;
    for (i64 i = 0; i < kLeaf; ++i) {
      const double* x = i < n ? points.data + order[i] * d : nullptr;
      for (i64 k = 0; k < d; ++k) at[k * kLeaf + i] = x ? x[k] : std::numeric_limits<double>::infinity();
      out_.rows[a + i] = i < n ? rows_[points.begin + order[i]] : -1;
    }
  }

  // The boxes of a node's children, whose own boxes are known.
  void bound(i64 node) const {
    const i64 d = X_.d, size = 2 * d * kFan;
    double *lower = out_.boxes + node * size, *upper = lower + d * kFan;
    for (i64 c = 0; c < kFan; ++c) {
      const i64 child = out_.children[node * kFan + c];
      const i64 leaf = ~child, points = child < 0 ? end(leaf + 1) - leaf * kLeaf : kFan;
      const double* low = child < 0 ? out_.points + leaf * d * kLeaf : out_.boxes + child * size;
      const double* high = child < 0 ? low : low + d * kFan;
      const i64 stride = child < 0 ? kLeaf : kFan;
      for (i64 k = 0; k < d; ++k) {
        double least = std::numeric_limits<double>::infinity(), most = -least;
        for (i64 i = 0; child != 0 && i < points; ++i) {
          least = std::min(least, low[k * stride + i]);
          most = std::max(most, high[k * stride + i]);
        }
        lower[k * kFan + c] = least, upper[k * kFan + c] = most;
      }
    }
  }

  const DenseRows<double>& X_;
  const TreeArrays& out_;
  std::vector<std::int32_t> rows_;
  std::vector<Range> jobs_;
};

}  // namespace

i64 tree_nodes(i64 n) { return nodes_of(tree_leaves(n)); }

void build_tree(const DenseRows<double>& X, const TreeArrays& out, int threads) {
  Builder(X, out).build(threads);
}

}  // namespace kg
