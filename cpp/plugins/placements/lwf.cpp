#include <algorithm>
#include <bit>
#include <vector>

#include "base/registry.hpp"
#include "placing/placement_parts.hpp"
#include "seams/placement.hpp"

namespace gpusched {
namespace {

/// A server with free GPUs. Its load is the share of its GPUs that are busy; the greatest candidate
/// is the least loaded server, then the lowest.
struct Candidate {
  ServerId id;
  int num_free;
  int size;

  friend bool operator<(const Candidate& a, const Candidate& b) noexcept {
    const int free_a = a.num_free * b.size;
    const int free_b = b.num_free * a.size;
    return free_a != free_b ? free_a < free_b : a.id > b.id;
  }
};

/// Walks the servers with free GPUs by (load, id). Where all have one size that is the order of
/// free counts, which the occupancy keeps; else each server is looked at.
class LoadCursor {
 public:
  using Server = Candidate;

  LoadCursor(const Occupancy& free, TypeMask types, bool is_uniform)
      : free_(free), levels_(free, types, LevelCursor::Direction::down), is_uniform_(is_uniform) {
    if (is_uniform) return;
    for (ServerId server = free.next_fitting(types, 1, -1); server >= 0;
         server = free.next_fitting(types, 1, server)) {
      heap_.push_back(candidate(server));
    }
    std::make_heap(heap_.begin(), heap_.end());
  }

  /// Moves to the next server; false when there is none left.
  bool advance() {
    if (is_uniform_) {
      if (!levels_.advance()) return false;
      current_ = candidate(levels_.server());
      return true;
    }
    if (heap_.empty()) return false;
    current_ = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    return true;
  }

  [[nodiscard]] const Candidate& current() const noexcept { return current_; }

 private:
  [[nodiscard]] Candidate candidate(ServerId server) const {
    return {server, free_.free_gpus(server), free_.cluster().gpus(server)};
  }

  const Occupancy& free_;
  LevelCursor levels_;
  bool is_uniform_;
  std::vector<Candidate> heap_;
  Candidate current_{-1, 0, 1};
};

/// Least workload first. GPUs are not shared, so a free GPU has the load of its server. A small job
/// takes GPU by GPU on the server with the lowest load at that moment, its own GPUs included; a
/// large one takes all free GPUs of the least loaded servers, so that it spans few of them.
class Lwf final : public Placement {
 public:
  explicit Lwf(const Parameters& parameters) : kappa_(parameters.integer("kappa")) {}

  void begin(const PlacementSetup& /*setup*/) override { cluster_ = nullptr; }

  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (request.gpus > free.num_free(request.types)) return false;
    out.reset(request.gpus);
    LoadCursor servers(free, request.types, is_uniform(free.cluster(), request.types));
    if (request.gpus <= kappa_) {
      take_one_by_one(free, servers, out);
    } else {
      for (int rest = request.gpus; rest > 0;) {
        servers.advance();
        rest -= take(free, servers.current().id, rest, out);
      }
    }
    sort_by_server(out);
    return true;
  }

 private:
  /// Whether all servers of the types have one size.
  bool is_uniform(const Cluster& cluster, TypeMask types) {
    if (cluster_ != &cluster) {
      cluster_ = &cluster;
      size_of_type_.assign(static_cast<std::size_t>(cluster.num_types()), 0);
      for (ServerId server = 0; server < cluster.num_servers(); ++server) {
        int& size = size_of_type_[static_cast<std::size_t>(cluster.type(server))];
        const int own = cluster.gpus(server);
        size = size == 0 || size == own ? own : -1;
      }
    }
    const int largest = cluster.largest_server(types);
    for (TypeMask rest = types & cluster.all_types(); rest != 0; rest &= rest - 1) {
      if (size_of_type_[static_cast<std::size_t>(std::countr_zero(rest))] != largest) return false;
    }
    return true;
  }

  std::int64_t kappa_;
  const Cluster* cluster_ = nullptr;  // the one that the sizes are of; at most one in a run
  std::vector<int> size_of_type_;     // of all servers of the type, -1 where they differ
};

}  // namespace

GPUSCHED_REGISTER(
    Placement, Lwf, .name = "lwf",
    .summary = "Least workload first: by GPU up to kappa GPUs, by server for larger jobs.",
    .source = "Wang, Shi, Wang, Chu, 2020 (arXiv 2002.10105).", .flags = {Flag::scatters},
    .parameters = {{.name = "kappa",
                    .fallback = std::int64_t{1},
                    .help = "largest job size (GPUs) placed GPU by GPU",
                    .minimum = 1,
                    .maximum = 2147483647.0}})

}  // namespace gpusched
