// The best split of a node on one column, from its histogram.
//
// A leaf with sums G and H has the value v = -G / (H + l2) and lowers the quadratic model of the loss
// by G^2 / (H + l2), twice. Where v is bounded by monotone constraints the clipped value is taken:
// -(2 G v + (H + l2) v^2).
#pragma once
#include <limits>

#include "boosting/histogram.hpp"

namespace kg {

struct SplitChoice {
  double score = -std::numeric_limits<double>::infinity();  // of both children together
  i64 column = -1;
  std::int32_t cut = 0;  // the last bin on the left
  bool missing_left = false, categorical = false;
  Pair left{0, 0};
  CategorySet set{};
};

// What the search knows of a node.
struct NodeSums {
  Pair all;
  double low, high;  // bounds of the values, infinite without monotone constraints
};

struct SplitLimits {
  Scale scale;
  i64 min_leaf;
  double l2, min_hessian;
};

class SplitSearch {
 public:
  SplitSearch(const SplitLimits& rules, const NodeSums& node)
      : r_(rules), node_(node), bounded_(std::isfinite(node.low) || std::isfinite(node.high)) {}

  // `monotone`: -1, 0 or 1. Bins 0 .. bins - 1 have values, the next one is missing.
  void numeric(const Pair* h, std::int32_t bins, int monotone, i64 column, SplitChoice& best) const {
    const bool missing = r_.scale.rows(h[bins]) > 0;
    if (bounded_ || monotone) {
      scan<true>(h, missing ? bins : bins - 1, Pair{0, 0}, monotone, column, false, best);
      if (missing) scan<true>(h, bins - 1, h[bins], monotone, column, true, best);
    } else {
      scan<false>(h, missing ? bins : bins - 1, Pair{0, 0}, 0, column, false, best);
      if (missing) scan<false>(h, bins - 1, h[bins], 0, column, true, best);
    }
  }

  // Categories in order of their mean gradient: some of the first go left (Fisher 1958). Rare ones
  // stay on the right, and their means are drawn to 0 so that few rows do not lead the order.
  void categories(const Pair* h, std::int32_t bins, i64 column, SplitChoice& best) const {
    std::int32_t order[kBins];
    double key[kBins];
    i64 count = 0;
    for (std::int32_t b = 0; b <= bins; ++b)
      if (r_.scale.rows(h[b]) >= kSupport) {
        key[b] = r_.scale.g(h[b]) / (r_.scale.h(h[b]) + kSmooth);
        order[count++] = b;
      }
    if (count < 2 && (count == 0 || r_.scale.rows(node_.all) == r_.scale.rows(h[order[0]]))) return;
    std::stable_sort(order, order + count, [&](auto a, auto b) { return key[a] < key[b]; });
    Pair left{0, 0};
    i64 found = -1;
    SplitChoice mine;
    for (i64 i = 0; i < count; ++i) {
      left += h[order[i]];
      const double before = mine.score;
      offer<true>(left, 0, column, static_cast<std::int32_t>(i), false, mine);
      if (mine.score > before) found = i;
    }
    if (found < 0 || !(mine.score > best.score)) return;
    best = mine;
    best.categorical = true;
    for (i64 i = 0; i <= found; ++i) {
      if (order[i] == bins) best.missing_left = true;
      else best.set.add(order[i]);
    }
  }

  double value(double g, double h) const {
    return std::clamp(-g / (h + r_.l2), node_.low, node_.high);
  }

 private:
  static constexpr i64 kSupport = 10;
  static constexpr double kSmooth = 10;

  template <bool bounded>
  void scan(const Pair* h, std::int32_t cuts, Pair left, int monotone, i64 column, bool missing_left,
            SplitChoice& best) const {
    const i64 rows = r_.scale.rows(node_.all), mask = (i64(1) << r_.scale.shift) - 1;
    for (std::int32_t b = 0; b < cuts; ++b) {
      if (!(h[b][1] & mask)) continue;  // the same split as before
      left += h[b];
      const i64 here = left[1] & mask;
      if (here < r_.min_leaf) continue;
      if (rows - here < r_.min_leaf) break;
      offer<bounded>(left, monotone, column, b, missing_left, best);
    }
  }

  template <bool bounded>
  void offer(const Pair& left, int monotone, i64 column, std::int32_t cut, bool missing_left,
             SplitChoice& best) const {
    const Pair right = node_.all - left;
    const i64 here = r_.scale.rows(left);
    if (here < r_.min_leaf || r_.scale.rows(right) < r_.min_leaf) return;
    const double gl = r_.scale.g(left), hl = r_.scale.h(left), gr = r_.scale.g(right),
                 hr = r_.scale.h(right);
    if (hl < r_.min_hessian || hr < r_.min_hessian) return;
    double score;
    if constexpr (bounded) {
      const double vl = value(gl, hl), vr = value(gr, hr);
      if ((monotone > 0 && vl > vr) || (monotone < 0 && vl < vr)) return;
      score = -(2 * gl * vl + (hl + r_.l2) * vl * vl) - (2 * gr * vr + (hr + r_.l2) * vr * vr);
    } else {
      const double a = hl + r_.l2, b = hr + r_.l2;
      score = (gl * gl * b + gr * gr * a) / (a * b);
    }
    if (score > best.score) {
      best.score = score;
      best.column = column;
      best.cut = cut;
      best.missing_left = missing_left;
      best.categorical = false;
      best.left = left;
    }
  }

  const SplitLimits& r_;
  const NodeSums& node_;
  const bool bounded_;
};

}  // namespace kg
