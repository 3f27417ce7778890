#include <bit>
#include <vector>

#include "base/registry.hpp"
#include "base/rng.hpp"
#include "placing/host_set.hpp"
#include "placing/packing_placement.hpp"

namespace gpusched {
namespace {

/// Any server that can host it, and any GPUs there, by draws of the job.
struct RandomRule : PackingRule {
  static constexpr bool kTakesLeast = false;

  void begin(const PlacementSetup& setup) { seed = setup.seed; }
  void start(const Request& request) {
    job = request.job;
    counter = std::uint64_t{1000003} * static_cast<std::uint64_t>(request.preemptions);
  }

  [[nodiscard]] ServerId choose(const HostSet& hosts) noexcept {
    const int count = hosts.count();
    return count == 0 ? -1 : hosts.nth(below(static_cast<std::uint64_t>(count)));
  }
  [[nodiscard]] Piece piece(const Occupancy& free, ServerId server, const Ask& ask) {
    GpuMask left = free.free_mask(server);
    if (ask.demand.is_share()) {
      for (GpuMask rest = free.shared_mask(server); rest != 0; rest &= rest - 1) {
        const int gpu = std::countr_zero(rest);
        if (free.free_milli(server, gpu) >= ask.demand.share_milli) left |= GpuMask{1} << gpu;
      }
    }
    GpuMask taken = 0;
    for (int i = 0; i < ask.workers; ++i) {
      const int skip = below(static_cast<std::uint64_t>(count_bits(left)));
      const GpuMask gpu = lowest_bits(left, skip + 1) ^ lowest_bits(left, skip);
      left ^= gpu;
      taken |= gpu;
    }
    return {server, taken, ask.workers};
  }

  int below(std::uint64_t bound) noexcept {
    return static_cast<int>(to_below(draw(seed, Stream::placement, job, counter++), bound));
  }

  std::uint64_t seed = 0;
  JobId job = kNoJob;
  std::uint64_t counter = 0;
};

/// A uniform set of free GPUs, drawn without replacement. Reads every server: a baseline, not a
/// fast path.
class Random final : public DemandPlacement<RandomRule> {
 public:
  void begin(const PlacementSetup& setup) override {
    DemandPlacement::begin(setup);
    seed_ = setup.seed;
  }

  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (!request.is_plain()) return packer_.place(free, request, out);
    if (request.gpus > free.num_free(request.types)) return false;
    out.reset(request.gpus);
    left_.clear();
    std::uint64_t num_left = 0;
    for (ServerId server = 0; server < free.cluster().num_servers(); ++server) {
      const bool is_allowed = (request.types >> free.cluster().type(server) & 1) != 0;
      left_.push_back(is_allowed ? free.free_mask(server) : 0);
      num_left += static_cast<std::uint64_t>(count_bits(left_.back()));
    }
    for (int i = 0; i < request.gpus; ++i, --num_left) {
      const auto counter =
          std::uint64_t{1000003} * static_cast<std::uint64_t>(request.preemptions) +
          static_cast<std::uint64_t>(i);
      auto skip = static_cast<int>(
          to_below(draw(seed_, Stream::placement, request.job, counter), num_left));
      std::size_t server = 0;
      while (skip >= count_bits(left_[server])) skip -= count_bits(left_[server++]);
      left_[server] ^= lowest_bits(left_[server], skip + 1) ^ lowest_bits(left_[server], skip);
    }
    for (std::size_t server = 0; server < left_.size(); ++server) {
      const auto id = static_cast<ServerId>(server);
      const bool is_allowed = (request.types >> free.cluster().type(id) & 1) != 0;
      const GpuMask taken = is_allowed ? free.free_mask(id) & ~left_[server] : 0;
      if (taken != 0) out.pieces.push_back({id, taken});
    }
    return true;
  }

  [[nodiscard]] bool allocation_depends_on_job() const override { return true; }

 private:
  std::uint64_t seed_ = 0;
  std::vector<GpuMask> left_;
};

}  // namespace

GPUSCHED_REGISTER(Placement, Random, .name = "random",
                  .summary = "A uniformly random set of free GPUs, seeded.", .source = "Baseline.",
                  .flags = {Flag::random, Flag::demands, Flag::shares, Flag::scatters})

}  // namespace gpusched
