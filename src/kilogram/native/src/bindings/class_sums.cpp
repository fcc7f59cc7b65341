// Bindings of the sums over the rows of classes (statistics/class_sums.cpp).
#include "bindings/arrays.hpp"
#include "linalg/blas.hpp"
#include "statistics/sums.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

// Codes index the sums: one that is out of range would write elsewhere.
void refuse_unless(bool codes_are_classes) {
  if (!codes_are_classes)
    throw std::invalid_argument("a class code is negative or not below the number of classes");
}

void check_codes(const In<i64, 1>& codes, i64 K) {
  const auto* c = reinterpret_cast<const std::uint64_t*>(codes.data());
  const std::uint64_t most = K;
  std::uint64_t bad = 0;
  for (std::size_t i = 0; i < codes.shape(0); ++i) bad |= c[i] >= most;  // a negative one is large
  refuse_unless(!bad);
}

// X as rows, the others as long; the codes are not looked at
template <class T>
Rows<T> as_long(const Strided<T>& X, const In<i64, 1>& codes, const std::optional<In<T, 1>>& w) {
  const i64 n = X.shape(0), d = X.shape(1);
  check_int(n, "the number of rows");
  check_int(d, "the number of columns");
  if (i64(codes.shape(0)) != n || (w && i64(w->shape(0)) != n))
    throw std::invalid_argument("X, codes and weights do not fit together");
  return {X.data(), n, d, X.stride(0), X.stride(1)};
}

template <class T>
Rows<T> labelled(const Strided<T>& X, const In<i64, 1>& codes, i64 K, const std::optional<In<T, 1>>& w) {
  check_codes(codes, K);
  return as_long<T>(X, codes, w);
}

template <class T> void check_shifts(const Strided<T>& X, const In<T>& shifts) {
  refuse_unless(shifts.shape(0) > 0 || X.shape(0) == 0);
  if (shifts.shape(1) != X.shape(1)) throw std::invalid_argument("X and shifts do not fit together");
}

template <class T, int k> void fits(const Out<T, k>& out, const std::array<i64, k>& shape) {
  for (int a = 0; a < k; ++a)
    if (i64(out.shape(a)) != shape[a]) throw std::invalid_argument("out is too small for the sums");
}

template <class T> const T* at(const std::optional<In<T, 1>>& w) { return w ? w->data() : nullptr; }

template <class T> void bind_counts(nb::module_& m) {
  m.def("class_counts", [](Strided<T> X, In<i64, 1> codes, std::optional<In<T, 1>> w, Out<double, 2> out,
                           Out<T, 1> low, int threads) {
    const Rows<T> x = labelled<T>(X, codes, out.shape(0), w);
    fits<double, 2>(out, {i64(out.shape(0)), x.d});
    fits<T, 1>(low, {x.d});
    Release release;
    class_counts<T>(x, codes.data(), out.shape(0), at(w), out.data(), low.data(), threads);
  }, "X"_a.noconvert(), "codes"_a.noconvert(), "w"_a.noconvert().none(), "out"_a.noconvert(),
     "low"_a.noconvert(), "threads"_a);
  m.def("class_presence", [](Strided<T> X, In<i64, 1> codes, double threshold, std::optional<In<T, 1>> w,
                             Out<double, 3> out, int threads) {
    const Rows<T> x = labelled<T>(X, codes, out.shape(1), w);
    fits<double, 3>(out, {2, i64(out.shape(1)), x.d});
    Release release;
    class_presence<T>(x, codes.data(), out.shape(1), T(threshold), at(w), out.data(), threads);
  }, "X"_a.noconvert(), "codes"_a.noconvert(), "threshold"_a, "w"_a.noconvert().none(),
     "out"_a.noconvert(), "threads"_a);
  m.def("column_ranges", [](Strided<T> X, double most, Out<T, 2> out, int threads) {
    const Rows<T> x{X.data(), i64(X.shape(0)), i64(X.shape(1)), X.stride(0), X.stride(1)};
    fits<T, 2>(out, {3, x.d});
    Release release;
    column_ranges<T>(x, T(most), out.data(), threads);
  }, "X"_a.noconvert(), "most"_a, "out"_a.noconvert(), "threads"_a);
  m.def("class_categories", [](Strided<T> X, In<i64, 1> codes, In<i64, 1> offsets, std::optional<In<T, 1>> w,
                               Out<double, 2> out, int threads) {
    const Rows<T> x = labelled<T>(X, codes, out.shape(0), w);
    const i64* starts = offsets.data();
    if (i64(offsets.shape(0)) != x.d + 1 || starts[0] != 0 || !std::is_sorted(starts, starts + x.d + 1))
      throw std::invalid_argument("offsets must rise from 0, one more than there are columns");
    fits<double, 2>(out, {i64(out.shape(0)), starts[x.d]});
    Release release;
    class_categories<T>(x, codes.data(), out.shape(0), starts, at(w), out.data(), threads);
  }, "X"_a.noconvert(), "codes"_a.noconvert(), "offsets"_a.noconvert(), "w"_a.noconvert().none(),
     "out"_a.noconvert(), "threads"_a);
}

