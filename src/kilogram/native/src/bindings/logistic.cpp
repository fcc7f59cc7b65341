// Logistic regression and online classifiers in the module `kilogram.native._core`.
#include "logistic/elastic.hpp"
#include "logistic/logistic.hpp"
#include "logistic/online.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace kg {
namespace {

template <class T> using In = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Release = nb::gil_scoped_release;

template <class T> auto* pointer(const std::optional<T>& v) { return v ? v->data() : nullptr; }

template <class T> void bind_passes(nb::module_& m) {
  m.def("logistic_pass", [](In<T> X, Vector<T> y, std::optional<Vector<T>> c, Vector<T> w, double b,
                            std::optional<OutVector<T>> h, OutVector<double> sums, int threads) {
    const Rows<T> x{X.data(), i64(X.shape(0)), i64(X.shape(1)), X.stride(0), X.stride(1)};
    Release release;
    logistic_pass<T>(x, y.data(), pointer(c), w.data(), static_cast<T>(b), pointer(h), sums.data(),
                     threads);
  }, "X"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert().none(), "w"_a.noconvert(), "b"_a,
     "h"_a.noconvert().none(), "sums"_a.noconvert(), "threads"_a);
  m.def("softmax_rows", [](In<T> X, Vector<i64> y, std::optional<Vector<T>> c, Matrix<T> W,
                           Vector<T> b, OutVector<double> sums, int threads) {
    const Rows<T> x{X.data(), i64(X.shape(0)), i64(X.shape(1)), X.stride(0), X.stride(1)};
    const i64 t = W.shape(0);
    Release release;
    softmax_rows<T>(x, y.data(), pointer(c), W.data(), b.data(), t, sums.data(), threads);
  }, "X"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert().none(), "W"_a.noconvert(),
     "b"_a.noconvert(), "sums"_a.noconvert(), "threads"_a);
  m.def("softmax_pass", [](OutMatrix<T> Z, Vector<i64> y, std::optional<Vector<T>> c, bool keep,
                           int threads) {
    const i64 n = Z.shape(0), t = Z.shape(1);
    Release release;
    return softmax_pass<T>(Z.data(), n, t, y.data(), pointer(c), keep, threads);
  }, "Z"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert().none(), "keep"_a, "threads"_a);
  m.def("online_pass", [](Vector<T> data, std::optional<Vector<i64>> indices,
                          std::optional<Vector<i64>> indptr, Vector<i64> y,
                          std::optional<Vector<double>> c, Vector<i64> order, int loss, Vector<double> pace,
                          bool intercept, OutMatrix<double> W, OutVector<double> b,
                          std::optional<OutMatrix<double>> sum_W,
                          std::optional<OutVector<double>> sum_b, double steps) {
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
  m.def("elastic_step", [](Matrix<double> H, Vector<double> g, Vector<double> w, Vector<double> l,
                           OutVector<double> d, OutVector<double> Hd, double tol, i64 passes) {
    Release release;
    return elastic_step(H.data(), i64(g.shape(0)), g.data(), w.data(), l.data(), d.data(),
                        Hd.data(), tol, passes);
  }, "H"_a.noconvert(), "g"_a.noconvert(), "w"_a.noconvert(), "l"_a.noconvert(),
     "d"_a.noconvert(), "Hd"_a.noconvert(), "tol"_a, "passes"_a);
}

}  // namespace kg
