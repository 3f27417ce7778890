#pragma once

#include <string>

#include "base/check.hpp"

namespace gpusched::bindings {

/// An object that keeps what it has computed, and whether it is at work.
template <class Solver>
struct Lasting {
  Solver solver;
  bool is_at_work = false;  // read and written with the GIL only
};

/// The right to work on a lasting object, of which the message calls it `what`, until the end of the
/// scope. Taken and given back with the GIL. Throws InvalidInput where it is taken: by another thread
/// while the work does without the GIL, or by a signal's handler that the work calls.
class Turn {
 public:
  explicit Turn(bool& is_at_work, const char* what = "solver") : is_at_work_(is_at_work) {
    if (is_at_work) refuse(what);
    is_at_work_ = true;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { is_at_work_ = false; }

  [[noreturn]] static void refuse(const char* what) {
    fail_input("the " + std::string(what) +
               " is at work, in another thread or around this very call");
  }

 private:
  bool& is_at_work_;
};

}  // namespace gpusched::bindings
