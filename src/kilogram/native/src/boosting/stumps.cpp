// One pass over a sorted column: rows move from the right side to the left one after another, those that
// the column does not name all at once, at 0. The error is the weight of all rows less that of the heaviest
// class of either side; the Gini impurity is least where the squared class weights of the sides, over the
// sides' weights, are largest; squares are least where the squared sums of y over the weights are.
#include "boosting/stumps.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace kg {
namespace {

constexpr double kSlack = 1e-12;  // of all weight: scores that differ by less are alike
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A cut of a column between two of its values. score = infinity: there is none.
struct Cut {
  double score = kInfinity, here = 0, next = 0;

  double threshold() const {
    const double middle = here + (next - here) / 2;
    return middle < next && middle >= here ? middle : here;
  }
};

i64 heaviest(const std::vector<double>& weights) {
  return std::max_element(weights.begin(), weights.end()) - weights.begin();
}

double sum_of(const std::vector<double>& weights) {
  double total = 0;
  for (double s : weights) total += s;
  return total;
}

// row(i) for the rows of a column in turn, zeros() for those it does not name, and cut(here, next) between
// two values.
template <class Row, class Zeros, class Between>
void move_rows(const SortedEntries& X, i64 column, const Row& row, const Zeros& zeros, const Between& cut) {
  const std::int32_t* order = X.order + X.starts[column];
  const double* value = X.values + X.starts[column];
  const i64 count = X.starts[column + 1] - X.starts[column];
  const bool absent = count < X.n;
  const i64 zero = absent ? std::lower_bound(value, value + count, 0.0) - value : count;
  const auto move = [&](i64 first, i64 last) {
    for (i64 i = first; i < last; ++i) {
      row(order[i]);
      if (i + 1 < last && value[i + 1] > value[i]) cut(value[i], value[i + 1]);
    }
  };
  move(0, zero);
  if (!absent) return;
  if (zero > 0) cut(value[zero - 1], 0.0);
  zeros();
  if (zero < count && value[zero] > 0) cut(0.0, value[zero]);
  move(zero, count);
}

struct Labelled {
  const std::int32_t* label;
  const double* w;
  const std::vector<double>& whole;  // class weights of all rows

