// What lets Ctrl-C end a long call: Python's own handler runs here and raises.
#include "common/interrupt.hpp"

#include <chrono>
#include <nanobind/nanobind.h>
#include <thread>

namespace kg {

namespace {

bool shutting_down() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

void wait_for_the_end() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

Release::Release() : state_(PyEval_SaveThread()) {}

Release::~Release() {
  if (shutting_down()) wait_for_the_end();
  try {
    PyEval_RestoreThread(state_);
  } catch (...) {  // the shutdown began while this thread waited for the lock
    wait_for_the_end();
  }
}

void check_interrupt() {
  using Clock = std::chrono::steady_clock;
  static thread_local Clock::time_point asked = Clock::now();
  const Clock::time_point now = Clock::now();
  if (now - asked < std::chrono::milliseconds(50)) return;
  asked = now;
  if (shutting_down()) wait_for_the_end();
  const nanobind::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace kg
