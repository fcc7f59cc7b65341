// Bindings of the passes of matrix factors (factorization/dense.cpp, factorization/sparse.cpp).
#include "bindings/arrays.hpp"
#include "factorization/factorization.hpp"
#include "factorization/loops.hpp"
#include "linalg/blas.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

using Terms = std::pair<double, double>;

void fits(bool well) {
  if (!well) throw std::invalid_argument("the rows and the factors do not fit together");
}

template <class T> void bind_dense(nb::module_& m) {
  m.def("factor_pass", [](Strided<T> X, Out<T, 2> W, In<T> H, In<T> B, In<T, 1> c,
                          std::optional<In<T, 1>> s, int update, i64 sweeps, double tol, double l1,
                          double l2, double floor, bool missing, bool measure,
                          std::optional<Out<T, 2>> A, Out<double, 2> gram, int threads) {
    const Rows<T> x = rows_of(X);
    const i64 k = H.shape(0);
    fits(i64(W.shape(0)) == x.n && i64(W.shape(1)) == k && i64(H.shape(1)) == x.d &&
         i64(B.shape(0)) == k && i64(B.shape(1)) == k && i64(c.shape(0)) == k &&
         (!s || i64(s->shape(0)) == x.n) && i64(gram.shape(0)) == k &&
         i64(gram.shape(1)) == k + 1 && (!A || (i64(A->shape(0)) == k && i64(A->shape(1)) == x.d)));
    const FactorPass<T> pass{x, W.data(), H.data(), B.data(), c.data(), k, s ? s->data() : nullptr,
                             update, sweeps, T(tol), T(l1), T(l2), T(floor), missing, measure,
                             A ? A->data() : nullptr, gram.data()};
    Release release;
    const FactorTerms found = factor_pass<T>(pass, threads);
    return Terms(found.violation, found.loss);
  }, "X"_a.noconvert(), "W"_a.noconvert(), "H"_a.noconvert(), "B"_a.noconvert(), "c"_a.noconvert(),
     "s"_a.noconvert().none(), "update"_a, "sweeps"_a, "tol"_a, "l1"_a, "l2"_a, "floor"_a,
     "missing"_a, "measure"_a, "A"_a.noconvert().none(), "gram"_a.noconvert(), "threads"_a);
  m.def("factor_sweep", [](Out<T, 2> H, In<T> A, In<T> B, i64 sweeps, double l1, int threads) {
    const i64 k = H.shape(0), d = H.shape(1);
    fits(i64(A.shape(0)) == k && i64(A.shape(1)) == d && i64(B.shape(0)) == k && i64(B.shape(1)) == k);
    Release release;
    const FactorTerms found =
        factor_sweep<T>(H.data(), A.data(), B.data(), k, d, sweeps, T(l1), threads);
    return Terms(found.violation, found.loss);
  }, "H"_a.noconvert(), "A"_a.noconvert(), "B"_a.noconvert(), "sweeps"_a, "l1"_a, "threads"_a);
  m.def("factor_gram", [](In<T> F, std::optional<In<T, 1>> s, Out<double, 2> gram, int threads) {
    const i64 n = F.shape(0), ld = F.shape(1), k = gram.shape(0);
    fits(k <= ld && i64(gram.shape(1)) == k + 1 && (!s || i64(s->shape(0)) == n));
    Release release;
    factor_gram<T>(F.data(), n, ld, k, s ? s->data() : nullptr, gram.data(), threads);
  }, "F"_a.noconvert(), "s"_a.noconvert().none(), "gram"_a.noconvert(), "threads"_a);
  m.def("run_ahead", [](In<T> now, In<T> before, double b, Out<T, 2> out, int threads) {
    fits(now.shape(0) == out.shape(0) && now.shape(1) == out.shape(1) &&
         before.shape(0) == out.shape(0) && before.shape(1) == out.shape(1));
    Release release;
    run_ahead<T>(now.data(), before.data(), T(b), i64(out.size()), out.data(), threads);
  }, "now"_a.noconvert(), "before"_a.noconvert(), "b"_a, "out"_a.noconvert(), "threads"_a);
  m.def("contrast_pass", [](Strided<T> X, In<T> M, int kind, double alpha, Out<T, 2> G,
                            Out<double, 1> slope, Out<double, 1> value, int threads) {
    const Rows<T> x = rows_of(X);
    const i64 k = M.shape(0);
    fits(i64(M.shape(1)) == x.d && i64(G.shape(0)) == k && i64(G.shape(1)) == x.d &&
         i64(slope.shape(0)) == k && i64(value.shape(0)) == k);
    Release release;
    contrast_pass<T>(x, M.data(), k, kind, T(alpha), G.data(), slope.data(), value.data(), threads);
  }, "X"_a.noconvert(), "M"_a.noconvert(), "kind"_a, "alpha"_a, "G"_a.noconvert(),
     "slope"_a.noconvert(), "value"_a.noconvert(), "threads"_a);
}

