// Fetches SciPy's BLAS and LAPACK routines from its Cython capsules.
#include "linalg/blas.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace kg {
namespace {

template <class F> void fetch(nb::handle table, const char* name, F& slot) {
  nb::object capsule = nb::steal(PyObject_GetItem(table.ptr(), nb::str(name).ptr()));
  if (!capsule.is_valid()) nb::raise_python_error();
  void* address = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
  if (!address) nb::raise_python_error();
  slot = reinterpret_cast<F>(address);
}

}  // namespace

void load_blas() {
  nb::object blas = nb::module_::import_("scipy.linalg.cython_blas").attr("__pyx_capi__");
  nb::object lapack = nb::module_::import_("scipy.linalg.cython_lapack").attr("__pyx_capi__");
  fetch(blas, "dgemm", Blas<double>::gemm);
  fetch(blas, "sgemm", Blas<float>::gemm);
  fetch(blas, "dgemv", Blas<double>::gemv);
  fetch(blas, "sgemv", Blas<float>::gemv);
  fetch(lapack, "dpotrf", Blas<double>::potrf);
  fetch(lapack, "spotrf", Blas<float>::potrf);
}

}  // namespace kg
