// Bindings of kernel matrices and their products (kernels/).
#include "bindings/arrays.hpp"
#include "common/interrupt.hpp"
#include "kernels/kernels.hpp"
#include "kernels/spec.hpp"
#include "linalg/blas.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace kg {

// Also used by bindings/svm.cpp.
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

namespace {

using Params = std::vector<double>;

template <class T> void bind_kernels_of(nb::module_& m) {
  m.def("kernel_block", [](const std::string& kind, Strided<T> X, Strided<T> Y, bool same, const Params& p,
                           Out<T> out, int threads) {
    const Spec spec = make_spec(kind, p);
    const auto x = rows_of(X), y = rows_of(Y);
    Release release;
    kernel_block<T>(spec, x, y, same, out.data(), std::max<i64>(y.n, 1), threads);
  }, "kind"_a, "X"_a.noconvert(), "Y"_a.noconvert(), "same"_a, "params"_a, "out"_a.noconvert(),
     "threads"_a);
  m.def("half_matmul", [](In<T, 1> half, In<T> V, Out<T> out, int threads) {
    const i64 n = static_cast<i64>(V.shape(0)), t = static_cast<i64>(V.shape(1));
    Release release;
    half_matmul<T>(half.data(), n, V.data(), t, out.data(), threads);
  }, "half"_a.noconvert(), "V"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
  m.def("kernel_matmul", [](const std::string& kind, Strided<T> X, Strided<T> Y, bool same, const Params& p,
                            In<T> V, Out<T> out, int threads) {
    const Spec spec = make_spec(kind, p);
    const auto x = rows_of(X), y = rows_of(Y);
    Release release;
    kernel_matmul<T>(spec, x, y, same, V.data(), V.shape(1), out.data(), threads);
  }, "kind"_a, "X"_a.noconvert(), "Y"_a.noconvert(), "same"_a, "params"_a, "V"_a.noconvert(),
     "out"_a.noconvert(), "threads"_a);
  m.def("kernel_normal_matmul", [](const std::string& kind, Strided<T> X, Strided<T> C, const Params& p,
                                   In<T> V, std::optional<In<T, 1>> w, Out<T> out, int threads) {
    const Spec spec = make_spec(kind, p);
    const auto x = rows_of(X), c = rows_of(C);
    const T* weights = pointer(w);
    Release release;
    kernel_normal_matmul<T>(spec, x, c, V.data(), V.shape(1), weights, out.data(), threads);
  }, "kind"_a, "X"_a.noconvert(), "C"_a.noconvert(), "params"_a, "V"_a.noconvert(),
     "w"_a.noconvert().none(), "out"_a.noconvert(), "threads"_a);
  m.def("normal_matmul", [](In<T> K, In<T> V, std::optional<In<T, 1>> w, Out<T> out, int threads) {
    const auto k = rows_of(K);
    const T* weights = pointer(w);
    Release release;
    normal_matmul<T>(k, V.data(), V.shape(1), weights, out.data(), threads);
  }, "K"_a.noconvert(), "V"_a.noconvert(), "w"_a.noconvert().none(), "out"_a.noconvert(),
     "threads"_a);
}

}  // namespace

void bind_kernels(nb::module_& m) {
  bind_kernels_of<float>(m);
  bind_kernels_of<double>(m);
  m.attr("half_rows") = kHalfRows;
}

}  // namespace kg
