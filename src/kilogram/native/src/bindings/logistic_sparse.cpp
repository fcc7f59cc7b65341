// Passes over sparse rows in the module `kilogram.native._core`.
#include "bindings/arrays.hpp"
#include "common/sparse.hpp"

#include <nanobind/stl/optional.h>

#include <cstdint>

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

template <class T, class I> void bind_passes(nb::module_& m) {
  m.def("logistic_sparse", [](In<T, 1> entries, In<I, 1> columns, In<I, 1> starts, In<T, 1> y,
                              std::optional<In<T, 1>> c, In<T, 1> w, double b,
                              std::optional<Out<T, 1>> h, Out<double, 1> sums, int threads) {
    const SparseRows<T, I> x{entries.data(), columns.data(), starts.data(),
                             i64(starts.shape(0)) - 1, i64(w.shape(0))};
    Release release;
    logistic_sparse<T, I>(x, y.data(), pointer(c), w.data(), static_cast<T>(b), pointer(h),
                          sums.data(), threads);
  }, "entries"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(), "y"_a.noconvert(),
     "c"_a.noconvert().none(), "w"_a.noconvert(), "b"_a, "h"_a.noconvert().none(),
     "sums"_a.noconvert(), "threads"_a);
  m.def("softmax_sparse", [](In<T, 1> entries, In<I, 1> columns, In<I, 1> starts, In<i64, 1> y,
                             std::optional<In<T, 1>> c, In<T> W, In<T, 1> b,
                             Out<double, 1> sums, int threads) {
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
