// Bindings of sums over rows and of the Cholesky factorisation (statistics/, linalg/).
#include "common/interrupt.hpp"
#include "linalg/blas.hpp"
#include "linalg/cholesky.hpp"
#include "statistics/sums.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace kg {
namespace {

template <class T> using In = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using InC = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using InV = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class A> auto view(const A& a) {
  using T = std::remove_const_t<typename A::Scalar>;
  const i64 n = a.shape(0), d = a.shape(1);
  check_int(n, "the number of rows");
  check_int(d, "the number of columns");
  return Rows<T>{a.data(), n, d, a.stride(0), a.stride(1)};
}

template <class T> const T* pointer(const std::optional<InV<T>>& v) {
  return v ? v->data() : nullptr;
}

void check_sums(const Out<double>& S, i64 D) {
  const i64 n = S.shape(0), ld = S.shape(1);
  if (n != ld || ld < D || ld % kPadding) throw std::invalid_argument("S is too small for the sums");
}

template <class T> void bind_sums_of(nb::module_& m) {
  m.def("scatter", [](In<T> X, In<T> Y, std::optional<InV<T>> shift_x, std::optional<InV<T>> shift_y,
                      std::optional<InV<T>> root_w, Out<double> S, int threads) {
    const auto x = view(X), y = view(Y);
    check_sums(S, x.d + y.d + 1);
    const T *sx = pointer<T>(shift_x), *sy = pointer<T>(shift_y), *w = pointer<T>(root_w);
    Release release;
    scatter<T>(x, y, sx, sy, w, S.data(), S.shape(1), threads);
  }, "X"_a.noconvert(), "Y"_a.noconvert(), "shift_x"_a.noconvert().none(),
     "shift_y"_a.noconvert().none(), "root_w"_a.noconvert().none(), "S"_a.noconvert(),
     "threads"_a);
  m.def("fourier_block", [](In<T> X, InC<T> W, InV<T> b, double scale, Out<T> out, int threads) {
    const auto x = view(X);
    Release release;
    fourier_block<T>(x, W.data(), W.shape(1), b.data(), static_cast<T>(scale), out.data(), threads);
  }, "X"_a.noconvert(), "W"_a.noconvert(), "b"_a.noconvert(), "scale"_a, "out"_a.noconvert(),
     "threads"_a);
  m.def("fourier_scatter", [](In<T> X, InC<T> W, InV<T> b, double scale, In<T> Y,
                              std::optional<InV<T>> root_w, Out<double> S, int threads) {
    const auto x = view(X), y = view(Y);
    check_sums(S, i64(W.shape(1)) + y.d + 1);
    const T* w = pointer<T>(root_w);
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
