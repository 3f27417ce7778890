#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "model/demand.hpp"

namespace gpusched {

/// GPUs of one server. The width is stored with the mask: counting bits takes a dozen instructions
/// on the oldest supported processors.
struct Piece {
  ServerId server;
  std::int32_t gpus;
  GpuMask mask;

  Piece() = default;
  Piece(ServerId on_server, GpuMask gpu_mask) : Piece(on_server, gpu_mask, count_bits(gpu_mask)) {}
  Piece(ServerId on_server, GpuMask gpu_mask, int num_gpus)
      : server(on_server), gpus(num_gpus), mask(gpu_mask) {}

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// Where a job runs. Without pieces it holds `gpus` of the single pool (placement `count`).
struct Allocation {
  int gpus = 0;
  std::vector<Piece> pieces;
  /// Which worker runs on each GPU, in the order of the pieces; empty: one after the other.
  std::vector<std::int32_t> ranks;

  void reset(int num_gpus) noexcept {
    gpus = num_gpus;
    pieces.clear();
    ranks.clear();
  }
};

/// A request to a placement: a job that starts or resumes.
struct Request {
  JobId job;
  int gpus;
  TypeMask types;
  /// How often the job was preempted: keys random draws.
  int preemptions;
  /// CPU, memory and GPU share of its workers; null: whole GPUs only.
  const Demand* demand = nullptr;
  /// GPUs on each of its servers; 0: the placement decides.
  int gpus_per_node = 0;

  /// Whether it asks for a number of GPUs and nothing else.
  [[nodiscard]] bool is_plain() const noexcept { return demand == nullptr && gpus_per_node == 0; }
  [[nodiscard]] bool is_share() const noexcept { return demand != nullptr && demand->is_share(); }
  /// GPUs that must be wholly free.
  [[nodiscard]] int room() const noexcept { return is_share() ? 0 : gpus; }
};

}  // namespace gpusched
