// Bindings of exact and approximate neighbour search (neighbors/).
#include "bindings/arrays.hpp"
#include "linalg/blas.hpp"
#include "neighbors/products.hpp"
#include "neighbors/search.hpp"
#include "neighbors/tree.hpp"

#include <limits>
#include <nanobind/stl/tuple.h>
#include <stdexcept>
#include <tuple>

namespace kg {
namespace {

template <class T> using Made = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

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

template <class T> Rows<T> rows(const In<T>& X) {
  return {X.data(), i64(X.shape(0)), i64(X.shape(1)), X.stride(0), X.stride(1)};
}

template <class T> Made<T> as_array(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Made<T>(kept->data(), {kept->size()}, owner);
}

using RaggedArrays = std::tuple<Made<i64>, Made<std::int32_t>, Made<double>>;

// f() without the interpreter's lock
template <class F> RaggedArrays found(const F& f) {
  Ragged all;
  {
    nb::gil_scoped_release release;
    all = f();
  }
  return {as_array(std::move(all.start)), as_array(std::move(all.index)), as_array(std::move(all.distances))};
}

Order order(bool by_distance) { return by_distance ? Order::distance : Order::rows; }

template <class T> void check_fit(const Rows<T>& x, const Rows<T>& y, i64 shift, i64 norms, bool skip_self) {
  check_int(y.n, "the number of rows");
  if (y.d != x.d || shift != x.d || norms != y.n || (skip_self && x.n != y.n) || y.n < 1)
    throw std::invalid_argument("X, Y, shift and norms do not fit together");
}

Tree view(const In<double>& points, const In<std::int32_t>& rows, const In<double>& boxes,
          const In<std::int32_t>& children, i64 n, i64 d) {
  const Tree tree{n, d, static_cast<i64>(children.shape(0)), points.data(), rows.data(), boxes.data(), children.data()};
  const i64 leaves = tree_leaves(n);
  if (n < 1 || d < 1 || n > std::numeric_limits<std::int32_t>::max() || tree.nodes != tree_nodes(n) ||
      i64(points.shape(0)) != leaves || i64(points.shape(1)) != d * kLeaf || i64(rows.shape(0)) != leaves ||
      i64(rows.shape(1)) != kLeaf || i64(boxes.shape(0)) != tree.nodes || i64(boxes.shape(1)) != 2 * d * kFan ||
      i64(children.shape(1)) != kFan)
    throw std::invalid_argument("the arrays of the tree do not fit together");
  return tree;
}

void check_metric(int kind, i64 numbers, i64 d, int last) {
  if (kind < kSquares || kind > last || numbers < 0 || numbers > d)
    throw std::invalid_argument("no such metric");
}

void bind_tree(nb::module_& m) {
  m.def("tree_shape", [](i64 n) {
    if (n < 1 || n > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("a tree has between 1 and 2^31 - 1 points");
    return std::make_tuple(tree_nodes(n), tree_leaves(n), kLeaf, kFan);
  }, "n"_a);
  m.def("build_tree", [](In<double> X, Out<double> points, Out<std::int32_t> rows, Out<double> boxes,
                         Out<std::int32_t> children, int threads) {
    const DenseRows<double> x = view<double>(X);
    view(In<double>(points), In<std::int32_t>(rows), In<double>(boxes), In<std::int32_t>(children), x.n, x.d);
    nb::gil_scoped_release release;
    build_tree(x, {points.data(), rows.data(), boxes.data(), children.data()}, threads);
  }, "X"_a.noconvert(), "points"_a.noconvert(), "rows"_a.noconvert(), "boxes"_a.noconvert(),
     "children"_a.noconvert(), "threads"_a);
  m.def("tree_nearest", [](int kind, double p, i64 n, In<double> points, In<std::int32_t> rows, In<double> boxes,
                           In<std::int32_t> children, In<double> Q, bool skip_self, Out<std::int32_t> index,
                           Out<double> distances, int threads) {
    const DenseRows<double> q = view<double>(Q);
    const Tree tree = view(points, rows, boxes, children, n, q.d);
    check(q.n, q.d, n - skip_self, q.d, index, distances);
    check_metric(kind, 0, q.d, kPowers);
    if (skip_self && q.n != n) throw std::invalid_argument("the queries are not the points");
    nb::gil_scoped_release release;
    tree_nearest(tree, {kind, p, 0}, q, index.shape(1), skip_self, index.data(), distances.data(), threads);
  }, "kind"_a, "p"_a, "n"_a, "points"_a.noconvert(), "rows"_a.noconvert(), "boxes"_a.noconvert(),
     "children"_a.noconvert(), "Q"_a.noconvert(), "skip_self"_a, "index"_a.noconvert(),
     "distances"_a.noconvert(), "threads"_a);
  m.def("tree_within", [](int kind, double p, i64 n, In<double> points, In<std::int32_t> rows, In<double> boxes,
                          In<std::int32_t> children, In<double> Q, double radius, bool skip_self, bool by_distance,
                          int threads) {
    const DenseRows<double> q = view<double>(Q);
    const Tree tree = view(points, rows, boxes, children, n, q.d);
    check_metric(kind, 0, q.d, kPowers);
    if (skip_self && q.n != n) throw std::invalid_argument("the queries are not the points");
    return found([&] { return tree_within(tree, {kind, p, 0}, q, radius, skip_self, order(by_distance), threads); });
  }, "kind"_a, "p"_a, "n"_a, "points"_a.noconvert(), "rows"_a.noconvert(), "boxes"_a.noconvert(),
     "children"_a.noconvert(), "Q"_a.noconvert(), "radius"_a, "skip_self"_a, "by_distance"_a, "threads"_a);
}

template <class T> void bind(nb::module_& m) {
  m.def("nearest_rows", [](In<T> X, In<T> Y, In<T, 1> shift, In<T, 1> norms, bool skip_self,
                           Out<std::int32_t> index, Out<T> squares, int threads) {
    const Rows<T> x = rows<T>(X), y = rows<T>(Y);
    const i64 k = index.shape(1);
    check_fit(x, y, shift.shape(0), norms.shape(0), skip_self);
    if (i64(index.shape(0)) != x.n || i64(squares.shape(0)) != x.n || i64(squares.shape(1)) != k)
      throw std::invalid_argument("index or squares do not fit the rows");
    if (k < 1 || k > y.n - skip_self) throw std::invalid_argument("there are fewer rows than neighbours asked for");
    nb::gil_scoped_release release;
    nearest_rows<T>(x, y, shift.data(), norms.data(), k, skip_self, index.data(), squares.data(),
                    threads);
  }, "X"_a.noconvert(), "Y"_a.noconvert(), "shift"_a.noconvert(), "norms"_a.noconvert(),
     "skip_self"_a, "index"_a.noconvert(), "squares"_a.noconvert(), "threads"_a);
  m.def("rows_within", [](In<T> X, In<T> Y, In<T, 1> shift, In<T, 1> norms, double radius, bool skip_self,
                          bool by_distance, int threads) {
    const Rows<T> x = rows<T>(X), y = rows<T>(Y);
    check_fit(x, y, shift.shape(0), norms.shape(0), skip_self);
    return found([&] {
      return rows_within<T>(x, y, shift.data(), norms.data(), radius, skip_self, order(by_distance), threads);
    });
  }, "X"_a.noconvert(), "Y"_a.noconvert(), "shift"_a.noconvert(), "norms"_a.noconvert(), "radius"_a,
     "skip_self"_a, "by_distance"_a, "threads"_a);
  m.def("metric_within", [](int kind, double p, i64 numbers, In<T> X, In<T> Y, double radius, bool skip_self,
                            bool by_distance, int threads) {
    const DenseRows<T> x = view<T>(X), y = view<T>(Y);
    check_metric(kind, numbers, y.d, kGower);
    check_int(y.n, "the number of rows");
    if (x.d != y.d || (skip_self && x.n != y.n)) throw std::invalid_argument("X and Y do not fit together");
    return found([&] {
      return metric_within<T>({kind, p, numbers}, x, y, radius, skip_self, order(by_distance), threads);
    });
  }, "kind"_a, "p"_a, "numbers"_a, "X"_a.noconvert(), "Y"_a.noconvert(), "radius"_a, "skip_self"_a,
     "by_distance"_a, "threads"_a);
  m.def("metric_nearest", [](int kind, double p, i64 numbers, In<T> X, In<T> Y, Out<std::int32_t> index,
                             Out<double> distances, int threads) {
    const DenseRows<T> x = view<T>(X), y = view<T>(Y);
    check(x.n, x.d, y.n, y.d, index, distances);
    check_metric(kind, numbers, y.d, kGower);
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
  bind_tree(m);
}

}  // namespace kg
