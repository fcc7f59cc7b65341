// NumPy arrays as arguments of the compiled functions: types and views that all bindings share.
#pragma once

#include "common/rows.hpp"
#include "linalg/blas.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <type_traits>

namespace kg {

namespace nb = nanobind;
using nb::literals::operator""_a;

// read, C-contiguous, of k dimensions
template <class T, int k = 2> using In = nb::ndarray<const T, nb::ndim<k>, nb::c_contig, nb::device::cpu>;
// written (or read and written), C-contiguous, of k dimensions
template <class T, int k = 2> using Out = nb::ndarray<T, nb::ndim<k>, nb::c_contig, nb::device::cpu>;
// a matrix that is read, with any strides
template <class T> using Strided = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

// The rows of a matrix; their number and that of the columns must fit an int.
template <class Matrix> auto rows_of(const Matrix& X) {
  check_int(X.shape(0), "the number of rows");
  check_int(X.shape(1), "the number of columns");
  using T = std::remove_const_t<typename Matrix::Scalar>;
  return Rows<T>{X.data(), i64(X.shape(0)), i64(X.shape(1)), X.stride(0), X.stride(1)};
}

// The entries, or null where there is no array.
template <class A> auto* pointer(const std::optional<A>& a) { return a ? a->data() : nullptr; }

}  // namespace kg
