// Bindings of the step of k-means (kmeans/plain.cpp, kmeans/bounds.cpp, kmeans/candidate_filter.cpp,
// kmeans/small_k.cpp, kmeans/filter_bounds.cpp, kmeans/initialization.cpp).
#include "bindings/arrays.hpp"
#include "kmeans/small_k_loops.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/candidate_filter.hpp"
#include "linalg/blas.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <vector>

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

template <class T>
Rows<T> checked(const Strided<T>& X, const std::optional<In<T, 1>>& shift, const In<T>& C) {
  const i64 n = X.shape(0), d = X.shape(1);
  check_int(n, "the number of rows");
  if (i64(C.shape(1)) != d || C.shape(0) < 1 || (shift && i64(shift->shape(0)) != d))
    throw std::invalid_argument("X, shift and centres do not fit together");
  return {X.data(), n, d, X.stride(0), X.stride(1)};
}

template <class T>
ClusterPass<T> fitted(const Rows<T>& x, const std::optional<In<T, 1>>& w, const T* shift, const T* C,
                      i64 k, const Out<std::int32_t, 1>& labels,
                      const std::optional<Out<T, 1>>& distances, const Out<double, 2>& sums,
                      bool follow, bool measure) {
  if (i64(labels.shape(0)) != x.n || (w && i64(w->shape(0)) != x.n) ||
      (distances && i64(distances->shape(0)) != x.n) || i64(sums.shape(0)) != k ||
      i64(sums.shape(1)) != x.d + 1)
    throw std::invalid_argument("labels, weights, distances or sums do not fit the rows");
  std::uint32_t outside = 0;  // no early end: so the loop vectorises
  for (i64 i = 0; follow && i < x.n; ++i)
    outside |= static_cast<std::uint32_t>(labels.data()[i]) >= static_cast<std::uint32_t>(k);
  if (outside) throw std::invalid_argument("a label is negative or not below the number of centres");
  return {x, pointer(w), shift, C, k, labels.data(),
          distances ? distances->data() : nullptr, sums.data(), follow, measure};
}

template <class T>
ClusterPass<T> made(const Strided<T>& X, const std::optional<In<T, 1>>& w,
                    const std::optional<In<T, 1>>& shift, const In<T>& C,
                    const Out<std::int32_t, 1>& labels, const std::optional<Out<T, 1>>& distances,
                    const Out<double, 2>& sums, bool follow, bool measure) {
  return fitted<T>(checked<T>(X, shift, C), w, pointer(shift), C.data(), C.shape(0), labels,
                   distances, sums, follow, measure);
}

void check_order(const In<std::int32_t, 1>& order, i64 k) {
  if (i64(order.shape(0)) != k) throw std::invalid_argument("order does not fit the centres");
  for (i64 p = 0; p < k; ++p)
    if (order.data()[p] < 0 || order.data()[p] >= k)
      throw std::invalid_argument("order names a centre that is not there");
}

// every centre at one place, -1 at the others; groups begin and end with whole blocks of four places
void check_places(const In<std::int32_t, 1>& order, const std::optional<In<std::int32_t, 1>>& starts,
                  i64 k) {
  const i64 places = order.shape(0), groups = starts ? i64(starts->shape(0)) - 1 : 0;
  std::vector<bool> there(k, false);
  i64 count = 0;
  for (i64 p = 0; p < places; ++p) {
    const std::int32_t c = order.data()[p];
    if (c < -1 || c >= k || (c >= 0 && there[c]))
      throw std::invalid_argument("order names a centre that is not there, or one twice");
    if (c < 0) continue;
    there[c] = true;
    ++count;
  }
  if (count != k || order.data()[0] < 0)
    throw std::invalid_argument("order does not fit the centres");
  if (!starts) return;
  if (groups < 1) throw std::invalid_argument("starts does not fit the order");
  const std::int32_t* at = starts->data();
  bool fits = at[0] == 0 && at[groups] == places;
  for (i64 g = 0; g < groups; ++g) fits = fits && at[g] < at[g + 1] && at[g + 1] % 4 == 0;
  if (!fits) throw std::invalid_argument("starts does not fit the order");
}

// codes and what is known about each, of n rows of d numbers
template <class A, class B> void check_codes(const A& codes, const B& about, i64 n, i64 d) {
  if (i64(codes.shape(0)) != n * lines_of(d) * kLine || i64(about.shape(0)) != n || about.shape(1) != sizeof(QuantisedRow) / sizeof(float))
    throw std::invalid_argument("the codes do not fit the rows");
}

