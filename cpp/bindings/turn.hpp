#pragma once

#include "base/check.hpp"

namespace gpusched::bindings {

/// An object that keeps what it has computed, and whether it is at work.
template <class Solver>
struct Lasting {
  Solver solver;
  bool is_at_work = false;  // read and written with the GIL only
};

/// The right to work on a lasting object until the end of the scope. Taken and given back with the
/// GIL. Throws InvalidInput where it is taken: by another thread while the work does without the
/// GIL, or by a signal's handler that the work calls.
class Turn {
 public:
  explicit Turn(bool& is_at_work) : is_at_work_(is_at_work) {
    if (is_at_work) fail_input("the solver is at work, in another thread or around this very call");
    is_at_work_ = true;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { is_at_work_ = false; }

 private:
  bool& is_at_work_;
};

}  // namespace gpusched::bindings