  // Class weights of the rows that a column does not name.
  std::vector<double> zeros(const SortedEntries& X, i64 column) const {
    const i64 first = X.starts[column], last = X.starts[column + 1];
    if (last - first == X.n) return {};
    std::vector<double> left(whole);
    for (i64 i = first; i < last; ++i) left[label[X.order[i]]] -= w[X.order[i]];
    const double least = kSlack * sum_of(whole);
    for (double& s : left)
      if (s < least) s = 0;  // rounding
    return left;
  }
};

Cut least_impurity(const SortedEntries& X, i64 column, const Labelled& rows) {
  const std::vector<double>& whole = rows.whole;
  const std::vector<double> at_zero = rows.zeros(X, column);
  const double total = sum_of(whole);
  std::vector<double> left(whole.size());
  double weight = 0, squares_left = 0, squares_right = 0, bar = -kInfinity;
  for (double s : whole) squares_right += s * s;
  Cut best;
  const auto add = [&](i64 c, double w) {
    const double before = left[c];
    left[c] = before + w;
    squares_left += w * (2 * before + w);
    squares_right -= w * (2 * (whole[c] - before) - w);
    weight += w;
  };
  move_rows(
      X, column, [&](i64 row) { add(rows.label[row], rows.w[row]); },
      [&] { for (std::size_t c = 0; c < whole.size(); ++c) add(i64(c), at_zero[c]); },
      [&](double here, double next) {
        const double rest = total - weight;
        if (!(weight > 0) || !(rest > kSlack * total)) return;
        const double above = squares_left * rest + squares_right * weight, below = weight * rest;
        if (!(above > bar * below)) return;  // most cuts: no division
        best = {-above / below, here, next};
        bar = above / below + kSlack * total;
      });
  return best;
}

Cut least_error(const SortedEntries& X, i64 column, const Labelled& rows) {
  const std::vector<double>& whole = rows.whole;
  const std::vector<double> at_zero = rows.zeros(X, column);
  const double total = sum_of(whole);
  std::vector<double> left(whole.size()), right(whole);
  i64 top_left = 0, top_right = heaviest(right);
  double bar = kInfinity;
  Cut best;
  const auto add = [&](i64 c, double w) {
    left[c] += w;
    right[c] -= w;
    if (left[c] > left[top_left]) top_left = c;
    if (c == top_right) top_right = heaviest(right);
  };
  move_rows(
      X, column, [&](i64 row) { add(rows.label[row], rows.w[row]); },
      [&] { for (std::size_t c = 0; c < whole.size(); ++c) add(i64(c), at_zero[c]); },
      [&](double here, double next) {
        const double error = total - left[top_left] - right[top_right];
        if (error >= bar) return;
        best = {error, here, next};
        bar = error - kSlack * total;
      });
  return best;
}

// Sums of w and w y, y around its mean.
struct Sums {
  double w = 0, wy = 0;
  void add(const Sums& other) { w += other.w, wy += other.wy; }
};

Cut least_squares(const SortedEntries& X, i64 column, const double* y, const double* w, double slack,
                  const Sums& whole) {
  Sums left, named;
  const i64 first = X.starts[column], last = X.starts[column + 1];
  if (last - first < X.n)
    for (i64 i = first; i < last; ++i) named.add({w[X.order[i]], w[X.order[i]] * y[X.order[i]]});
  double bar = slack;  // a sum of squares that does not fall is no cut
  Cut best;
  // rows of no weight move no side: the values between which a cut lies are those of rows that have one
  double here = 0;
  bool open = false;
  const auto offer = [&](double next) {
    const Sums right{whole.w - left.w, whole.wy - left.wy};
    if (!(right.w > kSlack * whole.w)) return;
    const double fall = left.wy * left.wy / left.w + right.wy * right.wy / right.w;
    if (!(fall > bar)) return;
    best = {-fall, here, next};
    bar = fall + slack;
  };
  const auto move = [&](const Sums& own, double value) {
    if (!(own.w > 0)) return;
    if (open && value > here) offer(value);
    left.add(own);
    here = value, open = true;
  };
  const std::int32_t* order = X.order + first;
  const double* value = X.values + first;
  const i64 count = last - first, zero = count < X.n ? std::lower_bound(value, value + count, 0.0) - value : count;
  const auto one = [&](i64 i) { return Sums{w[order[i]], w[order[i]] * y[order[i]]}; };
  for (i64 i = 0; i < zero; ++i) move(one(i), value[i]);
  if (count < X.n && whole.w - named.w > kSlack * whole.w) move({whole.w - named.w, whole.wy - named.wy}, 0.0);
  for (i64 i = zero; i < count; ++i) move(one(i), value[i]);
  return best;
}

// The best of the cuts found in all columns; of alike ones that of the first column.
template <class Search> i64 best_column(i64 d, double slack, int threads, std::vector<Cut>& found, const Search& search) {
  found.resize(d);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads) if (threads > 1)
  for (i64 k = 0; k < d; ++k) found[k] = search(k);
  i64 best = -1;
  for (i64 k = 0; k < d; ++k)
    if (found[k].score < kInfinity && (best < 0 || found[k].score < found[best].score - slack)) best = k;
  return best;
}

}  // namespace

Stump best_stump(const SortedEntries& X, const std::int32_t* label, const double* w, i64 classes, bool gini,
                 int threads) {
  std::vector<double> right(classes), left(classes);
  for (i64 i = 0; i < X.n; ++i) right[label[i]] += w[i];
  const Labelled rows{label, w, right};
  std::vector<Cut> found;
  const i64 best = best_column(X.d, kSlack * sum_of(right), threads, found, [&](i64 k) {
    return gini ? least_impurity(X, k, rows) : least_error(X, k, rows);
  });
  if (best < 0) return {-1, 0, 0, 0};
  const std::vector<double> at_zero = rows.zeros(X, best);
  const double here = found[best].here;
  for (i64 i = X.starts[best]; i < X.starts[best + 1] && X.values[i] <= here; ++i) left[label[X.order[i]]] += w[X.order[i]];
  if (!at_zero.empty() && here >= 0)
    for (i64 c = 0; c < classes; ++c) left[c] += at_zero[c];
  for (i64 c = 0; c < classes; ++c) right[c] -= left[c];
  return {best, found[best].threshold(), static_cast<std::int32_t>(heaviest(left)),
          static_cast<std::int32_t>(heaviest(right))};
}

SquaresCut best_squares_cut(const SortedEntries& X, const double* y, const double* w, int threads) {
  Sums whole;
  double squares = 0;
  for (i64 i = 0; i < X.n; ++i) whole.add({w[i], w[i] * y[i]}), squares += w[i] * y[i] * y[i];
  const double slack = kSlack * squares;
  std::vector<Cut> found;
  const i64 best = best_column(X.d, slack, threads, found,
                               [&](i64 k) { return least_squares(X, k, y, w, slack, whole); });
  if (best < 0) return {-1, 0};
  return {best, found[best].threshold()};
}

}  // namespace kg
