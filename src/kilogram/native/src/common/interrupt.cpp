// What lets Ctrl-C end a long call: Python's own handler runs here and raises.
#include "common/interrupt.hpp"

#include <chrono>
#include <nanobind/nanobind.h>

namespace kg {

void check_interrupt() {
  using Clock = std::chrono::steady_clock;
  static thread_local Clock::time_point asked = Clock::now();
  const Clock::time_point now = Clock::now();
  if (now - asked < std::chrono::milliseconds(50)) return;
  asked = now;
  const nanobind::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace kg
