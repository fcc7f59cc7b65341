// Bindings of decision trees (trees/trees.cpp).
#include "trees/trees.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace kg {
namespace {

template <class T, int k> using In = nb::ndarray<const T, nb::ndim<k>, nb::c_contig, nb::device::cpu>;
template <class T, int k> using Out = nb::ndarray<T, nb::ndim<k>, nb::c_contig, nb::device::cpu>;
using Release = nb::gil_scoped_release;

void refuse(bool wrong, const char* why) {
  if (wrong) throw std::invalid_argument(why);
}

TreeTable table_of(const In<std::int32_t, 2>& links, const In<double, 1>& threshold,
                   const In<i64, 1>& roots, i64 columns) {
  const i64 nodes = links.shape(1);
  refuse(links.shape(0) != 3 || i64(threshold.shape(0)) != nodes, "links and thresholds differ");
  const std::int32_t* f = links.data();
  for (i64 i = 0; i < nodes; ++i) {
    refuse(f[i] >= columns, "a node asks for a column that is not there");
    if (f[i] >= 0)
      refuse(f[i + nodes] <= i || f[i + nodes] >= nodes || f[i + 2 * nodes] <= i ||
                 f[i + 2 * nodes] >= nodes,
             "children must come after their parent");
  }
  for (i64 t = 0; t < i64(roots.shape(0)); ++t)
    refuse(roots.data()[t] < 0 || roots.data()[t] >= nodes, "a root is no node");
  return {f, f + nodes, f + 2 * nodes, threshold.data(), roots.data(), i64(roots.shape(0))};
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("code_columns", [](In<double, 2> X, Out<std::uint32_t, 2> codes, Out<double, 2> values,
                           Out<i64, 1> counts, int threads) {
    const i64 n = X.shape(0), d = X.shape(1);
    refuse(i64(codes.shape(0)) != d || i64(codes.shape(1)) != n || i64(values.shape(0)) != d ||
               i64(values.shape(1)) != n || i64(counts.shape(0)) != d || n < 1,
           "codes, values and counts do not fit X");
    Release release;
    code_columns({X.data(), n, d, d, 1}, codes.data(), values.data(), counts.data(), threads);
  }, "X"_a.noconvert(), "codes"_a.noconvert(), "values"_a.noconvert(), "counts"_a.noconvert(),
     "threads"_a);
  m.def("grow_tree", [](In<std::uint32_t, 2> codes, In<double, 1> values, In<i64, 1> starts,
                        In<double, 1> y, In<std::int32_t, 1> label, i64 classes, In<double, 1> w,
                        Out<std::int32_t, 1> rows, int criterion, In<i64, 1> limits,
                        In<double, 1> weights, std::uint64_t seed, In<std::int32_t, 1> stop,
                        Out<std::int32_t, 2> links,
                        Out<double, 2> numbers, Out<double, 2> value) {
    const i64 d = codes.shape(0), n = codes.shape(1), room = links.shape(1);
    refuse(i64(starts.shape(0)) != d + 1 || i64(w.shape(0)) != n || limits.shape(0) != 5 ||
               weights.shape(0) != 3 || links.shape(0) != 3 || numbers.shape(0) != 4 ||
               stop.shape(0) != 1 ||
               i64(numbers.shape(1)) != room || i64(value.shape(0)) != room || room < 1 ||
               criterion < 0 || criterion > 2 || (criterion == 0) != (classes == 0) ||
               i64(value.shape(1)) != (classes ? classes : 1) || rows.shape(0) < 1,
           "columns, target and nodes do not fit together");
    refuse(i64((classes ? label.shape(0) : y.shape(0))) != n, "the target has another length");
    for (i64 i = 0; i < i64(rows.shape(0)); ++i)
      refuse(rows.data()[i] < 0 || rows.data()[i] >= n, "a row that is not there");
    for (i64 i = 0; classes && i < n; ++i)
      refuse(label.data()[i] < 0 || label.data()[i] >= classes, "a class that is not there");
    const i64* l = limits.data();
    const double* s = weights.data();
    const CodedColumns X{codes.data(), values.data(), starts.data(), n, d};
    const TreeTarget target{y.data(), label.data(), classes, w.data(), rows.data(),
                            i64(rows.shape(0))};
    const SplitRules rules{Criterion(criterion), l[0], l[1], l[2], s[0], s[1], s[2], l[3], l[4], seed,
                           stop.data()};
    std::int32_t* link = links.data();
    double* number = numbers.data();
    const GrownNodes nodes{room, link, link + room, link + 2 * room, number, number + room,
                           number + 2 * room, number + 3 * room, value.data()};
    Release release;
    return grow_tree(X, target, rules, nodes);
  }, "codes"_a.noconvert(), "values"_a.noconvert(), "starts"_a.noconvert(), "y"_a.noconvert(),
     "label"_a.noconvert(), "classes"_a, "w"_a.noconvert(), "rows"_a.noconvert(), "criterion"_a,
     "limits"_a.noconvert(), "weights"_a.noconvert(), "seed"_a, "stop"_a.noconvert(), "links"_a.noconvert(),
     "numbers"_a.noconvert(), "value"_a.noconvert());
  m.def("sum_leaves", [](In<std::int32_t, 2> links, In<double, 1> threshold, In<i64, 1> roots,
                         In<double, 2> values, In<double, 2> X, Out<double, 2> out, int threads) {
    const TreeTable table = table_of(links, threshold, roots, X.shape(1));
    refuse(values.shape(0) != links.shape(1) || out.shape(0) != X.shape(0) ||
               out.shape(1) != values.shape(1),
           "values, rows and out do not fit together");
    const i64 n = X.shape(0), d = X.shape(1);
    Release release;
    sum_leaves(table, values.data(), values.shape(1), {X.data(), n, d, d, 1}, out.data(), threads);
  }, "links"_a.noconvert(), "threshold"_a.noconvert(), "roots"_a.noconvert(),
     "values"_a.noconvert(), "X"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
  m.def("find_leaves", [](In<std::int32_t, 2> links, In<double, 1> threshold, In<i64, 1> roots,
                          In<double, 2> X, Out<std::int32_t, 2> out, int threads) {
    const TreeTable table = table_of(links, threshold, roots, X.shape(1));
    refuse(out.shape(0) != X.shape(0) || out.shape(1) != roots.shape(0), "out does not fit");
    const i64 n = X.shape(0), d = X.shape(1);
    Release release;
    find_leaves(table, {X.data(), n, d, d, 1}, out.data(), threads);
  }, "links"_a.noconvert(), "threshold"_a.noconvert(), "roots"_a.noconvert(), "X"_a.noconvert(),
     "out"_a.noconvert(), "threads"_a);
}

}  // namespace kg
