// Growth of regression and classification trees.
//
// A node of weight W with sums S (of w y, or of w for each class) is cut between two values of a
// column into L and R. Up to terms that are the same for every cut, impurity is least where
//
//     squares, Gini   |S_L|^2 / W_L + |S_R|^2 / W_R                        is largest
//     entropy         sum_c f(S_Lc) - f(W_L) + sum_c f(S_Rc) - f(W_R)      f(x) = x log x
//     Poisson         S_L log(S_L / W_L) + S_R log(S_R / W_R)
//     absolute        minus the absolute deviations from the medians of both sides
//
// Columns are coded by rank once, for all trees. Rows with NaN are tried on both sides. Subtrees of few
// rows grow on a copy of them (local_rows.hpp).
#include <omp.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "trees/column_search.hpp"

namespace kg {
namespace {

constexpr i64 kLong = 4096;       // rows of a node whose columns each take over 10 microseconds
constexpr i64 kShared = 1 << 16;  // rows times columns of a node from which threads share it
constexpr i64 kFewestLocal = 32;  // rows of a node that are worth copying
constexpr double kRounding = std::numeric_limits<double>::epsilon();
constexpr double kSlack = 1e-12;  // of the impurity: cuts that differ by less are alike

struct Node {
  i64 begin, end, depth, id;
  i64 parent;
  bool is_left;
  Bounds bounds;
};

class Grower {
 public:
  Grower(const CodedColumns& X, const TreeTarget& t, const SplitRules& rules,
         const GrownNodes& nodes)
      : X_(X), all_(t), t_(t), rules_(rules), nodes_(nodes), target_(t_, rules.criterion),
        local_(X, all_, rules.categorical), columns_(X.d),
        buffer_(t.m), cuts_(rules.columns ? std::min(rules.columns, X.d) : X.d), draws_(cuts_.size()), state_(rules.seed) {
    for (i64 k = 0; k < X.d; ++k) columns_[k] = k;
    for (int i = 0; i < std::max(rules.threads, 1); ++i)
      searches_.push_back(std::make_unique<ColumnSearch>(X, rules, target_));
  }

  i64 grow() {
    const i64 count = rules_.max_leaves > 0 ? grow_best_first() : grow_depth_first();
    write_thresholds();
    return count;
  }

 private:
  // Nodes are numbered in the order in which they are opened, left before right.
  i64 grow_depth_first() {
    std::vector<Node> stack{root()};
    while (!stack.empty()) {
      Node node = stack.back();
      stack.pop_back();
      if (count_ + 1 > nodes_.capacity) return -1;
      Cut best;
      if (node.begin >= local_end_) t_ = all_;  // the subtree of local rows is done
      bool cut = open(node);
      if (cut) {
        copy_rows(node);
        cut = find_cut(node, best);
      }
      if (*rules_.stop) return -2;
      if (!cut) continue;
      const auto [left, right] = split(node, best);
      stack.push_back(right);
      stack.push_back(left);
    }
    return count_;
  }

  // The node whose split lowers the impurity most is split next, until there are enough leaves.
  i64 grow_best_first() {
    struct Candidate {
      double decrease;
      Node node;
      Cut cut;
      bool operator<(const Candidate& other) const {  // of equal ones the first node
        return decrease < other.decrease || (decrease == other.decrease && node.id > other.node.id);
      }
    };
    std::priority_queue<Candidate> open_nodes;
    const auto consider = [&](Node node) {
      Cut best;
      if (!open(node)) return;
      if (node.parent < 0) copy_rows(node);  // nodes come in any order: all rows or none
      if (find_cut(node, best)) open_nodes.push({decrease(best), node, best});
    };
    consider(root());
    for (i64 leaves = 1; leaves < rules_.max_leaves && !open_nodes.empty(); ++leaves) {
      const Candidate next = open_nodes.top();
      open_nodes.pop();
      if (*rules_.stop) return -2;
      if (count_ + 2 > nodes_.capacity) return -1;
      const auto [left, right] = split(next.node, next.cut);
      consider(left);
      consider(right);
    }
    return *rules_.stop ? -2 : count_;
  }

  Node root() const { return {0, t_.m, 0, 0, -1, false, {}}; }

  // From here on the node's rows are numbered locally, until its subtree is done.
  void copy_rows(const Node& node) {
    const i64 m = node.end - node.begin;
    if (is_local() || rules_.random || m < kFewestLocal || m > LocalRows::most(X_.d)) return;
    local_.take(t_.rows + node.begin, m);
    t_ = local_.target(all_);
    local_end_ = node.end;
  }

  bool is_local() const { return t_.w != all_.w; }

