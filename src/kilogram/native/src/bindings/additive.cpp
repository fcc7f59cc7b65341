// Bindings of additive boosting (boosting/additive.hpp).

#include <stdexcept>

#include "bindings/arrays.hpp"
#include "boosting/additive.hpp"

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

void refuse(bool wrong, const char* why) {
  if (wrong) throw std::invalid_argument(why);
}

// (terms, 4): bins of both features, whether they are categories, the sign of a monotone feature
std::vector<AdditiveTerm> terms_of(const In<i64, 2>& shapes) {
  std::vector<AdditiveTerm> terms;
  i64 start = 0;
  for (i64 t = 0; t < i64(shapes.shape(0)); ++t) {
    const i64* s = shapes.data() + 4 * t;
    refuse(s[0] < 1 || s[1] < 1 || s[0] * s[1] > (i64(1) << 16), "a term has 1 to 65 536 cells");
    terms.push_back({s[0], s[1], s[2] != 0, static_cast<int>(s[3]), start});
    start += s[0] * s[1];
  }
  return terms;
}

i64 all_cells(const std::vector<AdditiveTerm>& terms) {
  return terms.empty() ? 0 : terms.back().start + terms.back().cells();
}

void check_cells(const Cell* cells, i64 n, i64 count) {
  bool outside = false;
  for (i64 i = 0; i < n; ++i) outside |= cells[i] >= count;
  refuse(outside, "a cell that is not there");
}

// learning rate, l2, least second derivatives and rows of a leaf, most leaves
AdditiveRules rules_of(const In<double, 1>& v) {
  refuse(v.shape(0) != 5, "five rules are needed");
  return {v.data()[0], v.data()[1], v.data()[2], v.data()[3], static_cast<i64>(v.data()[4])};
}

// Cells are checked once, where a fit begins: a round reads them without looking.
class AdditiveCells {
 public:
  AdditiveCells(const In<Cell, 2>& cells, const In<i64, 2>& shapes)
      : terms(terms_of(shapes)), values(cells.data(), cells.data() + cells.size()), n(cells.shape(1)) {
    refuse(cells.shape(0) != terms.size() || n < 1 || shapes.shape(1) != 4, "cells and terms do not fit");
    for (std::size_t t = 0; t < terms.size(); ++t) check_cells(values.data() + t * n, n, terms[t].cells());
    rows.resize(all_cells(terms));
    for (std::size_t t = 0; t < terms.size(); ++t)
      for (i64 i = 0; i < n; ++i) ++rows[terms[t].start + values[t * n + i]];
  }
  std::vector<AdditiveTerm> terms;
  std::vector<Cell> values;
  std::vector<double> rows;
  i64 n;
};

