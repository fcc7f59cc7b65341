// One pass over a sorted column: rows move from the right side to the left one after another. The
// error is the weight of all rows less that of the heaviest class of either side; the Gini impurity is
// least where the squared class weights of the sides, over the sides' weights, are largest.
#include "boosting/stumps.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace kg {
namespace {

constexpr double kSlack = 1e-12;  // of all weight: errors that differ by less are alike

i64 heaviest(const std::vector<double>& weights) {
  return std::max_element(weights.begin(), weights.end()) - weights.begin();
}

Stump stump_of(const std::int32_t* order, const Rows<double>& X, i64 column, const std::int32_t* label,
               const double* w, const std::vector<double>& whole, double total, bool gini) {
  Stump best{std::numeric_limits<double>::infinity(), -1, 0, 0, 0};
  std::vector<double> left(whole.size()), right(whole);
  i64 top_left = 0, top_right = heaviest(right);
  double bar = best.score, weight = 0, squares_left = 0, squares_right = 0;
  for (double s : whole) squares_right += s * s;
  for (i64 i = 0; i + 1 < X.n; ++i) {
    const i64 row = order[i], c = label[row];
    squares_left += w[row] * (2 * left[c] + w[row]);
    squares_right -= w[row] * (2 * right[c] - w[row]);
    weight += w[row];
    left[c] += w[row];
    right[c] -= w[row];
    if (left[c] > left[top_left]) top_left = c;
    if (c == top_right) top_right = heaviest(right);
    const double here = *X.at(row, column), next = *X.at(order[i + 1], column);
    if (!(next > here)) continue;
    const double rest = total - weight;
    if (gini && (!(weight > 0) || !(rest > kSlack * total))) continue;
    const double score = gini ? -squares_left / weight - squares_right / rest
                              : total - left[top_left] - right[top_right];
    if (score >= bar) continue;
    const double middle = here + (next - here) / 2;
    best = {score, column, middle < next && middle >= here ? middle : here,
            static_cast<std::int32_t>(top_left), static_cast<std::int32_t>(top_right)};
    bar = score - kSlack * total;
  }
  return best;
}

}  // namespace

Stump best_stump(const std::int32_t* order, const Rows<double>& X, const std::int32_t* label,
                 const double* w, i64 classes, bool gini, int threads) {
  std::vector<double> whole(classes);
  double total = 0;
  for (i64 i = 0; i < X.n; ++i) {
    whole[label[i]] += w[i];
    total += w[i];
  }
  std::vector<Stump> found(X.d);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (i64 k = 0; k < X.d; ++k) found[k] = stump_of(order + k * X.n, X, k, label, w, whole, total, gini);
  Stump best = found[0];
  for (const Stump& stump : found)  // of alike ones the first column
    if (stump.column >= 0 && (best.column < 0 || stump.score < best.score - kSlack * total)) best = stump;
  return best;
}

}  // namespace kg
