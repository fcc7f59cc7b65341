// Passes over sparse rows in the module `kilogram.native._core`.
#include "common/sparse.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cstdint>

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace kg {
namespace {

template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Release = nb::gil_scoped_release;

template <class T> auto* pointer(const std::optional<T>& v) { return v ? v->data() : nullptr; }

template <class T, class I> void bind_passes(nb::module_& m) {
  m.def("logistic_sparse", [](Vector<T> entries, Vector<I> columns, Vector<I> starts, Vector<T> y,
                              std::optional<Vector<T>> c, Vector<T> w, double b,
                              std::optional<OutVector<T>> h, OutVector<double> sums, int threads) {
    const SparseRows<T, I> x{entries.data(), columns.data(), starts.data(),
                             i64(starts.shape(0)) - 1, i64(w.shape(0))};
    Release release;
    logistic_sparse<T, I>(x, y.data(), pointer(c), w.data(), static_cast<T>(b), pointer(h),
                          sums.data(), threads);
  }, "entries"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(), "y"_a.noconvert(),
     "c"_a.noconvert().none(), "w"_a.noconvert(), "b"_a, "h"_a.noconvert().none(),
     "sums"_a.noconvert(), "threads"_a);
  m.def("softmax_sparse", [](Vector<T> entries, Vector<I> columns, Vector<I> starts, Vector<i64> y,
                             std::optional<Vector<T>> c, Matrix<T> W, Vector<T> b,
                             OutVector<double> sums, int threads) {
    const SparseRows<T, I> x{entries.data(), columns.data(), starts.data(),
                             i64(starts.shape(0)) - 1, i64(W.shape(1))};
    const i64 t = W.shape(0);
    Release release;
    softmax_sparse<T, I>(x, y.data(), pointer(c), W.data(), b.data(), t, sums.data(), threads);
  }, "entries"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(), "y"_a.noconvert(),
     "c"_a.noconvert().none(), "W"_a.noconvert(), "b"_a.noconvert(), "sums"_a.noconvert(),
     "threads"_a);
}

}  // namespace

void bind_sparse(nb::module_& m) {
  bind_passes<float, std::int32_t>(m);
  bind_passes<float, i64>(m);
  bind_passes<double, std::int32_t>(m);
  bind_passes<double, i64>(m);
}

}  // namespace kg
