// A long call can be interrupted between its steps, and outlive the interpreter.
#pragma once

struct _ts;  // PyThreadState

namespace kg {

// Lets Python answer signals, at most some twenty times a second; throws where it wants to stop (Ctrl-C).
// For the thread that was called, without the interpreter's lock, outside parallel regions.
void check_interrupt();

// Gives the interpreter's lock away while it lives. A call that was left behind in a thread of its own
// (`arrays/interruptible.py`) may end while Python shuts down: Python would end the thread there by an
// exception that no destructor may pass on, and the process would abort. Such a thread waits for the end
// of the process instead.
class Release {
 public:
  Release();
  ~Release();
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  _ts* state_;
};

}  // namespace kg