template <class T> void bind_filter(nb::module_& m) {
  m.def("encode_rows", [](Strided<T> X, std::optional<In<T, 1>> shift, double unit,
                          Out<std::uint8_t, 1> codes, Out<float, 2> about, int threads) {
    const i64 n = X.shape(0), d = X.shape(1);
    check_codes(codes, about, n, d);
    if (shift && i64(shift->shape(0)) != d) throw std::invalid_argument("shift does not fit X");
    const EncodedRows<T> rows{{X.data(), n, d, X.stride(0), X.stride(1)}, pointer(shift), unit,
                              codes.data(), reinterpret_cast<QuantisedRow*>(about.data())};
    Release release;
    return encode_rows<T>(rows, threads);
  }, "X"_a.noconvert(), "shift"_a.noconvert().none(), "unit"_a, "codes"_a.noconvert(),
     "about"_a.noconvert(), "threads"_a);
  m.def("filtered_pass", [](Strided<T> X, std::optional<In<T, 1>> w, std::optional<In<T, 1>> shift, In<T> C,
                          Out<std::int32_t, 1> labels, Out<double, 2> sums, bool follow,
                          bool measure, In<std::int32_t, 1> order,
                          std::optional<In<std::int32_t, 1>> starts,
                          std::optional<In<float, 1>> moved, double unit, double balance, In<std::uint8_t, 1> codes,
                          Out<float, 2> about, int threads) {
    const auto pass = made<T>(X, w, shift, C, labels, std::nullopt, sums, follow, measure);
    check_places(order, starts, pass.k);
    check_codes(codes, about, pass.X.n, pass.X.d);
    if (starts && !follow) throw std::invalid_argument("starts is for rows that have labels");
    if (moved && i64(moved->shape(0)) != pass.k)
      throw std::invalid_argument("moved does not fit the centres");
    const FilteredPass<T> filtered{pass, order.data(), i64(order.shape(0)),
                               pointer(starts),
                               starts ? i64(starts->shape(0)) - 1 : 0, pointer(moved), unit,
                               balance, codes.data(), reinterpret_cast<QuantisedRow*>(about.data())};
    Release release;
    const PassTerms terms = filtered_pass<T>(filtered, threads);
    return std::make_tuple(terms.inertia, terms.looked, terms.opened);
  }, "X"_a.noconvert(), "w"_a.noconvert().none(), "shift"_a.noconvert().none(), "C"_a.noconvert(),
     "labels"_a.noconvert(), "sums"_a.noconvert(), "follow"_a, "measure"_a, "order"_a.noconvert(),
     "starts"_a.noconvert().none(), "moved"_a.noconvert().none(), "unit"_a, "balance"_a, "codes"_a.noconvert(),
     "about"_a.noconvert(), "threads"_a);
}

template <class T> void bind_filter_bounds(nb::module_& m) {
  m.def("filtered_bounds_pass", [](Strided<T> X, std::optional<In<T, 1>> w, In<T, 1> shift, In<T> C,
                        Out<std::int32_t, 1> labels, Out<double, 2> sums, bool follow, bool measure,
                        In<std::int32_t, 1> order, std::optional<In<float, 1>> moved, double unit,
                        double balance, In<std::uint8_t, 1> codes, Out<float, 2> about,
                        In<float, 1> drift, Out<float, 1> least, Out<float, 2> lower, int threads) {
    const std::optional<In<T, 1>> from(shift);
    const auto pass = made<T>(X, w, from, C, labels, std::nullopt, sums, follow, measure);
    check_places(order, std::nullopt, pass.k);
    check_codes(codes, about, pass.X.n, pass.X.d);
    const i64 places = order.shape(0), blocks = ceil_div(places, 4);
    if (blocks > 64 || drift.shape(0) != lower.shape(1) || i64(least.shape(0)) != pass.X.n ||
        i64(lower.shape(0)) != pass.X.n || i64(lower.shape(1)) < blocks || lower.shape(1) % 16 ||
        (moved && (i64(moved->shape(0)) != pass.k || !follow)))
      throw std::invalid_argument("order, moves or bounds do not fit the rows and centres");
    const FilteredPass<T> filtered{pass, order.data(), places, nullptr, 0, pointer(moved), unit,
                               balance, codes.data(), reinterpret_cast<QuantisedRow*>(about.data())};
    const FilteredBoundsPass<T> bounds{filtered,        bool(moved),  drift.data(),
                           least.data(), lower.data(), i64(lower.shape(1))};
    Release release;
    const PassTerms terms = filtered_bounds_pass<T>(bounds, threads);
    return std::make_tuple(terms.inertia, terms.looked, terms.opened);
  }, "X"_a.noconvert(), "w"_a.noconvert().none(), "shift"_a.noconvert(), "C"_a.noconvert(),
     "labels"_a.noconvert(), "sums"_a.noconvert(), "follow"_a, "measure"_a, "order"_a.noconvert(),
     "moved"_a.noconvert().none(), "unit"_a, "balance"_a, "codes"_a.noconvert(),
     "about"_a.noconvert(), "drift"_a.noconvert(), "least"_a.noconvert(), "lower"_a.noconvert(),
     "threads"_a);
}

