// The rounds of additive boosting. A step of a term is one pass over the rows: the step before is
// added to the raw predictions, then gradients are made and summed by cell, all while a few hundred
// rows are in cache. Rows are cut into slices whose number depends on nothing but n, and sums are
// added slice by slice, so that the result is the same for any number of threads.
#include "boosting/additive.hpp"

#include <algorithm>
#include <cmath>

#include "common/interrupt.hpp"

namespace kg {
namespace {

constexpr i64 kChunk = 512;            // rows in cache
constexpr i64 kSliceRows = 1 << 14;    // the fewest rows of a slice
constexpr i64 kSlices = 16;            // the most slices
constexpr double kAlike = 1 + 1e-10;   // a cut must gain this factor more than one before it

struct Sum {
  double g = 0, h = 0, rows = 0;
  void add(const GradientPair& p, double m) { g += p[0], h += p[1], rows += m; }
  Sum operator-(const Sum& o) const { return {g - o.g, h - o.h, rows - o.rows}; }
};

double gain_of(const Sum& s, double l2) { return s.h + l2 > 0 ? s.g * s.g / (s.h + l2) : 0; }
double value_of(const Sum& s, double l2) { return s.h + l2 > 0 ? -s.g / (s.h + l2) : 0; }

bool is_leaf_enough(const Sum& s, const AdditiveRules& rules) {
  return s.rows >= rules.min_rows && s.h >= rules.min_hessian;
}

// Places begin .. end - 1 of the order of bins, and the best place to cut them: before `cut`.
struct Leaf {
  i64 begin, end, cut = -1;
  Sum sum;
  double gain = 0, low, high;  // bounds of the value
};

// Trees of a feature alone: bins in order, or by their mean gradient, are cut into a few leaves.
class Line {
 public:
  Line(const AdditiveTerm& term, const GradientPair* sums, const double* rows, const AdditiveRules& rules)
      : term_(term), rules_(rules), at_(term.rows - 1), before_(term.rows) {
    for (i64 b = 0; b + 1 < term.rows; ++b) at_[b] = b;
    if (term.categorical) {  // of bins with less curvature than the rest the mean is drawn to 0
      const auto mean = [&](i64 b) { return sums[b][0] / (sums[b][1] + rules.l2 + rules.min_hessian); };
      std::stable_sort(at_.begin(), at_.end(), [&](i64 a, i64 b) { return mean(a) < mean(b); });
    }
    for (i64 p = 0; p + 1 < term.rows; ++p) {
      before_[p + 1] = before_[p];
      before_[p + 1].add(sums[at_[p]], rows[at_[p]]);
    }
  }

