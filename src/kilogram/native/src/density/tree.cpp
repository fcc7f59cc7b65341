// Growth of a density tree: a stack of nodes, every column sorted once and split in place.
//
// A node of weight N_l and box V_l is cut at t of column j into fractions q = N_L / N_l of its weight
// and s = (t - lower_j) / side_j of its volume. With N rows in all and V the root's volume,
//
//     squared error   (N_l / N)^2 (V / V_l) [q^2 / s + (1 - q)^2 / (1 - s) - 1]
//     likelihood      (N_l / N) [q log(q / s) + (1 - q) log((1 - q) / (1 - s))]
//
// is the gain, both convex in s and least, 0, at s = q: between two values the ends of the gap win.
// The first bracket is (q - s)^2 / (s (1 - s)), and never less than the second (Jensen): a cut is
// passed over by comparing products, without a division or a logarithm.
#include "density/density.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/interrupt.hpp"

namespace kg {
namespace {

constexpr i64 kLong = 1 << 14;  // rows of a node whose every column is worth a look for Ctrl-C

struct Node {
  i64 begin, end, depth, id;
  double log_fraction;  // log(V_l / V)
  std::vector<double> lower, upper;
};

struct Split {
  double gain = 0, threshold = 0;  // gain: the bracket
  i64 column = -1;
};

class Grower {
 public:
  Grower(const TreeRows& rows, const TreeRules& rules, const TreeNodes& nodes)
      : rows_(rows), rules_(rules), nodes_(nodes), left_(rows.n), buffer_(rows.n), columns_(rows.d),
        state_(rules.seed) {
    for (i64 k = 0; k < rows.d; ++k) columns_[k] = k;
    for (i64 i = 0; i < rows.n; ++i) total_ += rows.w[i];
  }

  i64 grow() {
    std::vector<Node> stack;
    stack.push_back({0, rows_.n, 0, 0, 0.0, {rows_.lower, rows_.lower + rows_.d},
                     {rows_.upper, rows_.upper + rows_.d}});
    count_ = 1;
    while (!stack.empty()) {
      const Node node = std::move(stack.back());
      stack.pop_back();
      const double mass = weight(node);
      nodes_.feature[node.id] = nodes_.left[node.id] = nodes_.right[node.id] = -1;
      nodes_.mass[node.id] = mass;
      nodes_.threshold[node.id] = nodes_.gain[node.id] = 0;
      if (is_final(node, mass) || count_ + 2 > nodes_.capacity) continue;
      const Split best = search(node, mass);
      if (*rules_.stop) return -1;
      const double gain = best.gain * scale(node, mass);
      if (best.column < 0 || !(gain > rules_.min_gain)) continue;
      nodes_.feature[node.id] = static_cast<std::int32_t>(best.column);
      nodes_.threshold[node.id] = best.threshold;
      nodes_.gain[node.id] = gain;
      push_children(stack, node, best);
    }
    return count_;
  }

 private:
  double weight(const Node& node) const {
    double sum = 0;
    for (i64 i = node.begin; i < node.end; ++i) sum += rows_.w[rows_.order[i]];
    return sum;
  }

  bool is_final(const Node& node, double mass) const {
    return node.depth >= rules_.max_depth || node.end - node.begin < 2 ||
           mass < rules_.min_split || mass / total_ * std::exp(-node.log_fraction) < rules_.min_density;
  }

  double scale(const Node& node, double mass) const {
    const double fraction = mass / total_;
    return rules_.likelihood ? fraction : fraction * fraction * std::exp(-node.log_fraction);
  }

  std::uint64_t draw() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  // The columns in turn, or in random order until enough of them were seen and one can be cut.
  Split search(const Node& node, double mass) {
    Split best;
    const bool all = rules_.columns >= rows_.d;
    check_interrupt();
    for (i64 seen = 0; seen < rows_.d && !*rules_.stop; ++seen) {
      if (node.end - node.begin > kLong) check_interrupt();
      if (!all) {
        if (seen >= rules_.columns && best.column >= 0) break;
        std::swap(columns_[seen], columns_[seen + draw() % (rows_.d - seen)]);
      }
      search_column(node, mass, all ? seen : columns_[seen], best);
    }
    return best;
  }