template <class T> void bind_small_k(nb::module_& m) {
  m.def("small_k_pass", [](Strided<T> X, std::optional<In<T, 1>> w, std::optional<In<T, 1>> shift, In<T> C,
                       Out<std::int32_t, 1> labels, Out<double, 2> sums, bool follow, bool measure,
                       std::optional<In<T, 1>> moved, In<T, 1> drift, bool coded, Out<std::int8_t, 1> codes,
                       Out<T, 1> steps, Out<T, 1> left, Out<T, 1> norms, Out<T, 1> upper,
                       Out<T, 1> least, Out<T, 2> lower, int threads) {
    const auto pass = made<T>(X, w, shift, C, labels, std::nullopt, sums, follow, measure);
    const i64 n = pass.X.n, k = pass.k;
    if (i64(codes.shape(0)) != n * lines_of(pass.X.d) * kLine || i64(steps.shape(0)) != n ||
        i64(left.shape(0)) != n || (moved && !coded))
      throw std::invalid_argument("the bytes do not fit the rows");
    if (i64(drift.shape(0)) != k || i64(norms.shape(0)) != n || i64(upper.shape(0)) != n ||
        i64(least.shape(0)) != n || i64(lower.shape(0)) != n || i64(lower.shape(1)) != small_k_padded(k) ||
        (moved && (i64(moved->shape(0)) != k || !follow)))
      throw std::invalid_argument("moves or bounds do not fit the rows and centres");
    const SmallKPass<T> small_k{pass, pointer(moved), drift.data(), coded, codes.data(), steps.data(),
                         left.data(), norms.data(), upper.data(), least.data(), lower.data()};
    Release release;
    const PassTerms terms = small_k_pass<T>(small_k, threads);
    return std::pair<double, double>(terms.inertia, terms.looked);
  }, "X"_a.noconvert(), "w"_a.noconvert().none(), "shift"_a.noconvert().none(), "C"_a.noconvert(),
     "labels"_a.noconvert(), "sums"_a.noconvert(), "follow"_a, "measure"_a,
     "moved"_a.noconvert().none(), "drift"_a.noconvert(), "coded"_a, "codes"_a.noconvert(),
     "steps"_a.noconvert(), "left"_a.noconvert(), "norms"_a.noconvert(),
     "upper"_a.noconvert(), "least"_a.noconvert(), "lower"_a.noconvert(), "threads"_a);
}

template <class T> void bind(nb::module_& m) {
  m.def("cluster_pass", [](Strided<T> X, std::optional<In<T, 1>> w, std::optional<In<T, 1>> shift, In<T> C,
                           Out<std::int32_t, 1> labels, Out<double, 2> sums, bool follow,
                           bool measure, std::optional<Out<T, 1>> distances, int threads) {
    const ClusterPass<T> pass = made<T>(X, w, shift, C, labels, distances, sums, follow, measure);
    Release release;
    return cluster_pass<T>(pass, threads).inertia;
  }, "X"_a.noconvert(), "w"_a.noconvert().none(), "shift"_a.noconvert().none(), "C"_a.noconvert(),
     "labels"_a.noconvert(), "sums"_a.noconvert(), "follow"_a, "measure"_a,
     "distances"_a.noconvert().none(), "threads"_a);
  m.def("bounded_pass", [](Strided<T> X, std::optional<In<T, 1>> w, std::optional<In<T, 1>> shift, In<T> C,
                           Out<std::int32_t, 1> labels, Out<double, 2> sums, bool follow,
                           bool measure, In<std::int32_t, 1> order, i64 size,
                           std::optional<In<T, 1>> moved, In<T, 1> drift, Out<T, 1> upper,
                           Out<T, 1> least, Out<T, 2> lower, int threads) {
    const auto pass = made<T>(X, w, shift, C, labels, std::nullopt, sums, follow, measure);
    const i64 groups = size > 0 ? ceil_div(pass.k, size) : 0;
    if (size < 4 || size % 4 || i64(order.shape(0)) != pass.k || i64(lower.shape(0)) != pass.X.n ||
        i64(lower.shape(1)) < groups || groups > 64 || drift.shape(0) != lower.shape(1) ||
        lower.shape(1) * sizeof(T) % 64 ||
        (moved && i64(moved->shape(0)) != pass.k) || (moved && !follow) ||
        i64(upper.shape(0)) != pass.X.n || i64(least.shape(0)) != pass.X.n)
      throw std::invalid_argument("order, drift or bounds do not fit the rows and centres");
    check_order(order, pass.k);
    const BoundedPass<T> bounded{pass, order.data(), size, pointer(moved), drift.data(),
                                 upper.data(), least.data(), lower.data(), i64(lower.shape(1))};
    Release release;
    const PassTerms terms = bounded_pass<T>(bounded, threads);
    return std::pair<double, double>(terms.inertia, terms.looked);
  }, "X"_a.noconvert(), "w"_a.noconvert().none(), "shift"_a.noconvert().none(), "C"_a.noconvert(),
     "labels"_a.noconvert(), "sums"_a.noconvert(), "follow"_a, "measure"_a,
     "order"_a.noconvert(), "size"_a, "moved"_a.noconvert().none(), "drift"_a.noconvert(),
     "upper"_a.noconvert(), "least"_a.noconvert(), "lower"_a.noconvert(), "threads"_a);
  m.def("distances_to", [](Strided<T> X, std::optional<In<T, 1>> shift, In<T> C, In<T, 1> norms,
                           Out<T, 2> out, int threads) {
    const Rows<T> x = checked<T>(X, shift, C);
    const i64 k = C.shape(0);
    if (i64(norms.shape(0)) != x.n || i64(out.shape(0)) != k || i64(out.shape(1)) != x.n)
      throw std::invalid_argument("norms or out do not fit the rows");
    Release release;
    distances_to<T>(x, pointer(shift), C.data(), k, norms.data(), out.data(), threads);
  }, "X"_a.noconvert(), "shift"_a.noconvert().none(), "C"_a.noconvert(), "norms"_a.noconvert(),
     "out"_a.noconvert(), "threads"_a);
}

