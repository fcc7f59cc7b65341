// Bindings of concentration steps (statistics/concentration.cpp).
#include "statistics/concentration.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace kg {

void bind_concentration(nb::module_& m) {
  using In = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  using Means = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  using Covariances = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
  using Marks = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  using Values = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  m.def("determinant_steps", [](In Xt, i64 h, i64 steps, Means m, Covariances C, Marks kept, Values logdet,
                                int threads) {
    const Concentration p{Xt.data(), i64(Xt.shape(1)), i64(Xt.shape(0)), h, steps};
    nb::gil_scoped_release release;
    determinant_steps(p, i64(m.shape(0)), m.data(), C.data(), kept.data(), logdet.data(), threads);
  }, "Xt"_a.noconvert(), "h"_a, "steps"_a, "m"_a.noconvert(), "C"_a.noconvert(), "kept"_a.noconvert(),
     "logdet"_a.noconvert(), "threads"_a);
}

}  // namespace kg
