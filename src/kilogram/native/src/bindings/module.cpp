// The Python module `kilogram.native._core`: NumPy buffers to raw views, nothing else.
// Arguments never convert: a wrong type is an error here, and the wrappers in Python say which.
#include "bindings/arrays.hpp"
#include "linalg/blas.hpp"
#include "simd/loops.hpp"

#include <nanobind/stl/string.h>
#include <omp.h>

#include <string>

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace kg {

// Each is defined in the file of bindings/ that its comment names.
void bind_kernels(nb::module_& m);  // kernels.cpp
void bind_sums(nb::module_& m);  // sums.cpp
void bind_svm(nb::module_& m);  // svm.cpp
void bind_logistic(nb::module_& m);  // logistic.cpp
void bind_sparse(nb::module_& m);  // logistic_sparse.cpp
void bind_stochastic(nb::module_& m);  // stochastic.cpp
void bind_coordinate(nb::module_& m);  // coordinate.cpp
void bind_classes(nb::module_& m);  // class_sums.cpp
void bind_kmeans(nb::module_& m);  // kmeans.cpp
void bind_concentration(nb::module_& m);  // concentration.cpp
void bind_factors(nb::module_& m);  // factorization.cpp
void bind_mixture(nb::module_& m);  // mixture.cpp
void bind_density(nb::module_& m);  // density.cpp
void bind_structure(nb::module_& m);  // linkage.cpp
void bind_graph(nb::module_& m);  // graph.cpp
void bind_neighbors(nb::module_& m);  // neighbors.cpp
void bind_trees(nb::module_& m);  // trees.cpp
void bind_additive(nb::module_& m);  // additive.cpp
void bind_boosting(nb::module_& m);  // boosting.cpp

namespace {

// The vectorised functions by name, for the tests.
template <class T> void bind_functions(nb::module_& m) {
  m.def("elementwise", [](const std::string& name, In<T, 1> x, Out<T, 1> y) {
    const Loops<T>& table = loops<T>();
    const auto f = name == "exp" ? table.exp : name == "cos" ? table.cos : table.log;
    f(x.data(), y.data(), static_cast<i64>(x.shape(0)));
  }, "name"_a, "x"_a.noconvert(), "y"_a.noconvert());
}

}  // namespace
}  // namespace kg

NB_MODULE(_core, m) {
  // Not done while the module is imported: the stub generator imports it where SciPy is missing.
  m.attr("source_digest") = KG_SOURCE_DIGEST;  // see source_digest.py
  m.def("load_blas", &kg::load_blas);
  kg::bind_kernels(m);
  kg::bind_sums(m);
  kg::bind_svm(m);
  kg::bind_logistic(m);
  kg::bind_stochastic(m);
  kg::bind_sparse(m);
  kg::bind_coordinate(m);
  kg::bind_classes(m);
  kg::bind_kmeans(m);
  kg::bind_concentration(m);
  kg::bind_factors(m);
  kg::bind_mixture(m);
  kg::bind_density(m);
  kg::bind_structure(m);
  kg::bind_graph(m);
  kg::bind_neighbors(m);
  kg::bind_trees(m);
  kg::bind_additive(m);
  kg::bind_boosting(m);
  kg::bind_functions<float>(m);
  kg::bind_functions<double>(m);
  m.def("simd_level", &kg::simd_level);
  m.def("set_simd_level", [](const std::string& name) { kg::set_simd_level(name.c_str()); }, "name"_a);
  m.def("max_threads", &omp_get_max_threads);
}
