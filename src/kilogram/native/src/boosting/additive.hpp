// Additive boosting: trees of one feature, or of a pair of them, on cells of binned rows.
//
// A term's cells are numbered (first bin) * columns + (second bin); a feature alone has columns = 1.
// The last bin of a feature alone is that of missing values.
#pragma once
#include <cstdint>
#include <vector>

#include "boosting/boosting.hpp"

namespace kg {

using Cell = std::uint16_t;

struct AdditiveTerm {
  i64 rows, columns;  // bins of the first and of the second feature
  bool categorical;   // bins have no order
  int monotone;       // -1, 0, 1
  i64 start;          // of its cells in tables of all terms
  i64 cells() const { return rows * columns; }
};

struct AdditiveRules {
  double learning_rate, l2, min_hessian, min_rows;
  i64 max_leaves;
};

// Sums of gradients and second derivatives in a cell.
typedef double GradientPair __attribute__((vector_size(16)));

// One term's best tree on sums (cells) and numbers of rows: adds its values, times the learning
// rate, to step[c * stride]. The fall of the objective.
double grow_additive(const AdditiveTerm& term, const GradientPair* sums, const double* rows,
                     const AdditiveRules& rules, double* step, i64 stride);

// Rows by cells (terms, n), targets and raw predictions (classes, n), which each step updates.
struct AdditiveRows {
  BoostLoss loss;
  double parameter;
  const double* y;
  const double* w;  // or null
  const Cell* cells;
  double* raw;
  i64 n, classes;
};

// One round: the terms in this order, each on the gradients that the ones before have left. rows
// (cells of all terms) counts rows; steps (cells of all terms, classes) gets what was added.
void additive_round(const AdditiveRows& X, const std::vector<AdditiveTerm>& terms,
                    const std::vector<i64>& order, const double* rows, const AdditiveRules& rules,
                    double* steps, int threads);

// The fall of the objective by the best tree of each pair of columns (first, second) of bins (d, n),
// gradients g and h (n,).
void screen_pairs(const Cell* bins, const std::int32_t* counts, i64 n, const double* g, const double* h,
                  const i64* first, const i64* second, i64 pairs, const AdditiveRules& rules, double* gain,
                  int threads);

// Bins (d, n) of the columns of X; what is missing has the last one, counts[k] - 1.
template <class T>
void additive_bins(const Rows<T>& X, const double* limits, const i64* starts, const std::int32_t* counts,
                   const char* categorical, Cell* out, i64 stride, int threads);

// A fitted model: tables (cells of all terms, classes). `coarse` maps the bins of a column to those it
// has in pairs. Term t is the column first[t], or the pair of it and second[t], if that is not -1.
struct AdditiveModel {
  const double* limits;
  const i64* starts;
  const std::int32_t* counts;
  const char* categorical;
  const Cell* coarse;
  const i64* coarse_starts;
  const i64 *first, *second, *columns, *table_starts;
  const double* tables;
  i64 d, terms, classes;
};

// out (n, terms, classes) gets the contributions, or (n, classes) their sums added to it.
template <class T>
void additive_values(const AdditiveModel& model, const Rows<T>& X, double* out, bool each, int threads);

}  // namespace kg
