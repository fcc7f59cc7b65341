// Stochastic gradient steps on regressions in the module `kilogram.native._core`.
#include "bindings/arrays.hpp"
#include "stochastic/online_lasso.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

namespace kg {
namespace {

template <class T> void bind_lasso(nb::module_& m) {
  m.def("online_lasso_pass", [](In<T, 1> data, std::optional<In<i64, 1>> indices,
                                std::optional<In<i64, 1>> indptr, In<double, 1> y,
                                std::optional<In<double, 1>> c, In<i64, 1> order,
                                In<double, 1> pace, bool intercept, Out<double, 1> w,
                                Out<double, 1> mean, Out<double, 1> b, double steps) {
    const OnlineRows<T> x{data.data(), pointer(indices), pointer(indptr), i64(w.shape(0))};
    const double* p = pace.data();  // eta0, power, l1
    LassoState state{w.data(), mean.data(), b.data(), steps};
    double loss = 0, longest = 0;
    {
      nb::gil_scoped_release release;
      loss = online_lasso_pass<T>(x, y.data(), pointer(c), order.data(), i64(order.shape(0)),
                                  LassoPace{p[0], p[1], p[2], intercept}, state, &longest);
    }
    return std::pair<double, double>(loss, longest);
  }, "data"_a.noconvert(), "indices"_a.noconvert().none(), "indptr"_a.noconvert().none(),
     "y"_a.noconvert(), "c"_a.noconvert().none(), "order"_a.noconvert(), "pace"_a.noconvert(),
     "intercept"_a, "w"_a.noconvert(), "mean"_a.noconvert(), "b"_a.noconvert(), "steps"_a);
}

}  // namespace

void bind_stochastic(nb::module_& m) {
  bind_lasso<float>(m);
  bind_lasso<double>(m);
}

}  // namespace kg
