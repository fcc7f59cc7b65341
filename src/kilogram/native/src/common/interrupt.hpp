// A long call can be interrupted between its steps.
#pragma once

namespace kg {

// Lets Python answer signals, at most some twenty times a second; throws where it wants to stop (Ctrl-C).
// For the thread that was called, without the interpreter's lock, outside parallel regions.
void check_interrupt();

}  // namespace kg