  // The bracket, or 0 where it cannot exceed `best`.
  double bracket(double q, double s, double best) const {
    const double above = (q - s) * (q - s), below = s * (1 - s);
    if (above <= best * below) return 0;
    if (rules_.likelihood) return q * std::log(q / s) + (1 - q) * std::log((1 - q) / (1 - s));
    return above / below;
  }

  void search_column(const Node& node, double mass, i64 k, Split& best) const {
    const double* x = rows_.X + k * rows_.n;
    const std::int32_t* order = rows_.order + k * rows_.n;
    const double low = node.lower[k], high = node.upper[k], side = high - low;
    const double least = rules_.min_side * (rows_.upper[k] - rows_.lower[k]);
    const double nudge = rules_.epsilon * side, per_side = 1 / side, per_mass = 1 / mass;
    const double few = std::max(rules_.min_leaf, rules_.min_fraction * mass);
    double before = 0;
    for (i64 i = node.begin; i + 1 < node.end; ++i) {
      before += rows_.w[order[i]];
      const double a = x[order[i]], b = x[order[i + 1]];
      if (!(a < b) || before < few || mass - before < few) continue;
      const double step = std::min(nudge, (b - a) / 2);
      const double near = b - step < b ? b - step : a;
      for (const double t : {a + step < b ? a + step : a, near}) {
        if (t - low < least || high - t < least || !(t > low) || !(t < high)) continue;
        const double gain = bracket(before * per_mass, (t - low) * per_side, best.gain);
        if (gain > best.gain) best = {gain, t, k};
      }
    }
  }

  void push_children(std::vector<Node>& stack, const Node& node, const Split& best) {
    const double* x = rows_.X + best.column * rows_.n;
    for (i64 i = node.begin; i < node.end; ++i) {
      const std::int32_t row = rows_.order[i];
      left_[row] = x[row] <= best.threshold;
    }
    i64 middle = node.begin;
    for (i64 k = 0; k < rows_.d; ++k) middle = partition(rows_.order + k * rows_.n, node);
    const double side = node.upper[best.column] - node.lower[best.column];
    const double fraction = (best.threshold - node.lower[best.column]) / side;
    Node left{node.begin, middle, node.depth + 1, count_, node.log_fraction + std::log(fraction),
              node.lower, node.upper};
    Node right{middle, node.end, node.depth + 1, count_ + 1,
               node.log_fraction + std::log1p(-fraction), node.lower, node.upper};
    left.upper[best.column] = right.lower[best.column] = best.threshold;
    nodes_.left[node.id] = static_cast<std::int32_t>(count_);
    nodes_.right[node.id] = static_cast<std::int32_t>(count_ + 1);
    count_ += 2;
    stack.push_back(std::move(right));
    stack.push_back(std::move(left));
  }

  // Rows of the left child first, each side still sorted; where the right one begins.
  i64 partition(std::int32_t* order, const Node& node) {
    i64 l = node.begin, r = 0;
    for (i64 i = node.begin; i < node.end; ++i) {
      const std::int32_t row = order[i];
      order[l] = row;
      buffer_[r] = row;
      l += left_[row];
      r += 1 - left_[row];
    }
    std::copy(buffer_.begin(), buffer_.begin() + r, order + l);
    return l;
  }

  const TreeRows& rows_;
  const TreeRules& rules_;
  const TreeNodes& nodes_;
  std::vector<std::uint8_t> left_;
  std::vector<std::int32_t> buffer_;
  std::vector<i64> columns_;
  std::uint64_t state_;
  double total_ = 0;
  i64 count_ = 0;
};

}  // namespace

i64 grow_density_tree(const TreeRows& rows, const TreeRules& rules, const TreeNodes& nodes) {
  return Grower(rows, rules, nodes).grow();
}

}  // namespace kg