  double grow(double* step, i64 stride) {
    std::vector<Leaf> leaves{leaf(0, term_.rows - 1, -kInfinity, kInfinity)};
    double gained = 0;
    while (static_cast<i64>(leaves.size()) < rules_.max_leaves) {
      auto best = std::max_element(leaves.begin(), leaves.end(),
                                   [](const Leaf& a, const Leaf& b) { return a.gain < b.gain; });
      if (best->cut < 0) break;
      const Leaf parent = *best;
      gained += parent.gain;
      Leaf left = parent, right = parent;  // for their bounds
      if (term_.monotone) {
        const double middle = (value(parent.begin, parent.cut, parent) + value(parent.cut, parent.end, parent)) / 2;
        (term_.monotone > 0 ? left.high : left.low) = middle;
        (term_.monotone > 0 ? right.low : right.high) = middle;
      }
      *best = leaf(parent.begin, parent.cut, left.low, left.high);
      leaves.push_back(leaf(parent.cut, parent.end, right.low, right.high));
    }
    if (leaves.size() == 1) return 0;
    for (const Leaf& l : leaves)
      for (i64 p = l.begin; p < l.end; ++p)
        step[at_[p] * stride] += rules_.learning_rate * value(l.begin, l.end, l);
    return gained;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  Sum between(i64 begin, i64 end) const { return before_[end] - before_[begin]; }
  double value(i64 begin, i64 end, const Leaf& bounds) const {
    return std::clamp(value_of(between(begin, end), rules_.l2), bounds.low, bounds.high);
  }

  Leaf leaf(i64 begin, i64 end, double low, double high) const {
    Leaf l{begin, end, -1, between(begin, end), 0, low, high};
    const double own = gain_of(l.sum, rules_.l2);
    double best = own * kAlike;
    for (i64 c = begin + 1; c < end; ++c) {
      const Sum left = between(begin, c), right = between(c, end);
      if (!is_leaf_enough(left, rules_) || !is_leaf_enough(right, rules_)) continue;
      const double gain = gain_of(left, rules_.l2) + gain_of(right, rules_.l2);
      if (!(gain > best)) continue;
      if (term_.monotone) {
        const double a = value(begin, c, l), b = value(c, end, l);
        if (term_.monotone * (b - a) < 0) continue;
      }
      best = gain * kAlike;
      l.cut = c;
      l.gain = gain - own;
    }
    return l;
  }

  const AdditiveTerm& term_;
  const AdditiveRules& rules_;
  std::vector<i64> at_;       // bin at every place
  std::vector<Sum> before_;  // sums of the bins before a place
};

// Trees of a pair: one cut of the first feature (or of the second), then one of the other on each
// side. sums are cumulative: what lies before row r and column c is at (r, c).
class Plane {
 public:
  Plane(const AdditiveTerm& term, const GradientPair* sums, const double* rows, const AdditiveRules& rules)
      : R_(term.rows), C_(term.columns), rules_(rules), before_((R_ + 1) * (C_ + 1)) {
    for (i64 r = 0; r < R_; ++r) {
      Sum line;
      for (i64 c = 0; c < C_; ++c) {
        line.add(sums[r * C_ + c], rows[r * C_ + c]);
        const Sum& above = at(r, c + 1);
        at(r + 1, c + 1) = {above.g + line.g, above.h + line.h, above.rows + line.rows};
      }
    }
  }

  double grow(double* step, i64 stride) {
    const double own = gain_of(at(R_, C_), rules_.l2);
    Tree best;
    best.gain = own * kAlike;
    for (bool across : {false, true}) {
      const i64 most = across ? C_ : R_;
      for (i64 a = 1; a < most; ++a) {
        const Side low = side(across, 0, a), high = side(across, a, most);
        if (low.gain + high.gain > best.gain) best = {across, a, low.cut, high.cut, (low.gain + high.gain) * kAlike};
      }
    }
    if (best.cut < 0) return 0;
    if (step) write(best, step, stride);
    return best.gain / kAlike - own;
  }

 private:
  struct Side {
    double gain = -std::numeric_limits<double>::infinity();
    i64 cut = 0;  // 0: none
  };
  struct Tree {
    bool across = false;
    i64 cut = -1, low = 0, high = 0;
    double gain = 0;
  };

  Sum& at(i64 r, i64 c) { return before_[r * (C_ + 1) + c]; }
  const Sum& at(i64 r, i64 c) const { return before_[r * (C_ + 1) + c]; }
  // the cells of rows a .. b - 1 and columns p .. q - 1; `across` exchanges rows and columns
  Sum block(bool across, i64 a, i64 b, i64 p, i64 q) const {
    if (across) std::swap(a, p), std::swap(b, q);
    const Sum upper = at(b, q) - at(a, q), lower = at(b, p) - at(a, p);
    return upper - lower;
  }

  Side side(bool across, i64 a, i64 b) const {
    const i64 most = across ? R_ : C_;
    Side best;
    const Sum all = block(across, a, b, 0, most);
    if (!is_leaf_enough(all, rules_)) return best;
    best.gain = gain_of(all, rules_.l2);
    double bar = best.gain * kAlike;
    for (i64 c = 1; c < most; ++c) {
      const Sum left = block(across, a, b, 0, c), right = all - left;
      if (!is_leaf_enough(left, rules_) || !is_leaf_enough(right, rules_)) continue;
      const double gain = gain_of(left, rules_.l2) + gain_of(right, rules_.l2);
      if (gain > bar) best = {gain, c}, bar = gain * kAlike;
    }
    return best;
  }

  void write(const Tree& t, double* step, i64 stride) const {
    const i64 lines = t.across ? C_ : R_, most = t.across ? R_ : C_;
    const auto fill = [&](i64 a, i64 b, i64 p, i64 q) {
      if (p == q) return;  // this side is not cut
      const double value = rules_.learning_rate * value_of(block(t.across, a, b, p, q), rules_.l2);
      for (i64 i = a; i < b; ++i)
        for (i64 j = p; j < q; ++j) step[(t.across ? j * C_ + i : i * C_ + j) * stride] += value;
    };
    fill(0, t.cut, 0, t.low);
    fill(0, t.cut, t.low, most);
    fill(t.cut, lines, 0, t.high);
    fill(t.cut, lines, t.high, most);
  }

