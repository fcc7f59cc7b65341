// Support vector machines in the module `kilogram.native._core`.
#include "bindings/arrays.hpp"
#include "svm/dual_coordinate.hpp"
#include "svm/loops.hpp"
#include "svm/one_vs_one.hpp"
#include "svm/smo.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace kg {

Spec make_spec(const std::string& kind, const std::vector<double>& params);  // bindings/kernels.cpp

namespace {

using Release = nb::gil_scoped_release;

using Params = std::vector<double>;

template <class T> Rows<T> rows(const In<T>& a) {
  const i64 n = a.shape(0), d = a.shape(1);
  return Rows<T>{a.data(), n, d, d, 1};
}

template <class T, class S> void bind_gradient(nb::module_& m) {
  m.def("smo_gradient", [](const std::string& kind, In<T> X, In<T> A, const Params& p,
                           In<i64, 1> slot, In<double, 1> delta, Out<S> cache,
                           In<i64, 1> old, In<double, 1> old_delta, Out<double, 1> g,
                           int threads) {
    const Spec spec = make_spec(kind, p);
    Release release;
    smo_gradient<T, S>(spec, rows(X), rows(A), slot.data(), delta.data(), cache.data(),
                       cache.shape(1), old.data(), old_delta.data(), old.shape(0), g.data(),
                       threads);
  }, "kind"_a, "X"_a.noconvert(), "A"_a.noconvert(), "params"_a, "slot"_a.noconvert(),
     "delta"_a.noconvert(), "cache"_a.noconvert(), "old"_a.noconvert(),
     "old_delta"_a.noconvert(), "g"_a.noconvert(), "threads"_a);
}

template <class S> void bind_add(nb::module_& m) {
  m.def("smo_add", [](In<S> cache, In<i64, 1> slot, In<double, 1> delta,
                      Out<double, 1> g, int threads) {
    Release release;
    smo_add<S>(cache.data(), g.shape(0), cache.shape(1), slot.data(), delta.data(), slot.shape(0),
               g.data(), threads);
  }, "cache"_a.noconvert(), "slot"_a.noconvert(), "delta"_a.noconvert(), "g"_a.noconvert(),
     "threads"_a);
  m.def("smo_square", [](In<S> cache, In<i64, 1> slot, In<i64, 1> at, In<S> made,
                         Out<S> out, int threads) {
    Release release;
    smo_square<S>(cache.data(), cache.shape(1), slot.data(), at.data(), at.shape(0), made.data(),
                  out.data(), threads);
  }, "cache"_a.noconvert(), "slot"_a.noconvert(), "at"_a.noconvert(), "made"_a.noconvert(),
     "out"_a.noconvert(), "threads"_a);
}

template <class S> void bind_bits(nb::module_& m) {
  m.def("smo_bit_square", [](In<std::uint64_t> B, In<S, 1> table, bool differing,
                             Out<S> out, int threads) {
    const i64 q = B.shape(0);
    const BitProblem problem{B.data(), B.data(), q, q, static_cast<i64>(B.shape(1)), differing};
    Release release;
    smo_bit_square<S>(problem, table.data(), out.data(), threads);
  }, "bits"_a.noconvert(), "table"_a.noconvert(), "differing"_a, "out"_a.noconvert(), "threads"_a);
}

void bind_add_bits(nb::module_& m) {
  m.def("smo_add_bits", [](In<std::uint64_t> B, In<std::uint64_t> A, In<double, 1> delta,
                           In<double, 1> table, bool differing, Out<double, 1> g, int threads) {
    const BitProblem problem{A.data(), B.data(), static_cast<i64>(A.shape(0)),
                             static_cast<i64>(B.shape(0)), static_cast<i64>(B.shape(1)), differing};
    Release release;
    smo_add_bits(problem, delta.data(), table.data(), g.data(), threads);
  }, "bits"_a.noconvert(), "A"_a.noconvert(), "delta"_a.noconvert(), "table"_a.noconvert(),
     "differing"_a, "g"_a.noconvert(), "threads"_a);
}

template <class S> void bind_pairs(nb::module_& m) {
  m.def("smo_pairs", [](In<S> K, In<double, 1> s, In<double, 1> lower, In<double, 1> upper,
                        Out<double, 1> f, Out<double, 1> b, double tol, i64 max_steps) {
    const i64 q = K.shape(0);
    const Scratch<double> work(1, 4 * q);
    Release release;
    const PairProblem<S> problem{K.data(), q,        s.data(), lower.data(), upper.data(),
                                 f.data(), b.data(), work.block(0)};
    const PairResult found = steps(problem, tol, max_steps);
    return std::pair<i64, double>(found.steps, found.violation);
  }, "K"_a.noconvert(), "s"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
     "f"_a.noconvert(), "b"_a.noconvert(), "tol"_a, "max_steps"_a);
}

template <class S> void bind_one_vs_one(nb::module_& m) {
  m.def("smo_one_vs_one", [](In<S> K, In<i64, 1> at, In<i64, 1> start, In<double, 1> y,
                        In<double, 1> C, int slack, double tol, i64 visits, Out<double, 1> b,
                        Out<double> results, int threads) {
    const OneVsOneProblems problems{static_cast<i64>(results.shape(0)), at.data(), start.data(), y.data(),
                      C.data()};
    Release release;
    smo_one_vs_one<S>(K.data(), K.shape(0), problems, slack, tol, visits, b.data(),
                 reinterpret_cast<OneVsOneResult*>(results.data()), threads);
  }, "K"_a.noconvert(), "at"_a.noconvert(), "start"_a.noconvert(), "y"_a.noconvert(),
     "C"_a.noconvert(), "slack"_a, "tol"_a, "visits"_a, "b"_a.noconvert(),
     "results"_a.noconvert(), "threads"_a);
}

template <class T> void bind_coordinate(nb::module_& m) {
  m.def("coordinate_passes", [](In<T, 1> data, std::optional<In<i64, 1>> indices,
                                std::optional<In<i64, 1>> indptr, i64 d, double scale, double eps,
                                In<double> terms, Out<double, 1> b, Out<double, 1> w,
                                Out<i64, 1> order, i64 active, double far, std::uint64_t seed,
                                double goal, i64 visits) {
    const i64 n = b.shape(0);
    const double* r = terms.data();  // square, t, s, lower, upper: five rows of n
    const CoordinateProblem<T> problem{data.data(), indices ? indices->data() : nullptr,
                                       indptr ? indptr->data() : nullptr, d, scale, eps, r, r + n,
                                       r + 2 * n, r + 3 * n, r + 4 * n, b.data(), w.data(),
                                       smo_loops()};
    CoordinateState state{order.data(), n, active, far, 0, seed};
    i64 seen;
    {
      Release release;
      seen = coordinate_passes<T>(problem, state, goal, visits);
    }
    return std::tuple<i64, i64, double, double, std::uint64_t>(seen, state.active, state.far,
                                                               state.violation, state.seed);
  }, "data"_a.noconvert(), "indices"_a.noconvert().none(), "indptr"_a.noconvert().none(), "d"_a,
     "scale"_a, "eps"_a, "terms"_a.noconvert(), "b"_a.noconvert(), "w"_a.noconvert(),
     "order"_a.noconvert(), "active"_a, "far"_a, "seed"_a, "goal"_a, "visits"_a);
}

}  // namespace

