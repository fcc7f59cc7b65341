// Bindings of sums over rows and of the Cholesky factorisation (statistics/, linalg/).
#include "bindings/arrays.hpp"
#include "common/interrupt.hpp"
#include "linalg/blas.hpp"
#include "linalg/cholesky.hpp"
#include "statistics/sums.hpp"

#include <nanobind/stl/optional.h>

namespace kg {
namespace {

void check_sums(const Out<double>& S, i64 D) {
  const i64 n = S.shape(0), ld = S.shape(1);
  if (n != ld || ld < D || ld % kPadding) throw std::invalid_argument("S is too small for the sums");
}

template <class T> void bind_sums_of(nb::module_& m) {
  m.def("scatter", [](Strided<T> X, Strided<T> Y, std::optional<In<T, 1>> shift_x, std::optional<In<T, 1>> shift_y,
                      std::optional<In<T, 1>> root_w, Out<double> S, int threads) {
    const auto x = rows_of(X), y = rows_of(Y);
    check_sums(S, x.d + y.d + 1);
    const T *sx = pointer(shift_x), *sy = pointer(shift_y), *w = pointer(root_w);
    Release release;
    scatter<T>(x, y, sx, sy, w, S.data(), S.shape(1), threads);
  }, "X"_a.noconvert(), "Y"_a.noconvert(), "shift_x"_a.noconvert().none(),
     "shift_y"_a.noconvert().none(), "root_w"_a.noconvert().none(), "S"_a.noconvert(),
     "threads"_a);
  m.def("fourier_block", [](Strided<T> X, In<T> W, In<T, 1> b, double scale, Out<T> out, int threads) {
    const auto x = rows_of(X);
    Release release;
    fourier_block<T>(x, W.data(), W.shape(1), b.data(), static_cast<T>(scale), out.data(), threads);
  }, "X"_a.noconvert(), "W"_a.noconvert(), "b"_a.noconvert(), "scale"_a, "out"_a.noconvert(),
     "threads"_a);
  m.def("fourier_scatter", [](Strided<T> X, In<T> W, In<T, 1> b, double scale, Strided<T> Y,
                              std::optional<In<T, 1>> root_w, Out<double> S, int threads) {
    const auto x = rows_of(X), y = rows_of(Y);
    check_sums(S, i64(W.shape(1)) + y.d + 1);
    const T* w = pointer(root_w);
    Release release;
    fourier_scatter<T>(x, W.data(), W.shape(1), b.data(), static_cast<T>(scale), y, w, S.data(),
                       S.shape(1), threads);
  }, "X"_a.noconvert(), "W"_a.noconvert(), "b"_a.noconvert(), "scale"_a, "Y"_a.noconvert(),
     "root_w"_a.noconvert().none(), "S"_a.noconvert(), "threads"_a);
  m.def("cholesky", [](Out<T> A, int threads) {
    const i64 n = A.shape(0);
    check_int(n, "the order of the matrix");
    Release release;
    return cholesky<T>(A.data(), n, std::max<i64>(n, 1), threads);
  }, "A"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_sums(nb::module_& m) {
  bind_sums_of<float>(m);
  bind_sums_of<double>(m);
}

}  // namespace kg