template <class T> void bind(nb::module_& m) {
  m.def("class_scatter", [](Strided<T> X, In<i64, 1> codes, In<T> shifts, std::optional<In<T, 1>> root_w,
                            Out<double, 3> S, int threads) {
    check_shifts<T>(X, shifts);
    const Rows<T> x = as_long<T>(X, codes, root_w);
    const i64 K = shifts.shape(0), ld = S.shape(2);
    if (i64(S.shape(0)) != K || S.shape(1) != S.shape(2) || ld < x.d + 1 || ld % kPadding)
      throw std::invalid_argument("S is too small for the sums");
    const T* w = root_w ? root_w->data() : nullptr;
    Release release;
    refuse_unless(class_scatter<T>(x, codes.data(), K, shifts.data(), w, S.data(), ld, threads));
  }, "X"_a.noconvert(), "codes"_a.noconvert(), "shifts"_a.noconvert(),
     "root_w"_a.noconvert().none(), "S"_a.noconvert(), "threads"_a);
  m.def("within_scatter", [](Strided<T> X, In<i64, 1> codes, In<T> shifts, std::optional<In<T, 1>> root_w,
                             Out<double, 2> S, Out<double, 2> sums, Out<double, 1> counts,
                             int threads) {
    check_shifts<T>(X, shifts);
    const Rows<T> x = as_long<T>(X, codes, root_w);
    const i64 K = shifts.shape(0), ld = S.shape(1);
    if (S.shape(0) != S.shape(1) || ld < x.d || ld % kPadding || i64(sums.shape(0)) != K ||
        i64(sums.shape(1)) != x.d || i64(counts.shape(0)) != K)
      throw std::invalid_argument("S is too small for the sums");
    const T* w = root_w ? root_w->data() : nullptr;
    Release release;
    refuse_unless(within_scatter<T>(x, codes.data(), K, shifts.data(), w, S.data(), ld, sums.data(),
                                    counts.data(), threads));
  }, "X"_a.noconvert(), "codes"_a.noconvert(), "shifts"_a.noconvert(),
     "root_w"_a.noconvert().none(), "S"_a.noconvert(), "sums"_a.noconvert(), "counts"_a.noconvert(),
     "threads"_a);
  m.def("class_powers", [](Strided<T> X, In<i64, 1> codes, In<T> shifts, std::optional<In<T, 1>> w,
                           Out<double, 3> out, int threads) {
    check_shifts<T>(X, shifts);
    const i64 K = shifts.shape(0);
    const Rows<T> x = labelled<T>(X, codes, K, w);
    if (out.shape(0) < 1 || out.shape(0) > 3 || i64(out.shape(1)) != K || i64(out.shape(2)) != x.d)
      throw std::invalid_argument("out is too small for the sums");
    const T* weights = w ? w->data() : nullptr;
    Release release;
    class_powers<T>(x, codes.data(), K, shifts.data(), weights, out.shape(0), out.data(), threads);
  }, "X"_a.noconvert(), "codes"_a.noconvert(), "shifts"_a.noconvert(), "w"_a.noconvert().none(),
     "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_classes(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
  bind_counts<float>(m);
  bind_counts<double>(m);
  m.def("labels_present", [](In<i64, 1> labels, Out<std::uint8_t, 1> present) {
    return labels_present(labels.data(), labels.shape(0), present.shape(0), present.data());
  }, "labels"_a.noconvert(), "present"_a.noconvert());
}

}  // namespace kg