// n rows in CSR
template <class T, class I>
bool holds(const In<T, 1>& entries, const In<I, 1>& columns, const In<I, 1>& starts, i64 n) {
  return i64(starts.shape(0)) == n + 1 && starts.data()[n] <= i64(entries.shape(0)) &&
         entries.shape(0) == columns.shape(0);
}

template <class T, class I> void bind_sparse_rows(nb::module_& m) {
  m.def("factor_sparse", [](In<T, 1> entries, In<I, 1> columns, In<I, 1> starts, In<T> from, Out<T, 2> W,
                            In<T> F, In<T> B, In<T, 1> c, int update, i64 sweeps, double tol,
                            double l1, double l2, double floor, bool measure, bool value,
                            int threads) {
    const i64 n = W.shape(0), k = B.shape(0), ld = W.shape(1);
    fits(holds<T, I>(entries, columns, starts, n) && i64(F.shape(1)) == ld &&
         i64(B.shape(1)) == k && i64(c.shape(0)) == k && ld >= k && i64(from.shape(0)) == n &&
         i64(from.shape(1)) == ld);
    const SparseRows<T, I> x{entries.data(), columns.data(), starts.data(), n, i64(F.shape(0))};
    const SparseFactorPass<T, I> pass{x, from.data(), W.data(), F.data(), B.data(), c.data(), k, ld,
                                      update, sweeps, T(tol), T(l1), T(l2), T(floor), measure,
                                      value};
    Release release;
    const FactorTerms found = factor_sparse<T, I>(pass, threads);
    return Terms(found.violation, found.loss);
  }, "entries"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(),
     "from_"_a.noconvert(), "W"_a.noconvert(), "F"_a.noconvert(), "B"_a.noconvert(),
     "c"_a.noconvert(), "update"_a, "sweeps"_a, "tol"_a, "l1"_a, "l2"_a, "floor"_a, "measure"_a,
     "value"_a, "threads"_a);
  m.def("sparse_times", [](In<T, 1> entries, In<I, 1> columns, In<I, 1> starts, In<T> F, Out<T, 2> out,
                           int threads) {
    const i64 n = out.shape(0), ld = out.shape(1);
    fits(holds<T, I>(entries, columns, starts, n) && i64(F.shape(1)) == ld);
    const SparseRows<T, I> x{entries.data(), columns.data(), starts.data(), n, i64(F.shape(0))};
    Release release;
    sparse_times<T, I>(x, F.data(), ld, out.data(), threads);
  }, "entries"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(), "F"_a.noconvert(),
     "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_factors(nb::module_& m) {
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse_rows<float, std::int32_t>(m);
  bind_sparse_rows<float, i64>(m);
  bind_sparse_rows<double, std::int32_t>(m);
  bind_sparse_rows<double, i64>(m);
  m.def("factor_lanes", [](bool wide) {
    return wide ? factor_loops<double>().lanes : factor_loops<float>().lanes;
  }, "wide"_a);
}

}  // namespace kg
