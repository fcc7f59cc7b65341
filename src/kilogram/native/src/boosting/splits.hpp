// The best split of a node on one column, from its histogram.
//
// A leaf with sums G and H has the value v = -G / (H + l2) and lowers the quadratic model of the loss
// by G^2 / (H + l2), twice. Where v is bounded by monotone constraints the clipped value is taken:
// -(2 G v + (H + l2) v^2). Each child has `min_leaf` rows, and the second derivatives of more than
// min_leaf - 1 average rows of the node: rows that are predicted with certainty count for less.
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
      : r_(rules), all_(node.all), low_(node.low), high_(node.high),
        least_hessian_(std::max(rules.min_hessian, static_cast<double>(rules.min_leaf - 1) *
                                                       rules.scale.h(node.all) /
                                                       static_cast<double>(rules.scale.rows(node.all)))),
        bounded_(std::isfinite(node.low) || std::isfinite(node.high)) {}

  // `monotone`: -1, 0 or 1. Bins 0 .. bins - 1 have values, the next one is missing.
  void numeric(const Pair* h, std::int32_t bins, int monotone, i64 column, SplitChoice& best) const {
    const bool missing = r_.scale.rows(h[bins]) > 0;
    const std::int32_t cuts = missing ? bins : bins - 1;
    if (bounded_ || monotone) {
      scan_bounded(h, cuts, Pair{0, 0}, monotone, column, false, best);
      if (missing) scan_bounded(h, bins - 1, h[bins], monotone, column, true, best);
    } else {
      scan(h, cuts, Pair{0, 0}, column, false, best);
      if (missing) scan(h, bins - 1, h[bins], column, true, best);
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
    if (count < 2 && (count == 0 || r_.scale.rows(all_) == r_.scale.rows(h[order[0]]))) return;
    std::stable_sort(order, order + count, [&](auto a, auto b) { return key[a] < key[b]; });
    Pair left{0, 0};
    i64 found = -1;
    double bar = best.score;
    for (i64 i = 0; i < count; ++i) {
      left += h[order[i]];
      const Pair right = all_ - left;
      if (r_.scale.rows(left) < r_.min_leaf || r_.scale.rows(right) < r_.min_leaf) continue;
      const double s = bounded_score(left, right, 0);
      if (!(s > bar)) continue;
      bar = s;
      found = i;
      best.left = left;
    }
    if (found < 0) return;
    best.score = bar;
    best.column = column;
    best.cut = static_cast<std::int32_t>(found);
    best.missing_left = false;
    best.categorical = true;
    best.set = {};
    for (i64 i = 0; i <= found; ++i) {
      if (order[i] == bins) best.missing_left = true;
      else best.set.add(order[i]);
    }
  }

  double value(double g, double h) const {
    return std::clamp(-g / (h + r_.l2), low_, high_);
  }

 private:
  static constexpr i64 kSupport = 10;
  static constexpr double kSmooth = 10;
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  // The quality of a split with bounded values, -infinity where it is not allowed.
  double bounded_score(const Pair& left, const Pair& right, int monotone) const {
    const double gl = r_.scale.g(left), hl = r_.scale.h(left), gr = r_.scale.g(right),
                 hr = r_.scale.h(right);
    if (hl < least_hessian_ || hr < least_hessian_) return kNone;
    const double vl = value(gl, hl), vr = value(gr, hr);
    if ((monotone > 0 && vl > vr) || (monotone < 0 && vl < vr)) return kNone;
    return -(2 * gl * vl + (hl + r_.l2) * vl * vl) - (2 * gr * vr + (hr + r_.l2) * vr * vr);
  }

  void scan_bounded(const Pair* h, std::int32_t cuts, Pair left, int monotone, i64 column,
                    bool missing_left, SplitChoice& best) const {
    for (std::int32_t b = 0; b < cuts; ++b) {
      left += h[b];
      const Pair right = all_ - left;
      if (r_.scale.rows(left) < r_.min_leaf) continue;
      if (r_.scale.rows(right) < r_.min_leaf) break;
      const double score = bounded_score(left, right, monotone);
      if (score > best.score) best = {score, column, b, missing_left, false, left, {}};
    }
  }

  // Most of the time of small tables is spent here: scalars instead of pairs, whole units (powers of two,
  // so that nothing is rounded by them), and a division only for a cut that may be the best so far. An
  // empty bin is the same cut as the one before it: not better.
  void scan(const Pair* h, std::int32_t cuts, Pair left, i64 column, bool missing_left,
            SplitChoice& best) const {
    const int shift = r_.scale.shift;
    const i64 mask = (i64(1) << shift) - 1, all_g = all_[0], all_h = all_[1], min_leaf = r_.min_leaf,
              most = (all_h & mask) - min_leaf;
    const double l2 = r_.l2 / r_.scale.hessian, least = least_hessian_ / r_.scale.hessian,
                 unit = r_.scale.gradient * r_.scale.gradient / r_.scale.hessian;
    i64 g = left[0], wh = left[1];
    double bar = best.score / unit;
    std::int32_t found = -1;
    for (std::int32_t b = 0; b < cuts; ++b) {
      g += h[b][0];
      wh += h[b][1];
      const i64 here = wh & mask;
      if (here < min_leaf) continue;
      if (here > most) break;
      const double hl = static_cast<double>(wh >> shift), hr = static_cast<double>((all_h - wh) >> shift);
      if (hl < least || hr < least) continue;
      const double gl = static_cast<double>(g), gr = static_cast<double>(all_g - g);
      const double wl = hl + l2, wr = hr + l2, above = gl * gl * wr + gr * gr * wl, below = wl * wr;
      if (!(above > bar * below)) continue;
      const double score = above / below;
      if (!(score > bar)) continue;
      bar = score;
      found = b;
      left = Pair{g, wh};
    }
    if (found >= 0) best = {bar * unit, column, found, missing_left, false, left, {}};
  }

  SplitLimits r_;
  Pair all_;
  double low_, high_, least_hessian_;
  bool bounded_;
};

}  // namespace kg