  // Number the node and write it as a leaf; false if it stays one whatever the columns are.
  bool open(Node& node) {
    node.id = count_++;
    if (node.parent >= 0)
      (node.is_left ? nodes_.left : nodes_.right)[node.parent] = static_cast<std::int32_t>(node.id);
    const i64 m = node.end - node.begin, width = target_.width();
    const bool pure = target_.open(t_.rows + node.begin, m);
    nodes_.feature[node.id] = nodes_.left[node.id] = nodes_.right[node.id] = -1;
    nodes_.threshold[node.id] = 0;
    nodes_.missing_left[node.id] = 0;
    if (nodes_.categories) std::fill_n(nodes_.categories + node.id * kCategoryWords, kCategoryWords, 0);
    nodes_.weight[node.id] = target_.weight;
    nodes_.samples[node.id] = static_cast<double>(m);
    nodes_.impurity[node.id] = target_.impurity;
    double* value = nodes_.value + node.id * width;
    std::copy(target_.value.begin(), target_.value.end(), value);
    if (rules_.monotone) {
      double& bounded = value[target_.has_classes() ? width - 1 : 0];
      bounded = std::clamp(bounded, node.bounds.low, node.bounds.high);
      if (target_.has_classes() && width == 2) value[0] = 1 - bounded;
    }
    return !pure && node.depth < rules_.max_depth && m >= rules_.min_split &&
           m >= 2 * rules_.min_leaf && target_.weight >= 2 * rules_.min_weight;
  }

  bool find_cut(const Node& node, Cut& best) {
    best = search(node);
    return best.column >= 0 && decrease(best) + kRounding >= rules_.min_decrease;
  }

  // The fall of the impurity by this cut, times the node's fraction of all weight.
  double decrease(const Cut& cut) const {
    const double fall = std::max(cut.score - target_.own_score(), 0.0);
    return fall / target_.unit() / rules_.total / static_cast<double>(t_.outputs);
  }

  std::uint64_t draw() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  // The column seen next: in turn, or at random among those not seen yet. Of cuts that are alike the
  // first seen is taken: in a forest, trees then differ in what small nodes are cut by.
  i64 next_column(i64 seen) {
    if (rules_.columns < X_.d)
      std::swap(columns_[seen], columns_[seen + static_cast<i64>(draw() % std::uint64_t(X_.d - seen))]);
    return columns_[seen];
  }

  Cut search(const Node& node) {
    const std::int32_t* rows = t_.rows + node.begin;
    const LocalRows* local = is_local() ? &local_ : nullptr;
    const i64 m = node.end - node.begin, count = static_cast<i64>(cuts_.size());
    const double slack = kSlack * target_.weight * target_.impurity * static_cast<double>(t_.outputs);
    check_interrupt();
    for (i64 j = 0; j < count; ++j) {
      next_column(j);
      draws_[j] = rules_.random ? draw() : 0;
    }
    Cut best;
    const auto take_better = [&](const Cut& cut) {
      if (cut.column >= 0 && (best.column < 0 || cut.score > best.score + slack)) best = cut;
    };
    if (rules_.threads > 1 && m * count >= kShared) {
#pragma omp parallel for schedule(dynamic) num_threads(rules_.threads)
      for (i64 j = 0; j < count; ++j)
        cuts_[j] = search_column(rows, local, j, slack, kNone, node.bounds);
      for (const Cut& cut : cuts_) take_better(cut);
    } else {
      for (i64 j = 0; j < count; ++j) {
        if (m > kLong) check_interrupt();
        take_better(search_column(rows, local, j, slack, best.score, node.bounds));
      }
    }
    for (i64 seen = count; best.column < 0 && seen < X_.d && !*rules_.stop; ++seen) {
      if (m > kLong) check_interrupt();
      const i64 column = next_column(seen);
      best = searches_[0]->best(rows, local, column, slack, kNone, node.bounds, rules_.random ? draw() : 0);
    }
    return best;
  }

  Cut search_column(const std::int32_t* rows, const LocalRows* local, i64 j, double slack, double floor,
                    const Bounds& bounds) {
    if (*rules_.stop) return {};
    return searches_[omp_get_thread_num()]->best(rows, local, columns_[j], slack, floor, bounds, draws_[j]);
  }

  std::pair<Node, Node> split(const Node& node, const Cut& best) {
    const bool categorical = rules_.categorical && rules_.categorical[best.column];
    const Parted parted = is_local() ? part(node, best, local_.ranks(best.column), categorical)
                               : part(node, best, X_.codes + best.column * X_.n, categorical);
    const i64 l = parted.middle, r = node.end - l;
    std::copy(buffer_.begin(), buffer_.begin() + r, t_.rows + l);
    nodes_.feature[node.id] = static_cast<std::int32_t>(best.column);
    nodes_.threshold[node.id] = best.threshold;
    if (!categorical && !rules_.random)
      thresholds_.push_back({node.id, place(best.column, parted.last), place(best.column, parted.next)});
    nodes_.missing_left[node.id] = best.missing_known ? best.missing_left : l - node.begin > r;
    if (nodes_.categories)
      std::copy(best.categories.begin(), best.categories.end(),
                nodes_.categories + node.id * kCategoryWords);
    Node left{node.begin, l, node.depth + 1, -1, node.id, true, node.bounds};
    Node right{l, node.end, node.depth + 1, -1, node.id, false, node.bounds};
    if (rules_.monotone && rules_.monotone[best.column]) bound(left, right, rules_.monotone[best.column]);
    return {left, right};
  }

