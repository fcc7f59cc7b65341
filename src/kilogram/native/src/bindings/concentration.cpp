// Bindings of concentration steps (statistics/concentration.cpp).
#include "bindings/arrays.hpp"
#include "statistics/concentration.hpp"

namespace kg {

void bind_concentration(nb::module_& m) {
  m.def("determinant_steps", [](In<double> Xt, i64 h, i64 steps, Out<double> m, Out<double, 3> C, Out<std::uint8_t> kept, Out<double, 1> logdet,
                                int threads) {
    const Concentration p{Xt.data(), i64(Xt.shape(1)), i64(Xt.shape(0)), h, steps};
    nb::gil_scoped_release release;
    determinant_steps(p, i64(m.shape(0)), m.data(), C.data(), kept.data(), logdet.data(), threads);
  }, "Xt"_a.noconvert(), "h"_a, "steps"_a, "m"_a.noconvert(), "C"_a.noconvert(), "kept"_a.noconvert(),
     "logdet"_a.noconvert(), "threads"_a);
}

}  // namespace kg
