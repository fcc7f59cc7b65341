// Coordinate descent in the module `kilogram.native._core`.
#include "bindings/arrays.hpp"
#include "coordinate/column_descent.hpp"
#include "coordinate/column_products.hpp"
#include "coordinate/gram_descent.hpp"
#include "coordinate/group_descent.hpp"

#include <nanobind/stl/pair.h>

namespace kg {
namespace {

template <class T> void bind_column_products(nb::module_& m) {
  m.def("column_products", [](In<T> Xt, In<T> R, Out<T> out, int threads) {
    const i64 p = i64(Xt.shape(0)), n = i64(Xt.shape(1));
    nb::gil_scoped_release release;
    column_products<T>(Xt.data(), n, p, n, R.data(), i64(R.shape(1)), out.data(), threads);
  }, "Xt"_a.noconvert(), "R"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_coordinate(nb::module_& m) {
  bind_column_products<float>(m);
  bind_column_products<double>(m);
  m.def("gram_descent", [](Strided<double> G, In<double, 1> q, In<double, 1> l1, double l2, bool positive, int penalty,
                           double gamma, Out<double, 1> b, Out<double, 1> h, double tol, i64 max_epochs) {
    const GramProblem p{G.data(), i64(b.shape(0)), i64(G.stride(0)), q.data(),
                        {l1.data(), l2, positive, static_cast<Penalty>(penalty), gamma}};
    DescentState state;
    {
      nb::gil_scoped_release release;
      state = gram_descent(p, b.data(), h.data(), tol, max_epochs);
    }
    return std::make_pair(state.epochs, state.change);
  }, "G"_a.noconvert(), "q"_a.noconvert(), "l1"_a.noconvert(), "l2"_a, "positive"_a, "penalty"_a,
     "gamma"_a, "b"_a.noconvert(), "h"_a.noconvert(), "tol"_a, "max_epochs"_a);
  m.def("gram_path", [](Strided<double> G, In<double, 1> q, double yy, bool positive, In<double, 1> l1, In<double, 1> l2, In<double, 1> start,
                        double goal, double tol, double finest, i64 max_epochs, Out<double> B,
                        Out<double> states) {
    static_assert(sizeof(PathState) == 4 * sizeof(double));
    const GramProblem p{G.data(), i64(q.shape(0)), i64(G.stride(0)), q.data(),
                        {nullptr, 0.0, positive, Penalty::l1, 0.0}};
    const GramPath path{p, yy, l1.data(), l2.data(), start.data(), i64(l1.shape(0)), goal, tol, finest};
    nb::gil_scoped_release release;
    return gram_path(path, B.data(), reinterpret_cast<PathState*>(states.data()), max_epochs);
  }, "G"_a.noconvert(), "q"_a.noconvert(), "yy"_a, "positive"_a, "l1"_a.noconvert(), "l2"_a.noconvert(),
     "start"_a.noconvert(), "goal"_a, "tol"_a, "finest"_a, "max_epochs"_a, "B"_a.noconvert(),
     "states"_a.noconvert());
  m.def("column_descent", [](In<double, 1> entries, In<std::int32_t, 1> rows, In<i64, 1> starts, In<double, 1> mean, In<double, 1> curvature,
                             In<double, 1> l1, double l2, bool positive, int penalty, double gamma,
                             Out<double, 1> b, Out<double, 1> r, double tol, i64 max_epochs) {
    const std::int32_t* sparse = rows.shape(0) ? rows.data() : nullptr;
    const ColumnProblem p{entries.data(), sparse, starts.data(), i64(b.shape(0)),
                          i64(r.shape(0)), mean.data(), curvature.data(),
                          {l1.data(), l2, positive, static_cast<Penalty>(penalty), gamma}};
    DescentState state;
    {
      nb::gil_scoped_release release;
      state = column_descent(p, b.data(), r.data(), tol, max_epochs);
    }
    return std::make_pair(state.epochs, state.change);
  }, "entries"_a.noconvert(), "rows"_a.noconvert(), "starts"_a.noconvert(), "mean"_a.noconvert(),
     "curvature"_a.noconvert(), "l1"_a.noconvert(), "l2"_a, "positive"_a, "penalty"_a, "gamma"_a,
     "b"_a.noconvert(), "r"_a.noconvert(), "tol"_a, "max_epochs"_a);
  m.def("group_descent", [](Strided<double> G, In<i64, 1> starts, In<double, 1> curvature, In<double, 1> strength, double l2,
                            Out<double> B, Out<double> H, double tol, i64 max_epochs) {
    const GroupProblem p{G.data(), i64(B.shape(0)), i64(G.stride(0)), i64(B.shape(1)), starts.data(),
                         i64(curvature.shape(0)), curvature.data(), strength.data(), l2};
    DescentState state;
    {
      nb::gil_scoped_release release;
      state = group_descent(p, B.data(), H.data(), tol, max_epochs);
    }
    return std::make_pair(state.epochs, state.change);
  }, "G"_a.noconvert(), "starts"_a.noconvert(), "curvature"_a.noconvert(), "strength"_a.noconvert(),
     "l2"_a, "B"_a.noconvert(), "H"_a.noconvert(), "tol"_a, "max_epochs"_a);
}

}  // namespace kg
