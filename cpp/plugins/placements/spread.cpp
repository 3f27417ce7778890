#include "base/registry.hpp"
#include "placing/packing_placement.hpp"
#include "placing/placement_parts.hpp"

namespace gpusched {
namespace {

struct MostFreeGpus : PackingRule {
  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& /*ask*/) const noexcept {
    return -static_cast<double>(Capacities::free_milli(free, server));
  }
  [[nodiscard]] Piece piece(const Occupancy& free, ServerId server, const Ask& ask) const noexcept {
    return loose_piece(free, server, ask);
  }
};

/// A server with free GPUs; the emptiest, then lowest, is the greatest.
struct FreeServer {
  int num_free;
  ServerId id;

  friend bool operator<(const FreeServer& a, const FreeServer& b) noexcept {
    return a.num_free != b.num_free ? a.num_free < b.num_free : a.id > b.id;
  }
};

/// Walks the servers with free GPUs from the emptiest.
class EmptiestCursor {
 public:
  using Server = FreeServer;

  EmptiestCursor(const Occupancy& free, TypeMask types)
      : levels_(free, types, LevelCursor::Direction::down) {}

  bool advance() { return levels_.advance(); }
  [[nodiscard]] Server current() const noexcept { return {levels_.level(), levels_.server()}; }

 private:
  LevelCursor levels_;
};

class Spread final : public DemandPlacement<MostFreeGpus> {
 public:
  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (!request.is_plain()) return packer_.place(free, request, out);
    if (request.gpus > free.num_free(request.types)) return false;
    out.reset(request.gpus);
    EmptiestCursor servers(free, request.types);
    take_one_by_one(free, servers, out);
    sort_by_server(out);
    return true;
  }
};

}  // namespace

GPUSCHED_REGISTER(Placement, Spread, .name = "spread",
                  .summary = "One GPU at a time, each on the server with the most free GPUs.",
                  .source = "Kubernetes LeastAllocated; the opposite of consolidation.",
                  .flags = {Flag::demands, Flag::shares, Flag::scatters})

}  // namespace gpusched
