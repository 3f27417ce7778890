#pragma once

#include <cstdint>

#include "base/ids.hpp"

namespace gpusched {

enum class EventKind : std::uint8_t {
  start,
  preempt,
  resize,
  finish,
  reject,
  cancel,
  interrupt,
  kill,
  fail,
  release,
};

/// Public names, in the order of EventKind.
inline constexpr const char* kEventNames[] = {"start",  "preempt",   "resize", "finish", "reject",
                                              "cancel", "interrupt", "kill",   "fail",   "release"};

/// An event of a job at an instant.
struct Event {
  EventKind kind;
  JobId job;
};

}  // namespace gpusched