  // Where the right side begins, and a row of the largest code on the left and of the least on the right.
  struct Parted {
    i64 middle;
    i64 last, next;  // -1 without any
  };

  // The rows of the left side come to the front, those of the right side into the buffer, in their order.
  template <class Code>
  Parted part(const Node& node, const Cut& best, const Code* codes, bool categorical) {
    constexpr Code missing = static_cast<Code>(kMissing);
    const double* values = X_.values + X_.starts[best.column];
    std::int32_t* rows = t_.rows;
    i64 last = -1, next = -1, largest = -1, least = kMissing, l = node.begin, r = 0;
    const auto place = [&](std::int32_t row, bool low) {
      rows[l] = row;
      buffer_[r] = row;
      l += low;
      r += !low;
    };
    const auto compare = [&](std::int32_t row, i64 code) {
      const bool low = code <= i64(best.code), larger = low & (code > largest), less = !low & (code < least);
      largest = larger ? code : largest;
      last = larger ? row : last;
      least = less ? code : least;
      next = less ? row : next;
      place(row, low);
    };
    if (!X_.missing[best.column] && !categorical) {
      for (i64 i = node.begin; i < node.end; ++i) {
        if (i + kAhead < node.end) __builtin_prefetch(codes + rows[i + kAhead]);
        compare(rows[i], codes[rows[i]]);
      }
      return {l, last, next};
    }
    for (i64 i = node.begin; i < node.end; ++i) {
      const std::int32_t row = rows[i];
      if (codes[row] == missing) {
        place(row, best.missing_left);
      } else if (categorical) {
        const i64 c = static_cast<i64>(values[codes[row]]);
        place(row, best.categories[c >> 6] >> (c & 63) & 1);
      } else {
        compare(row, codes[row]);
      }
    }
    return {l, last, next};
  }

  // Where a row's value stands among those of all columns; -1 without a row.
  i64 place(i64 column, i64 row) const {
    if (row < 0) return -1;
    const i64 at = is_local() ? local_.rows()[row] : row;
    return X_.starts[column] + X_.codes[column * X_.n + at];
  }

  // Thresholds halfway between two neighbouring values; infinite where only missing ones are on the
  // right. The values are far apart in memory: they are asked for ahead.
  void write_thresholds() {
    const i64 count = static_cast<i64>(thresholds_.size());
    for (i64 i = 0; i < count; ++i) {
      if (i + kAhead < count) {
        __builtin_prefetch(X_.values + thresholds_[i + kAhead].last);
        __builtin_prefetch(X_.values + std::max<i64>(thresholds_[i + kAhead].next, 0));
      }
      const auto [node, last, next] = thresholds_[i];
      const double a = X_.values[last], b = next < 0 ? -kNone : X_.values[next], middle = a + (b - a) / 2;
      nodes_.threshold[node] = next < 0 || (middle < b && middle >= a) ? middle : a;
    }
  }

  // Predictions of the two sides end halfway between those of the sides as leaves.
  void bound(Node& left, Node& right, int direction) {
    const i64 at = target_.has_classes() ? target_.width() - 1 : 0;
    double sides[2];
    for (const auto& [node, side] : {std::pair{&left, 0}, std::pair{&right, 1}}) {
      target_.open(t_.rows + node->begin, node->end - node->begin);
      sides[side] = std::clamp(target_.value[at], node->bounds.low, node->bounds.high);
    }
    const double middle = sides[0] + (sides[1] - sides[0]) / 2;
    (direction > 0 ? left : right).bounds.high = middle;
    (direction > 0 ? right : left).bounds.low = middle;
  }

  const CodedColumns& X_;
  const TreeTarget& all_;
  TreeTarget t_;  // of the local rows while there are some
  const SplitRules& rules_;
  const GrownNodes& nodes_;
  NodeTarget target_;
  LocalRows local_;
  i64 local_end_ = 0;
  std::vector<std::unique_ptr<ColumnSearch>> searches_;
  struct Threshold {
    i64 node, last, next;  // places of the values on both sides
  };
  std::vector<Threshold> thresholds_;
  std::vector<i64> columns_;
  std::vector<std::int32_t> buffer_;
  std::vector<Cut> cuts_;
  std::vector<std::uint64_t> draws_;
  std::uint64_t state_;
  i64 count_ = 0;
};

}  // namespace

i64 grow_tree(const CodedColumns& X, const TreeTarget& target, const SplitRules& rules,
              const GrownNodes& nodes) {
  return Grower(X, target, rules, nodes).grow();
}

}  // namespace kg
