// Bindings of exact and approximate neighbour search (neighbors/search.cpp).
#include "neighbors/search.hpp"

#include <limits>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <stdexcept>

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace kg {
namespace {

template <class T> using In = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> DenseRows<T> view(const In<T>& X) {
  return {X.data(), static_cast<i64>(X.shape(0)), static_cast<i64>(X.shape(1))};
}

Codes codes(const In<std::uint64_t>& C) {
  return {C.data(), static_cast<i64>(C.shape(0)), static_cast<i64>(C.shape(1))};
}

void check(i64 m, i64 dx, i64 n, i64 dy, const Out<std::int32_t>& index, const Out<double>& distances) {
  const i64 k = index.shape(1);
  if (dx != dy) throw std::invalid_argument("X and Y differ in their columns");
  if (n > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument("there are more rows than 32-bit positions");
  if (k < 1 || k > n) throw std::invalid_argument("there are fewer rows than neighbours asked for");
  if (static_cast<i64>(index.shape(0)) != m || static_cast<i64>(distances.shape(0)) != m ||
      static_cast<i64>(distances.shape(1)) != k)
    throw std::invalid_argument("index or distances do not fit the rows");
}

template <class T> void bind(nb::module_& m) {
  m.def("metric_nearest", [](int kind, double p, i64 numbers, In<T> X, In<T> Y, Out<std::int32_t> index,
                             Out<double> distances, int threads) {
    const DenseRows<T> x = view<T>(X), y = view<T>(Y);
    check(x.n, x.d, y.n, y.d, index, distances);
    if (kind < kSquares || kind > kGower || numbers < 0 || numbers > y.d)
      throw std::invalid_argument("no such metric");
    nb::gil_scoped_release release;
    metric_nearest<T>({kind, p, numbers}, x, y, index.shape(1), index.data(), distances.data(), threads);
  }, "kind"_a, "p"_a, "numbers"_a, "X"_a.noconvert(), "Y"_a.noconvert(), "index"_a.noconvert(),
     "distances"_a.noconvert(), "threads"_a);
  m.def("hashed_nearest", [](In<T> X, In<T> Y, In<std::uint64_t> of_x, In<std::uint64_t> of_y,
                             i64 candidates, Out<std::int32_t> index, Out<double> distances, int threads) {
    const DenseRows<T> x = view<T>(X), y = view<T>(Y);
    const Codes cx = codes(of_x), cy = codes(of_y);
    check(x.n, x.d, y.n, y.d, index, distances);
    const i64 k = index.shape(1);
    if (cx.n != x.n || cy.n != y.n || cx.words != cy.words || cx.words < 1 || cx.words > 512)
      throw std::invalid_argument("the codes do not fit the rows");
    if (candidates < k || candidates > y.n)
      throw std::invalid_argument("candidates must be between k and the number of rows");
    nb::gil_scoped_release release;
    hashed_nearest<T>(x, y, cx, cy, candidates, k, index.data(), distances.data(), threads);
  }, "X"_a.noconvert(), "Y"_a.noconvert(), "of_x"_a.noconvert(), "of_y"_a.noconvert(), "candidates"_a,
     "index"_a.noconvert(), "distances"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_neighbors(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace kg