  i64 R_, C_;
  const AdditiveRules& rules_;
  std::vector<Sum> before_;
};

// Adds step (cells, classes) of a term to the raw predictions of rows first .. last - 1.
void add_step(const AdditiveRows& X, const Cell* cells, const double* step, i64 first, i64 last) {
  for (i64 k = 0; k < X.classes; ++k) {
    double* raw = X.raw + k * X.n;
    for (i64 i = first; i < last; ++i) raw[i] += step[cells[i] * X.classes + k];
  }
}

// Sums of gradients by cell and class, of the rows of one slice. Neighbouring rows go to two tables:
// a row need not wait for the sum of the one before where both are in one cell.
void sum_slice(const AdditiveRows& X, const AdditiveTerm& term, const Cell* cells, const Cell* last_cells,
               const double* last_step, i64 first, i64 last, GradientPair* sums) {
  const i64 K = X.classes, cells_all = term.cells() * K;
  std::vector<GradientPair> odd(cells_all);
  std::vector<double> g(kChunk * K), h(kChunk * K);
  std::fill_n(sums, cells_all, GradientPair{});
  for (i64 begin = first; begin < last; begin += kChunk) {
    const i64 m = std::min(kChunk, last - begin);
    if (last_step) add_step(X, last_cells, last_step, begin, begin + m);
    chunk_gradients({X.loss, X.parameter, X.y + begin, X.w ? X.w + begin : nullptr, X.raw + begin, m, X.n, K,
                     g.data(), h.data(), kChunk});
    const Cell* cell = cells + begin;
    for (i64 k = 0; k < K; ++k) {
      const double *gk = g.data() + k * kChunk, *hk = h.data() + k * kChunk;
      i64 i = 0;
      for (; i + 2 <= m; i += 2) {
        sums[cell[i] * K + k] += GradientPair{gk[i], hk[i]};
        odd[cell[i + 1] * K + k] += GradientPair{gk[i + 1], hk[i + 1]};
      }
      if (i < m) sums[cell[i] * K + k] += GradientPair{gk[i], hk[i]};
    }
  }
  for (i64 c = 0; c < cells_all; ++c) sums[c] += odd[c];
}

}  // namespace

double grow_additive(const AdditiveTerm& term, const GradientPair* sums, const double* rows,
                     const AdditiveRules& rules, double* step, i64 stride) {
  if (term.columns > 1) return Plane(term, sums, rows, rules).grow(step, stride);
  const double gain = Line(term, sums, rows, rules).grow(step, stride);
  const i64 missing = term.rows - 1;  // a leaf of its own, if it is not all there is
  if (std::all_of(rows, rows + missing, [](double m) { return m == 0; })) return gain;
  const Sum without{sums[missing][0], sums[missing][1], rows[missing]};
  if (is_leaf_enough(without, rules)) step[missing * stride] += rules.learning_rate * value_of(without, rules.l2);
  return gain;
}

void additive_round(const AdditiveRows& X, const std::vector<AdditiveTerm>& terms,
                    const std::vector<i64>& order, const double* rows, const AdditiveRules& rules,
                    double* steps, int threads) {
  const i64 K = X.classes, slices = std::clamp<i64>(X.n / kSliceRows, 1, kSlices);
  i64 widest = 0;
  for (const AdditiveTerm& t : terms) widest = std::max(widest, t.cells() * K);
  std::vector<GradientPair> sums(slices * widest), one(widest);
  const auto begin_of = [&](i64 s) { return X.n * s / slices; };
  const Cell* last_cells = nullptr;
  const double* last_step = nullptr;
  for (i64 t : order) {
    const AdditiveTerm& term = terms[t];
    const Cell* cells = X.cells + t * X.n;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && slices > 1)
    for (i64 s = 0; s < slices; ++s)
      sum_slice(X, term, cells, last_cells, last_step, begin_of(s), begin_of(s + 1), sums.data() + s * widest);
    double* step = steps + term.start * K;
    for (i64 k = 0; k < K; ++k) {
      for (i64 c = 0; c < term.cells(); ++c) {
        GradientPair total{};
        for (i64 s = 0; s < slices; ++s) total += sums[s * widest + c * K + k];
        one[c] = total;
      }
      grow_additive(term, one.data(), rows + term.start, rules, step + k, K);
    }
    last_cells = cells;
    last_step = step;
  }
  if (!last_step) return;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && slices > 1)
  for (i64 s = 0; s < slices; ++s) add_step(X, last_cells, last_step, begin_of(s), begin_of(s + 1));
}

