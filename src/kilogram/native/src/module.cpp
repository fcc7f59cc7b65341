// The Python module `kilogram.native._core`: NumPy buffers to raw views, nothing else.
// Arguments never convert: a wrong type is an error here, and the wrappers in Python say which.
#include "blas.hpp"
#include "core.hpp"
#include "loops.hpp"
#include "spec.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <omp.h>

#include <string>

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

}  // namespace

// Also used by svm_module.cpp.
Spec make_spec(const std::string& kind, const std::vector<double>& params) {
  static const struct { const char* name; int kind; std::size_t params; } kinds[] = {
      {"linear", kLinear, 0},         {"polynomial", kPolynomial, 3},
      {"gaussian", kGaussian, 1},     {"laplacian", kLaplacian, 1},
      {"matern12", kMatern12, 1},     {"matern32", kMatern32, 1},
      {"matern52", kMatern52, 1},     {"rational_quadratic", kRationalQuadratic, 2},
      {"chi2", kChi2, 1},             {"allsubsets", kAllSubsets, 0},
  };
  for (const auto& k : kinds)
    if (kind == k.name) {
      if (params.size() != k.params)
        throw std::invalid_argument("kernel '" + kind + "' takes " + std::to_string(k.params) +
                                    " parameters, not " + std::to_string(params.size()));
      Spec spec{k.kind, {0, 0, 0}};
      std::copy(params.begin(), params.end(), spec.params);
      return spec;
    }
  throw std::invalid_argument("no native kernel is called '" + kind + "'");
}

void bind_svm(nb::module_& m);       // svm_module.cpp
void bind_logistic(nb::module_& m);  // logistic_module.cpp
void bind_sparse(nb::module_& m);    // sparse_module.cpp
void bind_classes(nb::module_& m);  // class_module.cpp
void bind_kmeans(nb::module_& m);   // kmeans_module.cpp
void bind_factors(nb::module_& m);  // factor_module.cpp
void bind_mixture(nb::module_& m);  // mixture_module.cpp
void bind_density(nb::module_& m);  // density_module.cpp
void bind_structure(nb::module_& m);  // structure_module.cpp
void bind_graph(nb::module_& m);    // graph_module.cpp
void bind_trees(nb::module_& m);    // trees_module.cpp

namespace {

void check_sums(const Out<double>& S, i64 D) {
  const i64 n = S.shape(0), ld = S.shape(1);
  if (n != ld || ld < D || ld % kPadding) throw std::invalid_argument("S has no room for the sums");
}

using Params = std::vector<double>;
using Release = nb::gil_scoped_release;

template <class T> void bind_kernels(nb::module_& m) {
  m.def("kernel_block", [](const std::string& kind, In<T> X, In<T> Y, bool same, const Params& p,
                           Out<T> out, int threads) {
    const Spec spec = make_spec(kind, p);
    const auto x = view(X), y = view(Y);
    Release release;
    kernel_block<T>(spec, x, y, same, out.data(), std::max<i64>(y.n, 1), threads);
  }, "kind"_a, "X"_a.noconvert(), "Y"_a.noconvert(), "same"_a, "params"_a, "out"_a.noconvert(),
     "threads"_a);
  m.def("half_matmul", [](InV<T> half, InC<T> V, Out<T> out, int threads) {
    const i64 n = static_cast<i64>(V.shape(0)), t = static_cast<i64>(V.shape(1));
    Release release;
    half_matmul<T>(half.data(), n, V.data(), t, out.data(), threads);
  }, "half"_a.noconvert(), "V"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
  m.def("kernel_matmul", [](const std::string& kind, In<T> X, In<T> Y, bool same, const Params& p,
                            InC<T> V, Out<T> out, int threads) {
    const Spec spec = make_spec(kind, p);
    const auto x = view(X), y = view(Y);
    Release release;
    kernel_matmul<T>(spec, x, y, same, V.data(), V.shape(1), out.data(), threads);
  }, "kind"_a, "X"_a.noconvert(), "Y"_a.noconvert(), "same"_a, "params"_a, "V"_a.noconvert(),
     "out"_a.noconvert(), "threads"_a);
  m.def("kernel_normal_matmul", [](const std::string& kind, In<T> X, In<T> C, const Params& p,
                                   InC<T> V, std::optional<InV<T>> w, Out<T> out, int threads) {
    const Spec spec = make_spec(kind, p);
    const auto x = view(X), c = view(C);
    const T* weights = pointer<T>(w);
    Release release;
    kernel_normal_matmul<T>(spec, x, c, V.data(), V.shape(1), weights, out.data(), threads);
  }, "kind"_a, "X"_a.noconvert(), "C"_a.noconvert(), "params"_a, "V"_a.noconvert(),
     "w"_a.noconvert().none(), "out"_a.noconvert(), "threads"_a);
  m.def("normal_matmul", [](InC<T> K, InC<T> V, std::optional<InV<T>> w, Out<T> out, int threads) {
    const auto k = view(K);
    const T* weights = pointer<T>(w);
    Release release;
    normal_matmul<T>(k, V.data(), V.shape(1), weights, out.data(), threads);
  }, "K"_a.noconvert(), "V"_a.noconvert(), "w"_a.noconvert().none(), "out"_a.noconvert(),
     "threads"_a);
}

template <class T> void bind_sums(nb::module_& m) {
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

// The vectorised functions by name, for the tests.
template <class T> void bind_functions(nb::module_& m) {
  m.def("elementwise", [](const std::string& name, InV<T> x,
                          nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu> y) {
    const Loops<T>& table = loops<T>();
    const auto f = name == "exp" ? table.exp : name == "cos" ? table.cos : table.log;
    f(x.data(), y.data(), static_cast<i64>(x.shape(0)));
  }, "name"_a, "x"_a.noconvert(), "y"_a.noconvert());
}

}  // namespace
}  // namespace kg

NB_MODULE(_core, m) {
  kg::load_blas();
  kg::bind_kernels<float>(m);
  kg::bind_kernels<double>(m);
  kg::bind_sums<float>(m);
  kg::bind_sums<double>(m);
  kg::bind_functions<float>(m);
  kg::bind_functions<double>(m);
  kg::bind_svm(m);
  kg::bind_logistic(m);
  m.attr("half_rows") = kg::kHalfRows;
  kg::bind_sparse(m);
  kg::bind_classes(m);
  kg::bind_kmeans(m);
  kg::bind_factors(m);
  kg::bind_mixture(m);
  kg::bind_density(m);
  kg::bind_structure(m);
  kg::bind_graph(m);
  kg::bind_trees(m);
  m.def("simd_level", &kg::simd_level);
  m.def("set_simd_level", [](const std::string& name) { kg::set_simd_level(name.c_str()); });
  m.def("max_threads", &omp_get_max_threads);
}
