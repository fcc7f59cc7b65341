// Bindings of neighbours and shortest paths (graph/graph.cpp).
#include "graph/graph.hpp"
#include "linalg/blas.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace kg {
namespace {

template <class T> using In = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using InV = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> Rows<T> view(const In<T>& X) {
  return {X.data(), i64(X.shape(0)), i64(X.shape(1)), X.stride(0), X.stride(1)};
}

template <class T> void bind(nb::module_& m) {
  m.def("nearest_rows", [](In<T> X, In<T> Y, InV<T> shift, InV<T> norms, bool skip_self,
                           Out<std::int32_t> index, Out<T> squares, int threads) {
    const Rows<T> x = view<T>(X), y = view<T>(Y);
    const i64 k = index.shape(1);
    check_int(y.n, "the number of rows");
    if (y.d != x.d || i64(shift.shape(0)) != x.d || i64(norms.shape(0)) != y.n)
      throw std::invalid_argument("X, Y, shift and norms do not fit together");
    if (i64(index.shape(0)) != x.n || i64(squares.shape(0)) != x.n || i64(squares.shape(1)) != k)
      throw std::invalid_argument("index or squares do not fit the rows");
    if (k < 1 || k > y.n - skip_self || (skip_self && x.n != y.n))
      throw std::invalid_argument("there are fewer rows than neighbours asked for");
    nb::gil_scoped_release release;
    nearest_rows<T>(x, y, shift.data(), norms.data(), k, skip_self, index.data(), squares.data(),
                    threads);
  }, "X"_a.noconvert(), "Y"_a.noconvert(), "shift"_a.noconvert(), "norms"_a.noconvert(),
     "skip_self"_a, "index"_a.noconvert(), "squares"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
  m.def("shortest_paths", [](InV<i64> start, InV<std::int32_t> index, InV<double> length,
                             InV<i64> sources, Out<double> out, int threads) {
    const i64 n = i64(start.shape(0)) - 1, entries = index.shape(0), count = sources.shape(0);
    if (n < 0 || start.data()[n] != entries || i64(length.shape(0)) != entries ||
        i64(out.shape(0)) != count || i64(out.shape(1)) != n)
      throw std::invalid_argument("the parts of the graph do not fit together");
    for (i64 e = 0; e < entries; ++e)
      if (index.data()[e] < 0 || index.data()[e] >= n || !(length.data()[e] >= 0))
        throw std::invalid_argument("an edge leads nowhere or has a negative length");
    for (i64 s = 0; s < count; ++s)
      if (sources.data()[s] < 0 || sources.data()[s] >= n)
        throw std::invalid_argument("a source is no node of the graph");
    const Graph graph{n, start.data(), index.data(), length.data()};
    nb::gil_scoped_release release;
    shortest_paths(graph, sources.data(), count, out.data(), threads);
  }, "start"_a.noconvert(), "index"_a.noconvert(), "length"_a.noconvert(),
     "sources"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
}

}  // namespace kg
