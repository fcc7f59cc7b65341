// Bindings of gradient boosting (boosting/).

#include <cstring>
#include <stdexcept>

#include "bindings/arrays.hpp"
#include "boosting/grower.hpp"
#include "boosting/stumps.hpp"

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

void refuse(bool wrong, const char* why) {
  if (wrong) throw std::invalid_argument(why);
}

SortedEntries entries(const In<std::int64_t, 1>& starts, const In<std::int32_t, 1>& order,
                      const In<double, 1>& values, i64 n) {
  const i64 d = i64(starts.shape(0)) - 1, count = values.shape(0);
  refuse(n < 1 || d < 1 || i64(order.shape(0)) != count || starts.data()[0] != 0 || starts.data()[d] != count,
         "columns, values and rows do not fit together");
  for (i64 k = 0; k < d; ++k) {
    const i64 size = starts.data()[k + 1] - starts.data()[k];
    refuse(size < 0 || size > n, "a column has more entries than there are rows");
  }
  return {n, d, starts.data(), order.data(), values.data()};
}

template <class T> std::vector<T> copy_of(const In<T, 1>& a) {
  return {a.data(), a.data() + a.shape(0)};
}

// A NumPy array (rows, bytes of a row) with the memory of a vector.
template <class T> nb::object bytes_of(const std::vector<T>& values) {
  auto* kept = new std::uint8_t[values.size() * sizeof(T) + 1];
  std::memcpy(kept, values.data(), values.size() * sizeof(T));
  nb::capsule owner(kept, [](void* p) noexcept { delete[] static_cast<std::uint8_t*>(p); });
  return nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<2>>(kept, {values.size(), sizeof(T)}, owner)
      .cast();
}

template <class T>
BoostGrower* make_grower(const Strided<T>& X, const In<double, 1>& limits, const In<i64, 1>& starts,
                         const In<std::int32_t, 1>& bins, const In<std::int8_t, 1>& categorical,
                         const In<std::int8_t, 1>& monotone, const In<i64, 1>& group_starts,
                         const In<i64, 1>& group_columns, int threads) {
  const i64 n = X.shape(0), d = X.shape(1);
  refuse(n < 1 || n >= (i64(1) << 28) || d < 1, "boosting takes between 1 and 2^28 rows");
  refuse(i64(starts.shape(0)) != d + 1 || i64(bins.shape(0)) != d ||
             i64(categorical.shape(0)) != d || i64(monotone.shape(0)) != d ||
             starts.data()[d] != i64(limits.shape(0)) || group_starts.shape(0) < 1,
         "bins and constraints do not fit X");
  std::vector<std::vector<i64>> groups;
  for (i64 g = 0; g + 1 < i64(group_starts.shape(0)); ++g) {
    groups.emplace_back(group_columns.data() + group_starts.data()[g],
                        group_columns.data() + group_starts.data()[g + 1]);
    for (i64 k : groups.back()) refuse(k < 0 || k >= d, "a column that is not there");
  }
  BinnedRows rows{n, d, {}, {}, copy_of(bins), {}};
  for (i64 k = 0; k < d; ++k) {
    refuse(bins.data()[k] < 1 || bins.data()[k] >= kBins, "a column has 1 to 255 bins");
    rows.categorical.push_back(categorical.data()[k] != 0);
  }
  std::vector<double> edges = copy_of(limits);
  std::vector<i64> begins = copy_of(starts);
  std::vector<std::int8_t> signs = copy_of(monotone);
  const Rows<T> values = rows_of(X);
  Release release;
  rows.by_row.resize(n * d);
  rows.by_column.resize(n * d);
  map_to_bins(values, edges.data(), begins.data(), rows, threads);
  return new BoostGrower(std::move(rows), std::move(edges), std::move(begins), std::move(signs),
                         std::move(groups));
}

