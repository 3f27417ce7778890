#include <queue>
#include <vector>

#include "gpusched/packing.hpp"
#include "gpusched/placement_parts.hpp"
#include "gpusched/registry.hpp"

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

class Spread final : public DemandPlacement<MostFreeGpus> {
 public:
  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (request.demand != nullptr) return packer_.place(free, request, out);
    if (request.gpus > free.num_free(request.types)) return false;
    out.reset(request.gpus);
    LevelCursor untouched(free, request.types, LevelCursor::Direction::down);
    bool is_left = untouched.advance();
    std::priority_queue<Touched> touched;
    for (int rest = request.gpus; rest > 0; --rest) {
      const Touched next{untouched.level(), untouched.server()};
      Touched chosen = next;
      if (is_left && (touched.empty() || touched.top() < next)) {
        is_left = untouched.advance();
      } else {
        chosen = touched.top();
        touched.pop();
      }
      --chosen.num_free;
      touched.push(chosen);
    }
    for (; !touched.empty(); touched.pop()) {
      const Touched& server = touched.top();
      const int taken = free.free_gpus(server.id) - server.num_free;
      out.pieces.push_back(free.lowest_free(server.id, taken));
    }
    sort_by_server(out);
    return true;
  }

 private:
  /// A server that has given some of its GPUs; the emptiest, then lowest, is the greatest.
  struct Touched {
    int num_free;
    ServerId id;

    friend bool operator<(const Touched& a, const Touched& b) noexcept {
      return a.num_free != b.num_free ? a.num_free < b.num_free : a.id > b.id;
    }
  };
};

}  // namespace

GPUSCHED_REGISTER(Placement, Spread, .name = "spread",
                  .summary = "One GPU at a time on the server with the most free GPUs.",
                  .source = "Kubernetes LeastAllocated; the opposite of consolidation.")

}  // namespace gpusched
