#include <bit>
#include <vector>

#include "gpusched/placement.hpp"
#include "gpusched/placement_parts.hpp"
#include "gpusched/registry.hpp"
#include "gpusched/rng.hpp"

namespace gpusched {
namespace {

/// A uniform set of free GPUs, drawn one after the other without replacement. Reads every server:
/// a baseline, not a fast path.
class Random final : public Placement {
 public:
  void begin(const PlacementSetup& setup) override { seed_ = setup.seed; }

  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (request.gpus > free.num_free(request.types)) return false;
    out.reset(request.gpus);
    left_.clear();
    std::uint64_t num_left = 0;
    for (ServerId server = 0; server < free.cluster().num_servers(); ++server) {
      const bool is_allowed = (request.types >> free.cluster().type(server) & 1) != 0;
      left_.push_back(is_allowed ? free.free_mask(server) : 0);
      num_left += static_cast<std::uint64_t>(std::popcount(left_.back()));
    }
    for (int i = 0; i < request.gpus; ++i, --num_left) {
      const auto counter = std::uint64_t{1000003} * static_cast<std::uint64_t>(request.preemptions) +
                           static_cast<std::uint64_t>(i);
      auto skip = static_cast<int>(
          to_below(draw(seed_, Stream::placement, request.job, counter), num_left));
      std::size_t server = 0;
      while (skip >= std::popcount(left_[server])) skip -= std::popcount(left_[server++]);
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

  [[nodiscard]] bool names_depend_on_job() const override { return true; }

 private:
  std::uint64_t seed_ = 0;
  std::vector<GpuMask> left_;
};

}  // namespace

GPUSCHED_REGISTER(Placement, Random, .name = "random",
                  .summary = "A uniformly random set of free GPUs, seeded.", .source = "Baseline.",
                  .flags = {"random"})

}  // namespace gpusched
