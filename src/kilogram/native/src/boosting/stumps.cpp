// One pass over a sorted column: rows move from the right side to the left one after another. The
// error is the weight of all rows less that of the heaviest class of either side; the Gini impurity is
// least where the squared class weights of the sides, over the sides' weights, are largest.
#include "boosting/stumps.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace kg {
namespace {

constexpr double kSlack = 1e-12;  // of all weight: scores that differ by less are alike
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A cut of a column: its first `place + 1` rows go left. -1: the column has one value.
struct Cut {
  double score = kInfinity;
  i64 place = -1;
};

i64 heaviest(const std::vector<double>& weights) {
  return std::max_element(weights.begin(), weights.end()) - weights.begin();
}

double sum_of(const std::vector<double>& weights) {
  double total = 0;
  for (double s : weights) total += s;
  return total;
}

Cut least_impurity(const StumpRows& rows, i64 column, const std::vector<double>& whole) {
  const std::int32_t* order = rows.order + column * rows.n;
  const double *value = rows.values + column * rows.n, total = sum_of(whole);
  std::vector<double> left(whole.size());
  double weight = 0, squares_left = 0, squares_right = 0, bar = -kInfinity;
  for (double s : whole) squares_right += s * s;
  Cut best;
  for (i64 i = 0; i + 1 < rows.n; ++i) {
    const i64 row = order[i], c = rows.label[row];
    const double w = rows.w[row], before = left[c];
    left[c] = before + w;
    squares_left += w * (2 * before + w);
    squares_right -= w * (2 * (whole[c] - before) - w);
    weight += w;
    if (!(value[i + 1] > value[i])) continue;
    const double rest = total - weight;
    if (!(weight > 0) || !(rest > kSlack * total)) continue;
    const double above = squares_left * rest + squares_right * weight, below = weight * rest;
    if (!(above > bar * below)) continue;  // most cuts: no division
    best = {-above / below, i};
    bar = above / below + kSlack * total;
  }
  return best;
}

Cut least_error(const StumpRows& rows, i64 column, const std::vector<double>& whole) {
  const std::int32_t* order = rows.order + column * rows.n;
  const double *value = rows.values + column * rows.n, total = sum_of(whole);
  std::vector<double> left(whole.size()), right(whole);
  i64 top_left = 0, top_right = heaviest(right);
  double bar = kInfinity;
  Cut best;
  for (i64 i = 0; i + 1 < rows.n; ++i) {
    const i64 row = order[i], c = rows.label[row];
    left[c] += rows.w[row];
    right[c] -= rows.w[row];
    if (left[c] > left[top_left]) top_left = c;
    if (c == top_right) top_right = heaviest(right);
    if (!(value[i + 1] > value[i])) continue;
    const double error = total - left[top_left] - right[top_right];
    if (error >= bar) continue;
    best = {error, i};
    bar = error - kSlack * total;
  }
  return best;
}

}  // namespace

Stump best_stump(const StumpRows& rows, i64 classes, bool gini, int threads) {
  std::vector<double> right(classes), left(classes);
  for (i64 i = 0; i < rows.n; ++i) right[rows.label[i]] += rows.w[i];
  std::vector<Cut> found(rows.d);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (i64 k = 0; k < rows.d; ++k)
    found[k] = gini ? least_impurity(rows, k, right) : least_error(rows, k, right);
  const double slack = kSlack * sum_of(right);
  i64 best = -1;
  for (i64 k = 0; k < rows.d; ++k)  // of alike ones the first column
    if (found[k].place >= 0 && (best < 0 || found[k].score < found[best].score - slack)) best = k;
  if (best < 0) return {kInfinity, -1, 0, 0, 0};
  const i64 place = found[best].place;
  for (i64 i = 0; i <= place; ++i) {
    const i64 row = rows.order[best * rows.n + i];
    left[rows.label[row]] += rows.w[row];
    right[rows.label[row]] -= rows.w[row];
  }
  const double here = rows.values[best * rows.n + place], next = rows.values[best * rows.n + place + 1];
  const double middle = here + (next - here) / 2;
  return {found[best].score, best, middle < next && middle >= here ? middle : here,
          static_cast<std::int32_t>(heaviest(left)), static_cast<std::int32_t>(heaviest(right))};
}

}  // namespace kg