void screen_pairs(const Cell* bins, const std::int32_t* counts, i64 n, const double* g, const double* h,
                  const i64* first, const i64* second, i64 pairs, const AdditiveRules& rules, double* gain,
                  int threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (i64 p = 0; p < pairs; ++p) {
    const Cell *a = bins + first[p] * n, *b = bins + second[p] * n;
    const AdditiveTerm term{counts[first[p]], counts[second[p]], false, 0, 0};
    std::vector<GradientPair> sums(term.cells());
    std::vector<double> rows(term.cells());
    for (i64 i = 0; i < n; ++i) {
      const i64 cell = a[i] * term.columns + b[i];
      sums[cell] += GradientPair{g[i], h[i]};
      ++rows[cell];
    }
    gain[p] = Plane(term, sums.data(), rows.data(), rules).grow(nullptr, 1);
  }
}

template <class T>
void additive_bins(const Rows<T>& X, const double* limits, const i64* starts, const std::int32_t* counts,
                   const char* categorical, Cell* out, i64 stride, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (i64 first = 0; first < X.n; first += kChunk) {
    const i64 last = std::min(first + kChunk, X.n);
    for (i64 k = 0; k < X.d; ++k) {
      const double* limit = limits + starts[k];
      const i64 count = starts[k + 1] - starts[k], missing = counts[k] - 1;
      for (i64 i = first; i < last; ++i) {
        const double x = *X.at(i, k);
        i64 b = missing;
        if (categorical[k]) b = x >= 0 && x < static_cast<double>(missing) ? static_cast<i64>(x) : missing;
        else if (!std::isnan(x)) b = bin_of(x, limit, count);
        out[k * stride + i] = static_cast<Cell>(b);
      }
    }
  }
}

template <class T>
void additive_values(const AdditiveModel& m, const Rows<T>& X, double* out, bool each, int threads) {
  const i64 K = m.classes;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    std::vector<Cell> bins(m.d * kChunk);
#pragma omp for schedule(static)
    for (i64 first = 0; first < X.n; first += kChunk) {
      const i64 rows = std::min(kChunk, X.n - first);
      const Rows<T> part{X.at(first, 0), rows, X.d, X.rs, X.cs};
      additive_bins(part, m.limits, m.starts, m.counts, m.categorical, bins.data(), kChunk, 1);
      for (i64 t = 0; t < m.terms; ++t) {
        const double* table = m.tables + m.table_starts[t] * K;
        const Cell* a = bins.data() + m.first[t] * kChunk;
        const Cell* b = m.second[t] < 0 ? nullptr : bins.data() + m.second[t] * kChunk;
        const Cell* to_a = m.coarse + m.coarse_starts[m.first[t]];
        const Cell* to_b = b ? m.coarse + m.coarse_starts[m.second[t]] : nullptr;
        double* to = each ? out + (first * m.terms + t) * K : out + first * K;
        const i64 width = each ? m.terms * K : K;
        for (i64 i = 0; i < rows; ++i) {
          const i64 cell = b ? to_a[a[i]] * m.columns[t] + to_b[b[i]] : a[i];
          for (i64 k = 0; k < K; ++k) {
            if (each) to[i * width + k] = table[cell * K + k];
            else to[i * width + k] += table[cell * K + k];
          }
        }
      }
    }
  }
}

#define KG_ADDITIVE(T)                                                                                    \
  template void additive_bins(const Rows<T>&, const double*, const i64*, const std::int32_t*, const char*, \
                              Cell*, i64, int);                                                           \
  template void additive_values(const AdditiveModel&, const Rows<T>&, double*, bool, int);
KG_ADDITIVE(float)
KG_ADDITIVE(double)
#undef KG_ADDITIVE

}  // namespace kg
