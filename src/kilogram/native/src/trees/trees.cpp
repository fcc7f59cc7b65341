// Growth of regression and classification trees.
//
// A node of weight W with sums S (of w y, or of w for each class) is cut between two values of a
// column into L and R. Up to terms that are the same for every cut, impurity is least where
//
//     squares, Gini   |S_L|^2 / W_L + |S_R|^2 / W_R                        is largest
//     entropy         sum_c f(S_Lc) - f(W_L) + sum_c f(S_Rc) - f(W_R)      f(x) = x log x
//
// Columns are coded by rank once, for all trees. In a node the rows of a column are brought in order
// by counting where the column has few distinct values for the rows there are, else by sorting
// (code, row) as one number: by digits if there are many, by comparison if few. Rows that repeat a
// value move together, and a cut never depends on rounding: it is a code, and of cuts that are alike
// up to rounding the first is taken.
#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "trees/sides.hpp"

namespace kg {
namespace {

constexpr i64 kFew = 256;     // rows up to which comparison sorts faster than digits
constexpr int kDigit = 11;    // bits of a digit
constexpr i64 kLong = 4096;   // rows of a node whose columns each take over 10 microseconds
constexpr i64 kSparse = 4;    // distinct values per row up to which counting pays
constexpr double kSlack = 1e-12;  // of the impurity: cuts that differ by less are alike
constexpr double kNone = -std::numeric_limits<double>::infinity();

struct Node {
  i64 begin, end, depth, id;
};

struct Cut {
  double score = kNone, bar = kNone;  // what another cut must exceed: more than rounding
  i64 column = -1;
  std::uint32_t code = 0, next = 0;  // the last value on the left, the first on the right
};

struct Bin {
  double w, s;
  i64 rows;
};

class Grower {
 public:
  Grower(const CodedColumns& X, const TreeTarget& t, const SplitRules& rules,
         const GrownNodes& nodes)
      : X_(X), t_(t), rules_(rules), nodes_(nodes), width_(std::max<i64>(t.classes, 1)),
        columns_(X.d), w_(t.m), y_(t.classes ? 0 : t.m), c_(t.classes ? t.m : 0), keys_(t.m),
        room_(t.m), spare_(t.m), whole_(width_), left_(t.classes, rules.criterion),
        right_(t.classes, rules.criterion), state_(rules.seed) {
    for (i64 k = 0; k < X.d; ++k) columns_[k] = k;
  }

  i64 grow() { return rules_.max_leaves > 0 ? grow_best_first() : grow_depth_first(); }

