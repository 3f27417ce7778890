#pragma once

#include <bit>
#include <vector>

#include "gpusched/ids.hpp"

namespace gpusched {

/// GPUs of one server.
struct Piece {
  ServerId server;
  GpuMask mask;

  [[nodiscard]] int gpus() const noexcept { return std::popcount(mask); }
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// Where a gang runs. Without pieces it holds `gpus` of the one pool (placement `count`).
struct Allocation {
  int gpus = 0;
  std::vector<Piece> pieces;

  void reset(int num_gpus) noexcept {
    gpus = num_gpus;
    pieces.clear();
  }
};

/// What a placement is asked for: a gang that starts or resumes.
struct Request {
  JobId job;
  int gpus;
  TypeMask types;
  /// How often the job was preempted: keys random draws.
  int preemptions;
};

}  // namespace gpusched
