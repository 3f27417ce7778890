#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/hash.hpp"
#include "base/index_set.hpp"
#include "base/rng.hpp"
#include "bindings/bindings.hpp"
#include "deadlines/job_set.hpp"
#include "placing/cut_memo.hpp"
#include "seams/slow_twins.hpp"
#include "solvers/cost_rows.hpp"
#include "solvers/graph_cut.hpp"
#include "solvers/lanes.hpp"
#include "solvers/srpt_machine.hpp"

namespace gpusched::bindings {

void bind_testing(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing", "Native parts, for tests only.");
  py::class_<CutMemo>(testing, "CutMemo")
      .def(py::init<std::size_t>())
      .def("__len__", &CutMemo::size)
      .def_property_readonly("num_bytes", &CutMemo::num_bytes)
      .def("find",
           [](const CutMemo& memo, const CutMemo::Row& key) -> std::optional<CutMemo::Row> {
             const CutMemo::Row* row = memo.find(key);
             return row == nullptr ? std::nullopt : std::optional(*row);
           })
      .def("remember", &CutMemo::remember);

  py::class_<IndexSet>(testing, "IndexSet")
      .def(py::init<std::size_t>())
      .def("__len__", &IndexSet::count)
      .def("insert", &IndexSet::insert)
      .def("erase", &IndexSet::erase)
      .def("next", &IndexSet::next);

  testing.def("allocate_kept_bytes", &allocate_kept_bytes);
  testing.def("keep_bytes", &keep_bytes);
  testing.def("address", [](void* memory) { return reinterpret_cast<std::uintptr_t>(memory); });

  py::class_<JobSet>(testing, "JobSet")
      .def(py::init<std::size_t>())
      .def("insert", &JobSet::insert)
      .def("erase", &JobSet::erase)
      .def("is_empty", &JobSet::empty)
      .def("at_or_after", &JobSet::at_or_after);

  py::class_<SrptMachine>(testing, "SrptMachine")
      .def(py::init([](std::int64_t speed) {
        SrptMachine machine;
        machine.begin(speed);
        return machine;
      }))
      .def("__len__", &SrptMachine::size)
      .def_property_readonly("running", &SrptMachine::running)
      .def("next_completion",
           [](const SrptMachine& machine) { return machine.next_completion().count(); })
      .def("advance",
           [](SrptMachine& machine, std::int64_t to) {
             const auto completed = machine.advance(Time{to});
             return std::vector<JobId>(completed.begin(), completed.end());
           })
      .def("add", [](SrptMachine& machine, JobId job, std::int64_t ticks, std::int32_t gpus) {
        machine.add(job, SrptMachine::Work{ticks} * gpus);
      });

  // Hashes the bytes in chunks of at most this size, with or without the processor's instructions.
  testing.def(
      "sha256",
      [](const py::bytes& data, std::size_t piece) {
        const auto text = static_cast<std::string_view>(data);
        Sha256 hash;
        for (std::size_t begin = 0; begin < text.size(); begin += piece) {
          const auto part = text.substr(begin, piece);
          hash.update({reinterpret_cast<const unsigned char*>(part.data()), part.size()});
        }
        return hash.hex_digest();
      },
      py::arg("data"), py::arg("piece") = std::numeric_limits<std::size_t>::max());
  using Counts = std::vector<std::int32_t>;
  using Weights = std::vector<double>;
  testing.def("heavy_edge_cut", [](const Counts& replicas, const Weights& pipeline_weights,
                                   const Weights& allreduce_weights, const Counts& quotas) {
    Counts ranks;
    GraphCut().grow({replicas, pipeline_weights, allreduce_weights}, quotas, ranks);
    return ranks;
  });
  testing.def("swap_down", [](const Counts& replicas, const Counts& quotas, const Counts& kinds,
                              const std::function<double(const Counts&)>& cost, Counts ranks) {
    const auto call = [&](auto now) { return cost({now.begin(), now.end()}); };
    const double best = GraphCut().improve(replicas, quotas, kinds, call, ranks);
    return std::pair(ranks, best);
  });
  testing.def(
      "take_slow_twins", [](bool takes) { takes_slow_twins = takes; }, py::arg("takes"),
      "Set whether later runs of this process use the slow reference implementations.");
  testing.def(
      "take_four_lanes", [](bool takes) { takes_four_lanes = takes && has_four_lanes(); },
      py::arg("takes"),
      "Set whether loops of this process use SIMD (four doubles) where possible.");
  testing.def("value_at_rank", [](const std::vector<double>& values, std::size_t rank) {
    return value_at_rank(values, rank);
  });
  testing.def("draw", [](std::uint64_t seed, std::uint64_t stream, std::uint64_t job,
                         std::uint64_t counter) {
    return draw(seed, static_cast<Stream>(stream), job, counter);
  });
}

}  // namespace gpusched::bindings
