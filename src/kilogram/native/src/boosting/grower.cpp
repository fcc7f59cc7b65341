// Leaf-wise growth: the leaf whose split gains most is split next.
//
// Columns are handled in groups of at most eight, whose histograms stay in the first-level cache while
// rows pass. One thread builds the histograms of a group for the smaller child, subtracts them from the
// parent's and searches both children: a split takes one parallel region besides the partition.
#include "boosting/grower.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "common/interrupt.hpp"

namespace kg {
namespace {

constexpr i64 kGroup = 8;  // columns whose histograms, 4 KiB each, stay in the first-level cache
constexpr i64 kParallelWork = 1 << 17;  // updates of histograms from which a second thread pays
constexpr i64 kParallelRows = 1 << 16;  // rows from which a second thread pays
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint64_t mix(std::uint64_t z) {  // splitmix64
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

BoostGrower::BoostGrower(BinnedRows rows, std::vector<double> limits, std::vector<i64> starts,
                         std::vector<std::int8_t> monotone, std::vector<std::vector<i64>> groups)
    : X_(std::move(rows)), limits_(std::move(limits)), starts_(std::move(starts)),
      offsets_(X_.d + 1), monotone_(std::move(monotone)), groups_(std::move(groups)), order_(X_.n),
      spare_(X_.n), pairs_(std::make_unique<Scratch<Pair>>(1, X_.n)) {
  for (i64 k = 0; k < X_.d; ++k) offsets_[k + 1] = offsets_[k] + X_.bins[k] + 1;
}

Pair* BoostGrower::take_histogram() {
  if (free_.empty()) {
    pool_.push_back(std::make_unique<Scratch<Pair>>(1, offsets_[X_.d]));
    free_.push_back(pool_.back()->block(0));
  }
  Pair* found = free_.back();
  free_.pop_back();
  return found;
}

void BoostGrower::give_histogram(Pair*& histogram) {
  if (histogram) free_.push_back(histogram);
  histogram = nullptr;
}

bool BoostGrower::can_split(const Node& node) const {
  return node.depth < rules_.max_depth && node.end - node.begin >= 2 * rules_.min_leaf &&
         split_.scale.h(node.sums.all) >= 2 * rules_.min_hessian;
}

// Columns that the constraints leave to this node, and of those a random part if asked for.
std::vector<char> BoostGrower::allowed_columns(const Node& node) {
  std::vector<char> allowed(X_.d, groups_.empty());
  for (i64 g : node.groups)
    for (i64 k : groups_[g]) allowed[k] = 1;
  if (rules_.max_features >= 1) return allowed;
  std::vector<i64> open;
  for (i64 k = 0; k < X_.d; ++k)
    if (allowed[k]) open.push_back(k);
  const i64 total = static_cast<i64>(open.size());
  const i64 kept = std::max<i64>(1, static_cast<i64>(std::ceil(rules_.max_features * total)));
  std::uint64_t state = mix(rules_.seed ^ mix(static_cast<std::uint64_t>(node.id)));
  for (i64 i = 0; i < std::min(kept, total); ++i)
    std::swap(open[i], open[i + (state = mix(state)) % (total - i)]);
  for (i64 i = kept; i < total; ++i) allowed[open[i]] = 0;
  return allowed;
}

void BoostGrower::search_columns(const Node& node, const std::vector<char>& allowed, i64 first,
                                 i64 last, SplitChoice& best) const {
  const SplitSearch search(split_, node.sums);
  for (i64 k = first; k < last; ++k) {
    if (!allowed[k]) continue;
    const Pair* h = node.histogram + offsets_[k];
    if (X_.categorical[k]) search.categories(h, X_.bins[k], k, best);
    else search.numeric(h, X_.bins[k], monotone_[k], k, best);
  }
}

// Histograms and best splits of a node and, if there is a second one, of its larger sibling, which
// takes over the parent's histogram.
void BoostGrower::find_splits(Node* first, Node* second, Node* parent) {
  const i64 m = first->end - first->begin;
  const int team = m * X_.d >= kParallelWork ? threads_ : 1;
  const i64 width = std::clamp<i64>(X_.d / std::max(team, 1), 1, kGroup);
  const i64 tasks = ceil_div(X_.d, width);
  first->histogram = take_histogram();
  if (second) std::swap(second->histogram, parent->histogram);
  const bool search_first = can_split(*first), search_second = second && can_split(*second);
  const std::vector<char> allowed = search_first ? allowed_columns(*first) : std::vector<char>();
  const std::vector<char> allowed2 = search_second ? allowed_columns(*second) : std::vector<char>();
  std::vector<SplitChoice> found(tasks), found2(second ? tasks : 0);
#pragma omp parallel for schedule(dynamic) num_threads(team) if (team > 1)
  for (i64 t = 0; t < tasks; ++t) {
    const i64 begin = t * width, end = std::min(begin + width, X_.d);
    Pair* base[kGroup];
    for (i64 k = begin; k < end; ++k) base[k - begin] = first->histogram + offsets_[k];
    std::fill(first->histogram + offsets_[begin], first->histogram + offsets_[end], Pair{0, 0});
    add_rows(X_, pairs_->block(0), order_.data() + first->begin, m, begin, end, base);
    if (search_first) search_columns(*first, allowed, begin, end, found[t]);
    if (!search_second) continue;
    for (i64 b = offsets_[begin]; b < offsets_[end]; ++b)
      second->histogram[b] -= first->histogram[b];
    search_columns(*second, allowed2, begin, end, found2[t]);
  }
  const auto best_of = [&](Node* node, const std::vector<SplitChoice>& choices) {
    for (const SplitChoice& c : choices)  // of equal ones the first column
      if (c.score > node->best.score) node->best = c;
    const double g = split_.scale.g(node->sums.all), h = split_.scale.h(node->sums.all);
    const double v = std::clamp(-g / (h + rules_.l2), node->sums.low, node->sums.high);
    node->gain = node->best.score + 2 * g * v + (h + rules_.l2) * v * v;
  };
  best_of(first, found);
  if (second) best_of(second, found2);
}

// Rows of the left child first, each side in its order; the number of them.
i64 BoostGrower::partition(const Node& node) {
  const Bin* column = X_.by_column.data() + node.best.column * X_.n;
  const i64 m = node.end - node.begin;
  Bin left[kBins];
  for (i64 b = 0; b < kBins; ++b)
    left[b] = node.best.categorical ? node.best.set.has(b) : b <= node.best.cut;
  left[X_.bins[node.best.column]] = node.best.missing_left;
  const i64 chunks = m >= kParallelRows ? threads_ : 1, size = ceil_div(m, chunks);
  std::vector<i64> lefts(chunks + 1), rights(chunks + 1);
  std::int32_t* rows = order_.data() + node.begin;
  std::int32_t* spare = spare_.data() + node.begin;
#pragma omp parallel for schedule(static) num_threads(static_cast<int>(chunks)) if (chunks > 1)
  for (i64 c = 0; c < chunks; ++c) {  // left rows to the front of the chunk, right ones to the spare
    const i64 begin = std::min(c * size, m), end = std::min(begin + size, m);
    i64 l = begin, r = begin;
    for (i64 i = begin; i < end; ++i) {
      const std::int32_t row = rows[i];
      const bool goes = left[column[row]];
      rows[l] = row;
      spare[r] = row;
      l += goes;
      r += !goes;
    }
    lefts[c + 1] = l - begin;
    rights[c + 1] = r - begin;
  }
  std::partial_sum(lefts.begin(), lefts.end(), lefts.begin());
  std::partial_sum(rights.begin(), rights.end(), rights.begin());
  for (i64 c = 1; c < chunks; ++c)  // in turn: a chunk may move over its predecessor's rest
    std::copy(rows + std::min(c * size, m), rows + std::min(c * size, m) + lefts[c + 1] - lefts[c],
              rows + lefts[c]);
#pragma omp parallel for schedule(static) num_threads(static_cast<int>(chunks)) if (chunks > 1)
  for (i64 c = 0; c < chunks; ++c)
    std::copy_n(spare + std::min(c * size, m), rights[c + 1] - rights[c],
                rows + lefts[chunks] + rights[c]);
  return node.begin + lefts[chunks];
}

// Write the split and both children, whose bounds keep the predictions monotone.
std::pair<BoostGrower::Node, BoostGrower::Node> BoostGrower::split(Node& node, i64 middle) {
  const SplitChoice& best = node.best;
  const std::int32_t id = static_cast<std::int32_t>(tree_.nodes.size());
  BoostNode& own = tree_.nodes[node.id];
  own.feature = static_cast<std::int32_t>(best.column);
  own.left = id;
  const i64 bins = X_.bins[best.column], rows = node.end - node.begin;
  const bool seen = split_.scale.rows(node.histogram[offsets_[best.column] + bins]) > 0;
  own.missing_right = seen ? !best.missing_left : 2 * (middle - node.begin) <= rows;
  if (best.categorical) {
    own.categories = static_cast<std::int32_t>(tree_.sets.size());
    own.threshold = 0;
    tree_.sets.push_back(best.set);
  } else {
    own.threshold = best.cut < bins - 1 ? limits_[starts_[best.column] + best.cut] : kInfinity;
  }
  tree_.cut[node.id] = best.cut;
  tree_.gain[node.id] = node.gain;
  Node left{node.begin, middle, node.depth + 1, id, {best.left, node.sums.low, node.sums.high}, {}, 0,
            nullptr, {}};
  Node right{middle, node.end, node.depth + 1, id + 1,
             {node.sums.all - best.left, node.sums.low, node.sums.high}, {}, 0, nullptr, {}};
  if (const int sign = monotone_[best.column]; sign) {
    const SplitSearch search(split_, node.sums);
    const double vl = search.value(split_.scale.g(left.sums.all), split_.scale.h(left.sums.all));
    const double vr = search.value(split_.scale.g(right.sums.all), split_.scale.h(right.sums.all));
    const double between = vl + (vr - vl) / 2;
    (sign > 0 ? left.sums.high : left.sums.low) = between;
    (sign > 0 ? right.sums.low : right.sums.high) = between;
  }
  for (i64 g : node.groups) {
    const auto& group = groups_[g];
    if (std::find(group.begin(), group.end(), best.column) == group.end()) continue;
    left.groups.push_back(g);
    right.groups.push_back(g);
  }
  for (const Node* child : {&left, &right}) {
    tree_.nodes.push_back({kInfinity, 0, 0, child->id, -1, 0});
    tree_.cut.push_back(0);
    tree_.gain.push_back(0);
    tree_.samples.push_back(static_cast<double>(child->end - child->begin));
  }
  return {std::move(left), std::move(right)};
}

// The value of a leaf from the gradients themselves.
void BoostGrower::settle(const Node& node, const double* g, const double* h) {
  double sum = 0, weight = 0;
  for (i64 i = node.begin; i < node.end; ++i) {
    sum += g[order_[i]];
    weight += h[order_[i]];
  }
  const double below = weight + rules_.l2;
  const double v = below > 0 ? std::clamp(-sum / below, node.sums.low, node.sums.high) : 0.0;
  tree_.nodes[node.id].value = rules_.learning_rate * v;
}

void BoostGrower::grow(const double* g, const double* h, const GrowthRules& rules, int threads) {
  rules_ = rules;
  threads_ = threads;
  const int team = X_.n >= kParallelRows ? threads : 1;
  Pair* pairs = pairs_->block(0);
  split_ = {quantise(g, h, X_.n, pairs, team), rules.min_leaf, rules.l2, rules.min_hessian};
  free_.clear();
  for (const auto& block : pool_) free_.push_back(block->block(0));
  std::iota(order_.begin(), order_.end(), 0);
  tree_ = {};
  tree_.nodes.push_back({kInfinity, 0, 0, 0, -1, 0});
  tree_.cut = {0};
  tree_.gain = {0};
  tree_.samples = {static_cast<double>(X_.n)};
  Node root{0, X_.n, 0, 0, {Pair{0, 0}, -kInfinity, kInfinity}, {}, 0, nullptr, {}};
  for (i64 i = 0; i < X_.n; ++i) root.sums.all += pairs[i];
  for (std::size_t i = 0; i < groups_.size(); ++i) root.groups.push_back(static_cast<i64>(i));

  const auto less = [](const Node& a, const Node& b) {
    return a.gain < b.gain || (a.gain == b.gain && a.id > b.id);
  };
  std::vector<Node> open, closed;
  const auto file = [&](Node&& node) {
    if (node.best.column >= 0 && node.gain > 0) {
      open.push_back(std::move(node));
      std::push_heap(open.begin(), open.end(), less);
    } else {
      give_histogram(node.histogram);
      closed.push_back(std::move(node));
    }
  };
  if (can_split(root) && rules.max_leaves > 1) find_splits(&root, nullptr, nullptr);
  file(std::move(root));
  for (i64 leaves = 1; leaves < rules.max_leaves && !open.empty(); ++leaves) {
    check_interrupt();
    std::pop_heap(open.begin(), open.end(), less);
    Node node = std::move(open.back());
    open.pop_back();
    auto [left, right] = split(node, partition(node));
    if (leaves + 1 < rules.max_leaves && (can_split(left) || can_split(right))) {
      const bool small_left = left.end - left.begin <= right.end - right.begin;
      find_splits(small_left ? &left : &right, small_left ? &right : &left, &node);
    }
    give_histogram(node.histogram);
    file(std::move(left));
    file(std::move(right));
  }
  for (Node& node : open) closed.push_back(std::move(node));
  const i64 count = static_cast<i64>(closed.size());
#pragma omp parallel for schedule(dynamic) num_threads(team) if (team > 1)
  for (i64 i = 0; i < count; ++i) settle(closed[i], g, h);
  leaves_.clear();
  for (const Node& node : closed) {
    leaves_.push_back({node.begin, node.end, node.id, node.sums.low, node.sums.high});
    tree_.depth = std::max(tree_.depth, node.depth);
  }
}

double BoostGrower::leaf_quantile(const Leaf& leaf, const double* residual, const double* w,
                                  double q) const {
  std::vector<std::pair<double, double>> rows;
  double total = 0;
  for (i64 i = leaf.begin; i < leaf.end; ++i) {
    const double weight = w ? w[order_[i]] : 1.0;
    rows.emplace_back(residual[order_[i]], weight);
    total += weight;
  }
  std::sort(rows.begin(), rows.end());
  // the smallest value with a fraction q of the weight up to it; where it is exactly q the middle
  // between this and the next value
  double seen = 0, found = rows.back().first;
  const double target = q * total, slack = 1e-12 * total;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    seen += rows[i].second;
    if (seen < target - slack) continue;
    found = rows[i].first;
    if (seen <= target + slack && i + 1 < rows.size()) found = (found + rows[i + 1].first) / 2;
    break;
  }
  return std::clamp(found, leaf.low, leaf.high);
}

void BoostGrower::line_search(const double* residual, const double* w, double q, int threads) {
  const i64 count = static_cast<i64>(leaves_.size());
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1 && X_.n >= kParallelRows)
  for (i64 l = 0; l < count; ++l)
    tree_.nodes[leaves_[l].node].value =
        rules_.learning_rate * leaf_quantile(leaves_[l], residual, w, q);
}

void BoostGrower::add_values(double* raw, int threads) const {
  const i64 count = static_cast<i64>(leaves_.size());
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1 && X_.n >= kParallelRows)
  for (i64 l = 0; l < count; ++l) {
    const double v = tree_.nodes[leaves_[l].node].value;
    for (i64 i = leaves_[l].begin; i < leaves_[l].end; ++i) raw[order_[i]] += v;
  }
}

}  // namespace kg