template <class T> void bind_rows(nb::module_& m) {
  m.def("additive_bins", [](Strided<T> X, In<double, 1> limits, In<i64, 1> starts, In<std::int32_t, 1> counts,
                            In<std::int8_t, 1> categorical, Out<Cell, 2> out, int threads) {
    const Rows<T> x = rows_of(X);
    refuse(i64(starts.shape(0)) != x.d + 1 || i64(counts.shape(0)) != x.d || i64(categorical.shape(0)) != x.d ||
               starts.data()[x.d] != i64(limits.shape(0)) || i64(out.shape(0)) != x.d || i64(out.shape(1)) != x.n,
           "bins do not fit X");
    Release release;
    additive_bins(x, limits.data(), starts.data(), counts.data(),
                  reinterpret_cast<const char*>(categorical.data()), out.data(), x.n, threads);
  }, "X"_a.noconvert(), "limits"_a.noconvert(), "starts"_a.noconvert(), "counts"_a.noconvert(),
     "categorical"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
  m.def("additive_values", [](Strided<T> X, In<double, 1> limits, In<i64, 1> starts, In<std::int32_t, 1> counts,
                              In<std::int8_t, 1> categorical, In<Cell, 1> coarse, In<i64, 1> coarse_starts,
                              In<i64, 2> terms, In<double, 2> tables, bool each, Out<double, 3> out, int threads) {
    const Rows<T> x = rows_of(X);
    const i64 t = terms.shape(1), K = tables.shape(1);
    refuse(i64(starts.shape(0)) != x.d + 1 || i64(counts.shape(0)) != x.d || i64(categorical.shape(0)) != x.d ||
               i64(coarse_starts.shape(0)) != x.d + 1 || coarse_starts.data()[x.d] != i64(coarse.shape(0)) ||
               terms.shape(0) != 4 || i64(out.shape(0)) != x.n || i64(out.shape(1)) != (each ? t : 1) ||
               i64(out.shape(2)) != K,
           "the model does not fit X");
    const i64* v = terms.data();
    Release release;
    additive_values({limits.data(), starts.data(), counts.data(),
                     reinterpret_cast<const char*>(categorical.data()), coarse.data(), coarse_starts.data(), v,
                     v + t, v + 2 * t, v + 3 * t, tables.data(), x.d, t, K},
                    x, out.data(), each, threads);
  }, "X"_a.noconvert(), "limits"_a.noconvert(), "starts"_a.noconvert(), "counts"_a.noconvert(),
     "categorical"_a.noconvert(), "coarse"_a.noconvert(), "coarse_starts"_a.noconvert(), "terms"_a.noconvert(),
     "tables"_a.noconvert(), "each"_a, "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_additive(nb::module_& m) {
  bind_rows<float>(m);
  bind_rows<double>(m);
  nb::class_<AdditiveCells>(m, "AdditiveCells")
      .def(nb::init<const In<Cell, 2>&, const In<i64, 2>&>(), "cells"_a.noconvert(), "shapes"_a.noconvert())
      .def("round", [](const AdditiveCells& self, int loss, double parameter, In<double, 1> y, In<double, 1> w,
                       In<i64, 1> order, In<double, 1> rules, Out<double, 2> raw, Out<double, 2> steps,
                       int threads) {
        refuse(loss < 0 || loss > 7 || i64(y.shape(0)) != self.n || i64(raw.shape(1)) != self.n ||
                   (w.shape(0) && i64(w.shape(0)) != self.n) || i64(steps.shape(0)) != all_cells(self.terms) ||
                   steps.shape(1) != raw.shape(0),
               "targets, raw predictions and steps do not fit the cells");
        const std::vector<i64> terms(order.data(), order.data() + order.shape(0));
        for (i64 t : terms) refuse(t < 0 || t >= i64(self.terms.size()), "a term that is not there");
        const AdditiveRules r = rules_of(rules);
        const AdditiveRows rows{BoostLoss(loss), parameter, y.data(), w.shape(0) ? w.data() : nullptr,
                                self.values.data(), raw.data(), self.n, i64(raw.shape(0))};
        double* out = steps.data();
        Release release;
        additive_round(rows, self.terms, terms, self.rows.data(), r, out, threads);
      }, "loss"_a, "parameter"_a, "y"_a.noconvert(), "w"_a.noconvert(), "order"_a.noconvert(),
         "rules"_a.noconvert(), "raw"_a.noconvert(), "steps"_a.noconvert(), "threads"_a)
      // out (classes, n) += tables (cells of all terms, classes) at the cells of the rows
      .def("add", [](const AdditiveCells& self, In<double, 2> tables, Out<double, 2> out) {
        const i64 K = tables.shape(1);
        refuse(i64(tables.shape(0)) != all_cells(self.terms) || i64(out.shape(0)) != K ||
                   i64(out.shape(1)) != self.n,
               "tables do not fit the cells");
        Release release;
        for (std::size_t t = 0; t < self.terms.size(); ++t)
          for (i64 k = 0; k < K; ++k)
            for (i64 i = 0; i < self.n; ++i)
              out.data()[k * self.n + i] +=
                  tables.data()[(self.terms[t].start + self.values[t * self.n + i]) * K + k];
      }, "tables"_a.noconvert(), "out"_a.noconvert())
      .def("rows", [](const AdditiveCells& self, Out<double, 1> out) {
        refuse(i64(out.shape(0)) != i64(self.rows.size()), "out does not fit the cells");
        std::copy(self.rows.begin(), self.rows.end(), out.data());
      }, "out"_a.noconvert());
  m.def("screen_pairs", [](In<Cell, 2> bins, In<std::int32_t, 1> counts, In<double, 1> g, In<double, 1> h,
                           In<i64, 2> pairs, In<double, 1> rules, Out<double, 1> gain, int threads) {
    const i64 d = bins.shape(0), n = bins.shape(1), p = pairs.shape(1);
    refuse(i64(counts.shape(0)) != d || i64(g.shape(0)) != n || i64(h.shape(0)) != n || pairs.shape(0) != 2 ||
               i64(gain.shape(0)) != p,
           "gradients and pairs do not fit the bins");
    for (i64 k = 0; k < d; ++k) check_cells(bins.data() + k * n, n, counts.data()[k]);
    for (i64 i = 0; i < 2 * p; ++i) refuse(pairs.data()[i] < 0 || pairs.data()[i] >= d, "a column that is not there");
    const AdditiveRules r = rules_of(rules);
    Release release;
    screen_pairs(bins.data(), counts.data(), n, g.data(), h.data(), pairs.data(), pairs.data() + p, p, r,
                 gain.data(), threads);
  }, "bins"_a.noconvert(), "counts"_a.noconvert(), "g"_a.noconvert(), "h"_a.noconvert(), "pairs"_a.noconvert(),
     "rules"_a.noconvert(), "gain"_a.noconvert(), "threads"_a);
}

}  // namespace kg
