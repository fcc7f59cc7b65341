// Bindings of the pass of a Gaussian mixture (mixture/mixture.cpp).
#include "bindings/arrays.hpp"
#include "mixture/mixture.hpp"

#include <nanobind/stl/optional.h>

#include <stdexcept>

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

template <class T> void bind(nb::module_& m) {
  m.def("mixture_pass", [](Strided<T> X, std::optional<In<T, 1>> w, In<T, 1> shift, In<T, 2> means,
                           In<T, 2> factors, In<T, 1> constants, bool diagonal,
                           std::optional<Out<T, 2>> responsibilities, bool joint,
                           std::optional<Out<T, 1>> norms, std::optional<Out<double, 2>> sums,
                           int threads) {
    const i64 n = X.shape(0), d = X.shape(1), k = means.shape(0);
    const i64 width = diagonal ? 1 + 2 * d : 1 + d + d * d;
    const bool fits = i64(shift.shape(0)) == d && i64(means.shape(1)) == d && k > 0 &&
                      i64(factors.shape(0)) == k &&
                      i64(factors.shape(1)) == (diagonal ? d : d * d) &&
                      i64(constants.shape(0)) == k && (!w || i64(w->shape(0)) == n) &&
                      (!norms || i64(norms->shape(0)) == n) &&
                      (!responsibilities || (i64(responsibilities->shape(0)) == n && i64(responsibilities->shape(1)) == k)) &&
                      (!sums || (i64(sums->shape(0)) == k && i64(sums->shape(1)) == width));
    if (!fits) throw std::invalid_argument("rows, components and results do not fit together");
    if (responsibilities && sums) throw std::invalid_argument("responsibilities or sums, not both: sums are weighted");
    const MixturePass<T> pass{{X.data(), n, d, X.stride(0), X.stride(1)},
                              pointer(w), shift.data(), k, means.data(), factors.data(),
                              constants.data(), diagonal, pointer(responsibilities), joint && responsibilities,
                              pointer(norms), pointer(sums)};
    Release release;
    return mixture_pass<T>(pass, threads);
  }, "X"_a.noconvert(), "w"_a.noconvert().none(), "shift"_a.noconvert(), "means"_a.noconvert(),
     "factors"_a.noconvert(), "constants"_a.noconvert(), "diagonal"_a, "responsibilities"_a.noconvert().none(),
     "joint"_a, "norms"_a.noconvert().none(), "sums"_a.noconvert().none(), "threads"_a);
}

}  // namespace

void bind_mixture(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace kg
