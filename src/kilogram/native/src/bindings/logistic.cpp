// Logistic regression and online classifiers in the module `kilogram.native._core`.
#include "bindings/arrays.hpp"
#include "logistic/elastic.hpp"
#include "logistic/logistic.hpp"
#include "logistic/online.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

template <class T> void bind_passes(nb::module_& m) {
  m.def("logistic_pass", [](Strided<T> X, In<T, 1> y, std::optional<In<T, 1>> c, In<T, 1> w, double b,
                            std::optional<Out<T, 1>> h, Out<double, 1> sums, int threads) {
    const Rows<T> x{X.data(), i64(X.shape(0)), i64(X.shape(1)), X.stride(0), X.stride(1)};
    Release release;
    logistic_pass<T>(x, y.data(), pointer(c), w.data(), static_cast<T>(b), pointer(h), sums.data(),
                     threads);
  }, "X"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert().none(), "w"_a.noconvert(), "b"_a,
     "h"_a.noconvert().none(), "sums"_a.noconvert(), "threads"_a);
  m.def("softmax_rows", [](Strided<T> X, In<i64, 1> y, std::optional<In<T, 1>> c, In<T> W,
                           In<T, 1> b, Out<double, 1> sums, int threads) {
    const Rows<T> x{X.data(), i64(X.shape(0)), i64(X.shape(1)), X.stride(0), X.stride(1)};
    const i64 t = W.shape(0);
    Release release;
    softmax_rows<T>(x, y.data(), pointer(c), W.data(), b.data(), t, sums.data(), threads);
  }, "X"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert().none(), "W"_a.noconvert(),
     "b"_a.noconvert(), "sums"_a.noconvert(), "threads"_a);
  m.def("softmax_pass", [](Out<T> Z, In<i64, 1> y, std::optional<In<T, 1>> c, bool keep,
                           int threads) {
    const i64 n = Z.shape(0), t = Z.shape(1);
    Release release;
    return softmax_pass<T>(Z.data(), n, t, y.data(), pointer(c), keep, threads);
  }, "Z"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert().none(), "keep"_a, "threads"_a);
  m.def("online_pass", [](In<T, 1> data, std::optional<In<i64, 1>> indices,
                          std::optional<In<i64, 1>> indptr, In<i64, 1> y,
                          std::optional<In<double, 1>> c, In<i64, 1> order, int loss, In<double, 1> pace,
                          bool intercept, Out<double> W, Out<double, 1> b,
                          std::optional<Out<double>> sum_W,
                          std::optional<Out<double, 1>> sum_b, double steps) {
    const OnlineRows<T> x{data.data(), pointer(indices), pointer(indptr), i64(W.shape(1))};
    const double* p = pace.data();  // eta0, tau, power, l2
    OnlineState state{W.data(), b.data(), pointer(sum_W), pointer(sum_b), i64(W.shape(0)), steps};
    i64 changes = 0;
    double loss_sum = 0;
    {
      Release release;
      loss_sum = online_pass<T>(x, y.data(), pointer(c), order.data(),
                                i64(order.shape(0)), loss, Pace{p[0], p[1], p[2], p[3], intercept},
                                state, &changes);
    }
    return std::pair<double, i64>(loss_sum, changes);
  }, "data"_a.noconvert(), "indices"_a.noconvert().none(), "indptr"_a.noconvert().none(),
     "y"_a.noconvert(), "c"_a.noconvert().none(), "order"_a.noconvert(),
     "loss"_a, "pace"_a.noconvert(), "intercept"_a, "W"_a.noconvert(), "b"_a.noconvert(),
     "sum_W"_a.noconvert().none(), "sum_b"_a.noconvert().none(), "steps"_a);
}

}  // namespace

void bind_logistic(nb::module_& m) {
  bind_passes<float>(m);
  bind_passes<double>(m);
  m.def("elastic_step", [](In<double> H, In<double, 1> g, In<double, 1> w, In<double, 1> l,
                           Out<double, 1> d, Out<double, 1> Hd, double tol, i64 passes) {
    Release release;
    return elastic_step(H.data(), i64(g.shape(0)), g.data(), w.data(), l.data(), d.data(),
                        Hd.data(), tol, passes);
  }, "H"_a.noconvert(), "g"_a.noconvert(), "w"_a.noconvert(), "l"_a.noconvert(),
     "d"_a.noconvert(), "Hd"_a.noconvert(), "tol"_a, "passes"_a);
}

}  // namespace kg
