// Bindings of densities (density/density.cpp, density/tree.cpp).
#include "bindings/arrays.hpp"
#include "density/density.hpp"

#include <stdexcept>

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

void refuse(bool wrong, const char* why) {
  if (wrong) throw std::invalid_argument(why);
}

}  // namespace

void bind_density(nb::module_& m) {
  m.def("density_sums", [](int kind, bool product, In<double, 2> Y, In<double, 1> w,
                           In<double, 2> Q, In<i64, 2> lo, In<i64, 2> hi, Out<double, 1> out,
                           int threads) {
    const i64 n = i64(Y.shape(1)) - kStrip;
    const DensityRows rows{Y.data(), i64(Y.shape(0)), i64(Y.shape(1)), w.data()};
    const DensityQueries queries{Q.data(), i64(Q.shape(0)), i64(lo.shape(1)), lo.data(), hi.data(),
                                 out.data()};
    refuse(n < 0 || w.shape(0) != Y.shape(1), "Y and w must be padded by 32 entries");
    refuse(i64(Q.shape(1)) != rows.d || out.shape(0) != Q.shape(0) || lo.shape(0) != Q.shape(0) ||
               hi.shape(0) != Q.shape(0) || lo.shape(1) != hi.shape(1),
           "queries, windows and out do not fit together");
    for (i64 i = 0; i < queries.m * queries.windows; ++i)
      refuse(lo.data()[i] < 0 || hi.data()[i] > n, "a window reaches beyond the rows");
    Release release;
    density_sums(rows, kind, product, queries, threads);
  }, "kind"_a, "product"_a, "Y"_a.noconvert(), "w"_a.noconvert(), "Q"_a.noconvert(),
     "lo"_a.noconvert(), "hi"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
  m.def("exponential_line", [](In<double, 1> y, In<double, 1> w, In<double, 1> q,
                               Out<double, 1> out) {
    refuse(y.shape(0) != w.shape(0) || q.shape(0) != out.shape(0), "lengths differ");
    Release release;
    exponential_line(y.data(), w.data(), y.shape(0), q.data(), q.shape(0), out.data());
  }, "y"_a.noconvert(), "w"_a.noconvert(), "q"_a.noconvert(), "out"_a.noconvert());
  m.def("grow_density_tree", [](In<double, 2> X, Out<std::int32_t, 2> order, In<double, 1> w,
                                In<double, 2> box, bool likelihood, i64 max_depth,
                                In<double, 1> limits, i64 columns, std::uint64_t seed,
                                In<std::int32_t, 1> stop, Out<std::int32_t, 2> links, Out<double, 2> values) {
    const i64 d = X.shape(0), n = X.shape(1), capacity = links.shape(1);
    refuse(i64(order.shape(0)) != d || i64(order.shape(1)) != n || i64(w.shape(0)) != n ||
               box.shape(0) != 2 || i64(box.shape(1)) != d || limits.shape(0) != 7 ||
               links.shape(0) != 3 || values.shape(0) != 3 || i64(values.shape(1)) != capacity ||
               stop.shape(0) != 1 || capacity < 1 || n < 1 || d < 1,
           "rows, order, box and nodes do not fit together");
    for (i64 i = 0; i < d * n; ++i)
      refuse(order.data()[i] < 0 || order.data()[i] >= n, "order holds a row that is not there");
    const double* l = limits.data();
    const TreeRows rows{X.data(), order.data(), w.data(), n, d, box.data(), box.data() + d};
    const TreeRules rules{likelihood, max_depth, l[0], l[1], l[2], l[3], l[4], l[5], l[6], columns,
                          seed, stop.data()};
    std::int32_t* link = links.data();
    double* value = values.data();
    const TreeNodes nodes{capacity, link, link + capacity, link + 2 * capacity, value, value + capacity,
                          value + 2 * capacity};
    Release release;
    return grow_density_tree(rows, rules, nodes);
  }, "X"_a.noconvert(), "order"_a.noconvert(), "w"_a.noconvert(), "box"_a.noconvert(),
     "likelihood"_a, "max_depth"_a, "limits"_a.noconvert(), "columns"_a, "seed"_a,
     "stop"_a.noconvert(), "links"_a.noconvert(), "values"_a.noconvert());
}

}  // namespace kg
