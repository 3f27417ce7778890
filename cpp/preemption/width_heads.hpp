#pragma once

#include <vector>

#include "base/heap.hpp"
#include "model/job_classes.hpp"
#include "preemption/kinetic_key.hpp"

namespace gpusched {

/// The least job of a class that waits and is not taken.
struct ClassHead {
  KineticKey key;
  ClassId id;

  friend bool operator<(const ClassHead& a, const ClassHead& b) noexcept { return a.key < b.key; }
};

/// The classes of one width by their least jobs; those of old may still be among them.
struct WidthHeads {
  Heap<ClassHead> heads;
  std::vector<ClassId> classes;
};

}  // namespace gpusched