void bind_svm(nb::module_& m) {
  bind_gradient<float, float>(m);
  bind_gradient<double, float>(m);
  bind_gradient<double, double>(m);
  bind_add<float>(m);
  bind_add<double>(m);
  bind_add_bits(m);
  bind_bits<float>(m);
  bind_bits<double>(m);
  bind_coordinate<float>(m);
  bind_coordinate<double>(m);
  bind_one_vs_one<float>(m);
  bind_one_vs_one<double>(m);
  bind_pairs<float>(m);
  bind_pairs<double>(m);
  m.def("smo_select", [](In<i64, 1> point, In<double, 1> t, In<double, 1> s,
                         In<double, 1> lower, In<double, 1> upper, In<double, 1> b,
                         In<double, 1> g, In<unsigned char, 1> kept, i64 ask,
                         Out<double, 1> f, Out<i64, 1> chosen, Out<double, 1> extremes) {
    const Variables v{static_cast<i64>(point.shape(0)), point.data(), t.data(), s.data(),
                      lower.data(), upper.data(), b.data(), g.data()};
    Release release;
    return smo_select(v, kept.data(), ask, f.data(), chosen.data(), extremes.data());
  }, "point"_a.noconvert(), "t"_a.noconvert(), "s"_a.noconvert(), "lower"_a.noconvert(),
     "upper"_a.noconvert(), "b"_a.noconvert(), "g"_a.noconvert(), "kept"_a.noconvert(), "ask"_a,
     "f"_a.noconvert(), "chosen"_a.noconvert(), "extremes"_a.noconvert());
}

}  // namespace kg
