#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "elastic/reserved_timeline.hpp"

namespace gpusched::bindings {
namespace {

/// Key, work, restart, debt, width, whether it has run, deadline, and (GPUs, rate) by width.
using GivenClaim = std::tuple<double, double, double, double, int, bool, std::int64_t,
                              std::vector<std::pair<int, double>>>;
using Stretches = std::vector<std::pair<std::int64_t, int>>;

struct Held {
  std::vector<WidthRate> widths;
  Claim claim;
  SlotPlan plan;
};

/// Lets the claims join one after the other; rebuilds the line after every `every` of them.
std::vector<Stretches> fill_line(std::int64_t num_gpus, std::int64_t slot_ticks, std::int64_t now,
                                 std::int64_t blocked, const std::vector<GivenClaim>& claims,
                                 std::size_t every, bool is_slow) {
  ReservedTimeline line(num_gpus, slot_ticks, is_slow);
  std::deque<Held> held;
  std::vector<ReservedTimeline::Member> members;
  const auto open = [&] {
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.key < b.key; });
    line.open(now, blocked, members);
  };
  open();
  for (const auto& [key, work, restart, debt, width, has_run, deadline, ways] : claims) {
    Held& own = held.emplace_back();
    for (const auto& [gpus, rate] : ways) own.widths.push_back({gpus, rate});
    own.claim = {work, restart, debt, width, has_run, deadline, own.widths};
    if (line.try_join(own.claim, key)) {
      members.push_back({&own.claim, &own.plan, key});
      line.join(members.back());
    }
    if (held.size() % every == 0) open();
  }
  std::vector<Stretches> plans;
  for (const Held& one : held) {
    auto& plan = plans.emplace_back();
    for (const auto& stretch : one.plan.stretches) plan.emplace_back(stretch.end, stretch.gpus);
  }
  return plans;
}

}  // namespace

void bind_filled_line(py::module_& m) {
  auto testing = m.attr("_testing").cast<py::module_>();
  testing.def("fill_line", &fill_line, py::arg("num_gpus"), py::arg("slot_ticks"), py::arg("now"),
              py::arg("blocked"), py::arg("claims"), py::arg("every"), py::arg("is_slow"),
              "The plans of claims that join a line, as (end, GPUs) of stretches of slots; empty: "
              "it did not join.");
}

}  // namespace gpusched::bindings
