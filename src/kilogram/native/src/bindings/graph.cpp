// Bindings of shortest paths (graph/graph.cpp).
#include "bindings/arrays.hpp"
#include "graph/graph.hpp"

#include <stdexcept>

namespace kg {

void bind_graph(nb::module_& m) {
  m.def("shortest_paths", [](In<i64, 1> start, In<std::int32_t, 1> index, In<double, 1> length,
                             In<i64, 1> sources, Out<double> out, int threads) {
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
