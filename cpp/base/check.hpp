#pragma once

#include <stdexcept>
#include <string>

namespace gpusched {

/// A mistake in what the user gave: becomes a ValueError that names the field.
class InvalidInput : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A scheduler, an order or a placement requested something impossible, or the engine violated an
/// invariant. The message names the time and the job.
class InvariantError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// An error after which what a run has done so far can be had.
class LeavesSchedule {};

/// The log of a run passed the limit that the user gave. The message carries the time and the job.
class LogLimitError : public InvalidInput, public LeavesSchedule {
 public:
  using InvalidInput::InvalidInput;
};

[[noreturn]] inline void fail_input(const std::string& message) { throw InvalidInput(message); }

}  // namespace gpusched
