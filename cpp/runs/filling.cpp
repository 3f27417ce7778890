#include "runs/filling.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/check.hpp"
#include "engine/run_state.hpp"
#include "placing/fragmentation.hpp"
#include "seams/named.hpp"
#include "seams/occupancy.hpp"
#include "seams/speed.hpp"
#include "seams/state.hpp"

namespace gpusched {
namespace {

[[noreturn]] void fail(std::size_t arrival, const char* what) {
  throw InvariantError("arrival " + std::to_string(arrival) + ": " + what);
}

void check_input(const JobTable& requests, std::span<const std::int64_t> arrivals,
                 const Placement& placement) {
  if (placement.is_pooled())
    fail_input("placement: a single pool without servers cannot be filled");
  const bool asks = requests.has_demands() || requests.has_gpus_per_node();
  if ((asks && !placement.has(Flag::demands)) ||
      (requests.has_shares() && !placement.has(Flag::shares))) {
    fail_input("placement: supports whole GPUs only, but requests have shares, CPU or memory");
  }
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    if (arrivals[i] >= 0 && arrivals[i] < static_cast<std::int64_t>(requests.num_jobs())) continue;
    fail_input("arrivals: row " + std::to_string(i) + " is " + std::to_string(arrivals[i]) +
               "; it must be a row of the requests");
  }
}

void check_piece(const Occupancy& free, const Request& request, const Piece& piece,
                 std::size_t arrival) {
  const Cluster& cluster = free.cluster();
  if (piece.server < 0 || piece.server >= cluster.num_servers()) fail(arrival, "unknown server");
  if ((request.types >> cluster.type(piece.server) & 1) == 0) {
    fail(arrival, "the GPU type is not allowed");
  }
  if (static_cast<int>(std::bit_width(piece.mask)) > cluster.gpus(piece.server)) {
    fail(arrival, "unknown GPU");
  }
  const bool is_free = request.demand == nullptr ? free.is_free({&piece, 1})
                                                 : free.is_free({&piece, 1}, *request.demand);
  if (!is_free) fail(arrival, "the resources placed are not free");
}

/// Whether the whole request was given what is free.
void check_allocation(const Occupancy& free, const Request& request, const Allocation& allocation,
                      std::size_t arrival) {
  int sum = 0;
  ServerId previous = -1;
  for (const Piece& piece : allocation.pieces) {
    check_piece(free, request, piece, arrival);
    if (piece.server <= previous) fail(arrival, "servers must be listed once each, in order");
    previous = piece.server;
    sum += piece.gpus;
  }
  const bool is_whole = sum == request.gpus && allocation.gpus == request.gpus;
  if (!is_whole || allocation.pieces.empty())
    fail(arrival, "the allocation must have all that was requested");
}

}  // namespace

Filling fill(const JobTable& requests, std::span<const std::int64_t> arrivals,
             const Cluster& cluster, Placement& placement, std::uint64_t seed,
             RunControl& control) {
  check_input(requests, arrivals, placement);
  const auto speed = make_speed("fixed", {});
  const bool follows = placement.follows_servers(requests);
  const RunState state(requests, cluster, *speed, false, follows);
  placement.begin({seed, state});
  Occupancy free(cluster, false, requests.has_demands(), follows);
  Fragmentation fragments(Fragmentation::popularity(requests), cluster);
  std::vector<int> num_arrived(requests.num_jobs(), 0);
  Allocation allocation;
  Filling filling;
  filling.is_placed.reserve(arrivals.size());
  filling.fragmented_milli.reserve(arrivals.size());
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    control.check();
    const auto row = static_cast<JobId>(arrivals[i]);
    const Request request{row,
                          requests.gpus(row),
                          requests.types(row) & cluster.all_types(),
                          num_arrived[row]++,
                          requests.demand(row),
                          requests.gpus_per_node(row)};
    const bool is_placed = placement.place(free, request, allocation);
    if (is_placed) {
      check_allocation(free, request, allocation, i);
      free.acquire(request.gpus, allocation.pieces, request.demand);
      for (const Piece& piece : allocation.pieces) {
        filling.piece_arrival.push_back(static_cast<std::int64_t>(i));
        filling.piece_server.push_back(piece.server);
        filling.piece_mask.push_back(piece.mask);
      }
    }
    filling.is_placed.push_back(is_placed ? 1 : 0);
    filling.fragmented_milli.push_back(fragments.total(free));
    control.num_finished.store(i + 1, std::memory_order_relaxed);
  }
  return filling;
}

}  // namespace gpusched