 private:
  i64 grow_depth_first() {
    std::vector<Node> stack{{0, t_.m, 0, 0}};
    count_ = 1;
    while (!stack.empty()) {
      const Node node = stack.back();
      stack.pop_back();
      Cut best;
      if (!find_cut(node, best)) continue;
      if (*rules_.stop) return -2;
      if (count_ + 2 > nodes_.room) return -1;
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
    const auto consider = [&](const Node& node) {
      Cut best;
      if (find_cut(node, best)) open_nodes.push({decrease(best), node, best});
    };
    count_ = 1;
    consider({0, t_.m, 0, 0});
    for (i64 leaves = 1; leaves < rules_.max_leaves && !open_nodes.empty(); ++leaves) {
      const Candidate next = open_nodes.top();
      open_nodes.pop();
      if (*rules_.stop) return -2;
      if (count_ + 2 > nodes_.room) return -1;
      const auto [left, right] = split(next.node, next.cut);
      consider(left);
      consider(right);
    }
    return count_;
  }

  // Write the node as a leaf and search its best cut; false where it stays a leaf.
  bool find_cut(const Node& node, Cut& best) {
    const bool pure = open(node);
    if (pure || is_final(node)) return false;
    best = search(node);
    return best.column >= 0 && decrease(best) >= rules_.min_decrease;
  }

  // Gather weights and targets of the rows, write the node as a leaf; true if all targets agree.
  bool open(const Node& node) {
    const i64 m = node.end - node.begin;
    const std::int32_t* rows = t_.rows + node.begin;
    std::fill(whole_.begin(), whole_.end(), 0.0);
    weight_ = 0;
    bool pure = true;
    for (i64 i = 0; i < m; ++i) {
      const double w = w_[i] = t_.w[rows[i]];
      weight_ += w;
      if (t_.classes) {
        c_[i] = t_.label[rows[i]];
        whole_[c_[i]] += w;
        pure &= c_[i] == c_[0];
      } else {
        y_[i] = t_.y[rows[i]];
        whole_[0] += w * y_[i];
        pure &= y_[i] == y_[0];
      }
    }
    nodes_.feature[node.id] = nodes_.left[node.id] = nodes_.right[node.id] = -1;
    nodes_.threshold[node.id] = 0;
    nodes_.weight[node.id] = weight_;
    nodes_.samples[node.id] = static_cast<double>(m);
    for (i64 c = 0; c < width_; ++c) nodes_.value[node.id * width_ + c] = whole_[c] / weight_;
    if (pure && !t_.classes) nodes_.value[node.id] = y_[0];
    impurity_ = t_.classes ? impurity() : centred_squares(m) / weight_;
    nodes_.impurity[node.id] = pure ? 0.0 : impurity_;
    slack_ = kSlack * weight_ * impurity_;
    return pure;
  }

  // Targets brought about the node's mean: a score is then the fall of the squares itself.
  double centred_squares(i64 m) {
    const double mean = whole_[0] / weight_;
    double squares = 0;
    whole_[0] = 0;
    for (i64 i = 0; i < m; ++i) {
      y_[i] -= mean;
      whole_[0] += w_[i] * y_[i];
      squares += w_[i] * y_[i] * y_[i];
    }
    return squares;
  }

  double impurity() const {
    double sum = 0;
    for (double s : whole_) {
      const double p = s / weight_;
      sum += rules_.criterion == Criterion::entropy ? xlogx(p) : p * p;
    }
    return rules_.criterion == Criterion::entropy ? -sum : 1 - sum;
  }

  // The fall of the impurity by this cut, times the node's share of all weight.
  double decrease(const Cut& cut) const {
    double own = 0;  // the score of the node uncut
    for (double s : whole_)
      own += rules_.criterion == Criterion::entropy ? xlogx(s) : s * s / weight_;
    if (rules_.criterion == Criterion::entropy) own -= xlogx(weight_);
    return std::max(cut.score - own, 0.0) / rules_.total;
  }

  bool is_final(const Node& node) const {
    const i64 m = node.end - node.begin;
    return node.depth >= rules_.max_depth || m < rules_.min_split || m < 2 * rules_.min_leaf ||
           weight_ < 2 * rules_.min_weight;
  }

  std::uint64_t draw() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  // The columns in turn, or in random order until enough of them were seen and one can be cut.
  Cut search(const Node& node) {
    Cut best;
    const bool all = rules_.columns >= X_.d;
    for (i64 seen = 0; seen < X_.d; ++seen) {
      if (seen == 0 || node.end - node.begin > kLong) check_interrupt();
      if (*rules_.stop) break;
      if (!all) {
        if (seen >= rules_.columns && best.column >= 0) break;
        std::swap(columns_[seen], columns_[seen + draw() % (X_.d - seen)]);
      }
      search_column(node, all ? seen : columns_[seen], best);
    }
    return best;
  }

  void search_column(const Node& node, i64 k, Cut& best) {
    const i64 m = node.end - node.begin;
    const std::uint32_t* codes = X_.codes + k * X_.n;
    const std::int32_t* rows = t_.rows + node.begin;
    std::uint32_t low = UINT32_MAX, high = 0;
    for (i64 i = 0; i < m; ++i) {
      const std::uint32_t code = codes[rows[i]];
      keys_[i] = std::uint64_t(code) << 32 | std::uint32_t(i);
      low = std::min(low, code);
      high = std::max(high, code);
    }
    if (low == high) return;  // one value: nothing to cut
    const i64 span = i64(high) - low + 1;
    if (span * (t_.classes ? (t_.classes + 1) / 2 : 1) <= kSparse * m) {
      t_.classes ? count_classes(m, k, low, span, best) : count_values(m, k, low, span, best);
      return;
    }
    sort_keys(m, low, high);
    t_.classes ? walk_classes(m, k, best) : walk_values(m, k, best);
  }

  void sort_keys(i64 m, std::uint32_t low, std::uint32_t high) {
    if (m <= kFew) {
      std::sort(keys_.begin(), keys_.begin() + m);
      return;
    }
    const int bits = std::bit_width(high - low);
    std::uint64_t *from = keys_.data(), *to = spare_.data();
    for (int done = 0; done < bits; done += kDigit) {
      std::uint32_t starts[1 << kDigit] = {};
      const auto digit = [&](std::uint64_t key) {
        return ((std::uint32_t(key >> 32) - low) >> done) & ((1u << kDigit) - 1);
      };
      for (i64 i = 0; i < m; ++i) ++starts[digit(from[i])];
      std::uint32_t sum = 0;
      for (auto& s : starts) sum += std::exchange(s, sum);
      for (i64 i = 0; i < m; ++i) to[starts[digit(from[i])]++] = from[i];
      std::swap(from, to);
    }
    if (from != keys_.data()) keys_.swap(spare_);
  }

  void offer(double score, i64 k, std::uint32_t code, std::uint32_t next, Cut& best) const {
    if (score > best.bar) best = {score, score + slack_, k, code, next};
  }

  bool few(i64 left, i64 right) const { return left < rules_.min_leaf || right < rules_.min_leaf; }
  bool light(double left) const {
    return left < rules_.min_weight || weight_ - left < rules_.min_weight;
  }

  // Rows in order of a column: running sums on the left, the rest on the right.
  void walk_values(i64 m, i64 k, Cut& best) const {
    double w = 0, s = 0;
    const double all = whole_[0];
    for (i64 i = 0; i + 1 < m; ++i) {
      const std::uint32_t at = std::uint32_t(keys_[i]), code = keys_[i] >> 32;
      w += w_[at];
      s += w_[at] * y_[at];
      const std::uint32_t next = keys_[i + 1] >> 32;
      if (code == next || few(i + 1, m - i - 1) || light(w)) continue;
      offer(s * s / w + (all - s) * (all - s) / (weight_ - w), k, code, next, best);
    }
  }

  void walk_classes(i64 m, i64 k, Cut& best) {
    begin_sides();
    for (i64 i = 0; i + 1 < m; ++i) {
      const std::uint32_t at = std::uint32_t(keys_[i]), code = keys_[i] >> 32;
      left_.add_class(c_[at], w_[at]);
      right_.take_class(c_[at], w_[at]);
      const std::uint32_t next = keys_[i + 1] >> 32;
      if (code == next || few(i + 1, m - i - 1) || light(left_.weight)) continue;
      offer(left_.score() + right_.score(), k, code, next, best);
    }
  }

  void begin_sides() {
    left_.clear();
    right_.clear();
    for (i64 c = 0; c < width_; ++c)
      if (whole_[c] > 0) right_.add_class(static_cast<std::int32_t>(c), whole_[c]);
  }

  // The same from counts: one bin for every code between the least and the largest.
  void count_values(i64 m, i64 k, std::uint32_t low, i64 span, Cut& best) {
    bins_.assign(span, Bin{0, 0, 0});
    for (i64 i = 0; i < m; ++i) {
      Bin& bin = bins_[std::uint32_t(keys_[i] >> 32) - low];
      bin.w += w_[i];
      bin.s += w_[i] * y_[i];
      ++bin.rows;
    }
    double w = 0, s = 0;
    const double all = whole_[0];
    i64 seen = 0, last = -1;
    for (i64 b = 0; b < span; ++b) {
      if (!bins_[b].rows) continue;
      if (last >= 0 && !few(seen, m - seen) && !light(w))
        offer(s * s / w + (all - s) * (all - s) / (weight_ - w), k, low + std::uint32_t(last),
              low + std::uint32_t(b), best);
      w += bins_[b].w;
      s += bins_[b].s;
      seen += bins_[b].rows;
      last = b;
    }
  }

  void count_classes(i64 m, i64 k, std::uint32_t low, i64 span, Cut& best) {
    counts_.assign(span * width_, 0.0);
    numbers_.assign(span, 0);
    for (i64 i = 0; i < m; ++i) {
      const i64 b = std::uint32_t(keys_[i] >> 32) - low;
      counts_[b * width_ + c_[i]] += w_[i];
      ++numbers_[b];
    }
    begin_sides();
    i64 seen = 0, last = -1;
    for (i64 b = 0; b < span; ++b) {
      if (!numbers_[b]) continue;
      if (last >= 0 && !few(seen, m - seen) && !light(left_.weight))
        offer(left_.score() + right_.score(), k, low + std::uint32_t(last), low + std::uint32_t(b),
              best);
      for (i64 c = 0; c < width_; ++c) {
        const double w = counts_[b * width_ + c];
        if (w == 0) continue;
        left_.add_class(static_cast<std::int32_t>(c), w);
        right_.take_class(static_cast<std::int32_t>(c), w);
      }
      seen += numbers_[b];
      last = b;
    }
  }

  std::pair<Node, Node> split(const Node& node, const Cut& best) {
    const std::uint32_t* codes = X_.codes + best.column * X_.n;
    i64 l = node.begin, r = 0;
    for (i64 i = node.begin; i < node.end; ++i) {  // each side keeps its order
      const std::int32_t row = t_.rows[i];
      const bool low = codes[row] <= best.code;
      t_.rows[l] = row;
      room_[r] = row;
      l += low;
      r += !low;
    }
    std::copy(room_.begin(), room_.begin() + r, t_.rows + l);
    const double* values = X_.values + X_.starts[best.column];
    const double a = values[best.code], b = values[best.next], middle = a + (b - a) / 2;
    nodes_.feature[node.id] = static_cast<std::int32_t>(best.column);
    nodes_.threshold[node.id] = middle < b && middle >= a ? middle : a;
    nodes_.left[node.id] = static_cast<std::int32_t>(count_);
    nodes_.right[node.id] = static_cast<std::int32_t>(count_ + 1);
    count_ += 2;
    return {{node.begin, l, node.depth + 1, count_ - 2}, {l, node.end, node.depth + 1, count_ - 1}};
  }

  const CodedColumns& X_;
  const TreeTarget& t_;
  const SplitRules& rules_;
  const GrownNodes& nodes_;
  const i64 width_;
  std::vector<i64> columns_;
  std::vector<double> w_, y_;  // of the node's rows
  std::vector<std::int32_t> c_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::int32_t> room_;
  std::vector<std::uint64_t> spare_;
  std::vector<double> whole_;  // sums of the node
  Side left_, right_;
  std::vector<Bin> bins_;
  std::vector<double> counts_;
  std::vector<i64> numbers_;
  std::uint64_t state_;
  double weight_ = 0, impurity_ = 0, slack_ = 0;
  i64 count_ = 0;
};

}  // namespace

i64 grow_tree(const CodedColumns& X, const TreeTarget& target, const SplitRules& rules,
              const GrownNodes& nodes) {
  return Grower(X, target, rules, nodes).grow();
}

}  // namespace kg
