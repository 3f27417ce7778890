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

/// A lock on a stateful object, called `what` in the message, for the scope. Acquired and released
/// with the GIL. Throws InvalidInput if it is taken: by another thread while the work runs without
/// the GIL, or by a signal handler called from the work.
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
               " is busy, in another thread or in a call around this one");
  }

 private:
  bool& is_at_work_;
};

}  // namespace gpusched::bindings
