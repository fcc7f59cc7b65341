// Bindings of medoids and merge trees (linkage/medoids.cpp, linkage/from_rows.cpp).
#include "bindings/arrays.hpp"
#include "linalg/blas.hpp"
#include "linkage/linkage.hpp"

#include <algorithm>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <string>
#include <tuple>
#include <vector>

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

using Children = Out<std::int64_t, 2>;
using Heights = Out<double, 1>;

template <class T>
Medoids<T> checked(const In<T>& D, const std::optional<In<T, 1>>& w, const Out<std::int32_t, 1>& m) {
  const i64 n = D.shape(0);
  check_int(n, "the number of rows");
  if (i64(D.shape(1)) != n || (w && i64(w->shape(0)) != n) || m.shape(0) < 1)
    throw std::invalid_argument("distances, weights and medoids do not fit together");
  for (std::size_t c = 0; c < m.shape(0); ++c)
    if (m.data()[c] < 0 || m.data()[c] >= n) throw std::invalid_argument("a medoid is no row");
  return {D.data(), n, w ? w->data() : nullptr, m.data(), i64(m.shape(0))};
}

// Run `merge`, then put its merges in order of height and give the clusters their names; mergers
// that come in their own order (`sorted` false) keep it: centres may come nearer as they merge.
template <class F>
void grow(i64 n, const Children& children, const Heights& heights, const Heights& weights,
          bool sorted, F merge) {
  check_int(2 * n, "the number of clusters");
  if (i64(children.shape(0)) != n - 1 || children.shape(1) != 2 ||
      i64(heights.shape(0)) != n - 1 || i64(weights.shape(0)) != 2 * n - 1)
    throw std::invalid_argument("the tree does not fit the rows");
  Release release;
  std::vector<Merge> merges(n - 1);
  merge(merges.data());
  if (sorted)
    std::stable_sort(merges.begin(), merges.end(),
                     [](const Merge& a, const Merge& b) { return a.height < b.height; });
  for (i64 t = 0; t + 1 < n; ++t) heights.data()[t] = merges[t].height;
  name_clusters(merges.data(), n, children.data(), weights.data());
}

template <class T> void check_square(i64 rows, i64 columns, const In<T, 1>& size) {
  if (rows != columns || i64(size.shape(0)) != rows)
    throw std::invalid_argument("distances and sizes do not fit together");
}

template <class T> void bind(nb::module_& m) {
  m.def("medoid_sweep", [](In<T> D, std::optional<In<T, 1>> w, Out<std::int32_t, 1> medoids,
                           bool eager, std::int64_t quiet, int threads) {
    const Medoids<T> all = checked<T>(D, w, medoids);
    SweepEnd end;
    {
      Release release;
      end = medoid_sweep<T>(all, eager, quiet, threads);
    }
    return std::tuple<i64, i64, double>(end.swaps, end.quiet, end.total);
  }, "D"_a.noconvert(), "w"_a.noconvert().none(), "medoids"_a.noconvert(), "eager"_a, "quiet"_a,
     "threads"_a);
  m.def("medoid_build", [](In<T> D, std::optional<In<T, 1>> w, Out<std::int32_t, 1> medoids,
                           int threads) {
    const Medoids<T> all = checked<T>(D, w, medoids);
    Release release;
    medoid_build<T>(all, threads);
  }, "D"_a.noconvert(), "w"_a.noconvert().none(), "medoids"_a.noconvert(), "threads"_a);
  m.def("link_rows", [](Strided<T> X, In<T, 1> size, bool ward, Children children, Heights heights,
                        Heights weights) {
    const Rows<T> x{X.data(), i64(X.shape(0)), i64(X.shape(1)), X.stride(0), X.stride(1)};
    check_square<T>(x.n, x.n, size);
    grow(x.n, children, heights, weights, true, [&](Merge* merges) {
      if (ward)
        ward_of_rows<T>(x, size.data(), merges);
      else
        tree_of_rows<T>(x, merges);
    });
  }, "X"_a.noconvert(), "size"_a.noconvert(), "ward"_a, "children"_a.noconvert(),
     "heights"_a.noconvert(), "weights"_a.noconvert());
  m.def("link_cloud", [](Strided<T> X, In<T, 1> size, bool complete, std::int64_t memory_limit, Children children,
                         Heights heights, Heights weights, int threads) {
    const Rows<T> x{X.data(), i64(X.shape(0)), i64(X.shape(1)), X.stride(0), X.stride(1)};
    check_square<T>(x.n, x.n, size);
    grow(x.n, children, heights, weights, true, [&](Merge* merges) {
      link_cloud<T>(x, size.data(), complete ? kComplete : kAverage, memory_limit, merges, threads);
    });
  }, "X"_a.noconvert(), "size"_a.noconvert(), "complete"_a, "memory_limit"_a, "children"_a.noconvert(),
     "heights"_a.noconvert(), "weights"_a.noconvert(), "threads"_a);
  m.def("link_matrix", [](Out<T, 2> D, In<T, 1> size, const std::string& linkage, Children children,
                          Heights heights, Heights weights, int threads) {
    const i64 n = D.shape(0);
    check_square<T>(n, D.shape(1), size);
    const bool pairs = linkage == "centroid" || linkage == "medoid";
    grow(n, children, heights, weights, !pairs, [&](Merge* merges) {
      if (linkage == "single")
        tree_of_matrix<T>(D.data(), n, merges);
      else if (pairs)
        closest_pairs<T>(D.data(), n, size.data(), linkage == "medoid", merges);
      else
        chain_of_matrix<T>(D.data(), n, size.data(),
                           linkage == "complete" ? kComplete : linkage == "average" ? kAverage : kWard,
                           merges, threads);
    });
  }, "D"_a.noconvert(), "size"_a.noconvert(), "linkage"_a, "children"_a.noconvert(),
     "heights"_a.noconvert(), "weights"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_structure(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace kg