template <class T> void bind_start(nb::module_& m) {
  m.def("greedy_start", [](Strided<T> X, std::optional<In<double, 1>> w, In<double> uniforms,
                           double seconds, Out<i64, 1> chosen, int threads) {
    const i64 n = X.shape(0), k = chosen.shape(0), trials = uniforms.shape(1);
    check_int(n, "the number of rows");
    if (k < 1 || i64(uniforms.shape(0)) != k - 1 || trials < 1 || (w && i64(w->shape(0)) != n) ||
        chosen.data()[0] < 0 || chosen.data()[0] >= n)
      throw std::invalid_argument("rows, weights, draws and the first row do not fit together");
    const GreedyStart<T> start{{X.data(), n, i64(X.shape(1)), X.stride(0), X.stride(1)},
                               pointer(w), k, trials, uniforms.data(), seconds, chosen.data()};
    Release release;
    return greedy_start<T>(start, threads);
  }, "X"_a.noconvert(), "w"_a.noconvert().none(), "uniforms"_a.noconvert(), "seconds"_a,
     "chosen"_a.noconvert(), "threads"_a);
  m.def("lloyd_iterations", [](Strided<T> X, std::optional<In<T, 1>> w, In<T, 1> shift, In<double, 1> origin,
                          Out<double, 2> centres, Out<std::int32_t, 1> labels, Out<double, 2> sums,
                          bool follow, i64 most, double tol) {
    const i64 n = X.shape(0), d = X.shape(1), k = centres.shape(0);
    check_int(n, "the number of rows");
    if (k < 1 || i64(centres.shape(1)) != d || i64(shift.shape(0)) != d ||
        i64(origin.shape(0)) != d)
      throw std::invalid_argument("X, shift, origin and centres do not fit together");
    const ClusterPass<T> pass =
        fitted<T>({X.data(), n, d, X.stride(0), X.stride(1)}, w, shift.data(), nullptr, k, labels,
                  std::nullopt, sums, follow, false);
    const LloydSteps<T> steps{pass, centres.data(), origin.data(), most, tol};
    Release release;
    const LloydTerms terms = lloyd_iterations<T>(steps);
    return std::pair<i64, bool>(terms.steps, terms.rests);
  }, "X"_a.noconvert(), "w"_a.noconvert().none(), "shift"_a.noconvert(), "origin"_a.noconvert(),
     "centres"_a.noconvert(), "labels"_a.noconvert(), "sums"_a.noconvert(), "follow"_a, "most"_a,
     "tol"_a);
}

}  // namespace

void bind_kmeans(nb::module_& m) {
  m.attr("CODE_LINE") = kLine;
  m.attr("SMALL_K_PADDING") = small_k_padded(1);
  m.def("has_fast_byte_products", &has_fast_byte_products);
  bind_start<float>(m);
  bind_start<double>(m);
  bind_small_k<float>(m);
  bind_small_k<double>(m);
  bind_filter_bounds<float>(m);
  bind_filter_bounds<double>(m);
  bind_filter<float>(m);
  bind_filter<double>(m);
  bind<float>(m);
  bind<double>(m);
}

}  // namespace kg