template <class T> void bind_rows(nb::module_& m, nb::class_<BoostGrower>& grower) {
  grower.def("__init__", [](BoostGrower* self, Strided<T> X, In<double, 1> limits, In<i64, 1> starts,
                            In<std::int32_t, 1> bins, In<std::int8_t, 1> categorical,
                            In<std::int8_t, 1> monotone, In<i64, 1> group_starts,
                            In<i64, 1> group_columns, int threads) {
    const std::unique_ptr<BoostGrower> made(make_grower(
        X, limits, starts, bins, categorical, monotone, group_starts, group_columns, threads));
    new (self) BoostGrower(std::move(*made));
  }, "X"_a.noconvert(), "limits"_a.noconvert(), "starts"_a.noconvert(), "bins"_a.noconvert(),
     "categorical"_a.noconvert(), "monotone"_a.noconvert(), "group_starts"_a.noconvert(),
     "group_columns"_a.noconvert(), "threads"_a);
  m.def("bin_limits", [](Strided<T> X, i64 max_bins, Out<double, 2> limits, Out<i64, 1> counts,
                         int threads) {
    const Rows<T> x = rows_of(X);
    refuse(max_bins < 2 || i64(limits.shape(0)) != x.d ||
               i64(limits.shape(1)) < max_bins - 1 || i64(counts.shape(0)) != x.d,
           "limits and counts do not fit X");
    const i64 width = limits.shape(1);
    double* out = limits.data();
    i64* count = counts.data();
    Release release;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (i64 k = 0; k < x.d; ++k) {
      std::vector<double> values;
      values.reserve(x.n);
      for (i64 i = 0; i < x.n; ++i)
        if (const double v = *x.at(i, k); !std::isnan(v)) values.push_back(v);
      const std::vector<double> found = bin_limits(values, max_bins);
      std::copy(found.begin(), found.end(), out + k * width);
      count[k] = static_cast<i64>(found.size());
    }
  }, "X"_a.noconvert(), "max_bins"_a, "limits"_a.noconvert(), "counts"_a.noconvert(), "threads"_a);
  m.def("add_trees", [](In<std::uint8_t, 2> nodes, In<std::uint8_t, 2> sets, In<i64, 1> roots,
                        In<std::int32_t, 1> depths, i64 first, i64 last, Strided<T> X,
                        Out<double, 2> out, int threads) {
    refuse(nodes.shape(1) != sizeof(BoostNode) || sets.shape(1) != sizeof(CategorySet) ||
               depths.shape(0) != roots.shape(0) || first < 0 || last > i64(roots.shape(0)) ||
               out.shape(0) != X.shape(0) || out.shape(1) < 1,
           "nodes, rows and out do not fit together");
    const Rows<T> x = rows_of(X);
    Release release;
    add_trees(reinterpret_cast<const BoostNode*>(nodes.data()),
              sets.shape(0) ? reinterpret_cast<const CategorySet*>(sets.data()) : nullptr,
              roots.data(), depths.data(), first, last, x, out.data(), i64(out.shape(1)), threads);
  }, "nodes"_a.noconvert(), "sets"_a.noconvert(), "roots"_a.noconvert(), "depths"_a.noconvert(),
     "first"_a, "last"_a, "X"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_boosting(nb::module_& m) {
  nb::class_<BoostGrower> grower(m, "BoostGrower");
  bind_rows<float>(m, grower);
  bind_rows<double>(m, grower);
  grower.def("grow", [](BoostGrower& self, In<double, 1> g, In<double, 1> h, In<i64, 1> counts,
                        In<double, 1> numbers, std::uint64_t seed, int threads) {
    refuse(i64(g.shape(0)) != self.rows().n || i64(h.shape(0)) != self.rows().n ||
               counts.shape(0) != 3 || numbers.shape(0) != 4,
           "gradients and rules do not fit");
    const i64* c = counts.data();
    const double* v = numbers.data();
    Release release;
    self.grow(g.data(), h.data(), {c[0], c[1], c[2], v[0], v[1], v[2], v[3], seed}, threads);
  }, "g"_a.noconvert(), "h"_a.noconvert(), "counts"_a.noconvert(), "numbers"_a.noconvert(), "seed"_a,
     "threads"_a);
  grower.def("line_search", [](BoostGrower& self, In<double, 1> residual, In<double, 1> w, double q,
                               int threads) {
    refuse(i64(residual.shape(0)) != self.rows().n ||
               (w.shape(0) && i64(w.shape(0)) != self.rows().n),
           "residuals and weights do not fit");
    Release release;
    self.line_search(residual.data(), w.shape(0) ? w.data() : nullptr, q, threads);
  }, "residual"_a.noconvert(), "w"_a.noconvert(), "q"_a, "threads"_a);
  grower.def("add_values", [](const BoostGrower& self, Out<double, 1> raw, int threads) {
    refuse(i64(raw.shape(0)) != self.rows().n, "raw predictions do not fit");
    Release release;
    self.add_values(raw.data(), threads);
  }, "raw"_a.noconvert(), "threads"_a);
  // nodes and category sets as bytes; gains and rows of the nodes; the depth
  grower.def("tree", [](const BoostGrower& self) {
    const GrownTree& tree = self.tree();
    return nb::make_tuple(bytes_of(tree.nodes), bytes_of(tree.sets), bytes_of(tree.gain),
                          bytes_of(tree.samples), tree.depth);
  });
  m.def("best_stump", [](In<std::int64_t, 1> starts, In<std::int32_t, 1> order, In<double, 1> values,
                         In<std::int32_t, 1> label, In<double, 1> w, i64 classes, bool gini, int threads) {
    const i64 n = label.shape(0);
    const SortedEntries X = entries(starts, order, values, n);
    refuse(i64(w.shape(0)) != n || classes < 1, "labels and weights do not fit together");
    for (i64 i = 0; i < n; ++i)
      refuse(label.data()[i] < 0 || label.data()[i] >= classes, "a class that is not there");
    Stump stump;
    {
      Release release;
      stump = best_stump(X, label.data(), w.data(), classes, gini, threads);
    }
    return nb::make_tuple(stump.column, stump.threshold, stump.left, stump.right);
  }, "starts"_a.noconvert(), "order"_a.noconvert(), "values"_a.noconvert(), "label"_a.noconvert(),
     "w"_a.noconvert(), "classes"_a, "gini"_a, "threads"_a);
  m.def("best_squares_cut", [](In<std::int64_t, 1> starts, In<std::int32_t, 1> order, In<double, 1> values,
                               In<double, 1> y, In<double, 1> w, int threads) {
    const SortedEntries X = entries(starts, order, values, y.shape(0));
    refuse(w.shape(0) != y.shape(0), "numbers and weights do not fit together");
    SquaresCut cut;
    {
      Release release;
      cut = best_squares_cut(X, y.data(), w.data(), threads);
    }
    return nb::make_tuple(cut.column, cut.threshold);
  }, "starts"_a.noconvert(), "order"_a.noconvert(), "values"_a.noconvert(), "y"_a.noconvert(),
     "w"_a.noconvert(), "threads"_a);
  m.def("boost_gradients", [](int loss, double parameter, In<double, 1> y, In<double, 1> w,
                              In<double, 2> raw, Out<double, 2> g, Out<double, 2> h, int threads) {
    const i64 n = raw.shape(1), classes = raw.shape(0);
    refuse(loss < 0 || loss > 7 || i64(y.shape(0)) != n || (w.shape(0) && i64(w.shape(0)) != n) ||
               i64(g.shape(0)) != classes || i64(g.shape(1)) != n || i64(h.shape(0)) != classes ||
               i64(h.shape(1)) != n,
           "targets and gradients do not fit");
    Release release;
    boost_gradients(BoostLoss(loss), parameter, y.data(), w.shape(0) ? w.data() : nullptr, raw.data(),
                    n, classes, g.data(), h.data(), threads);
  }, "loss"_a, "parameter"_a, "y"_a.noconvert(), "w"_a.noconvert(), "raw"_a.noconvert(),
     "g"_a.noconvert(), "h"_a.noconvert(), "threads"_a);
}

}  // namespace kg
