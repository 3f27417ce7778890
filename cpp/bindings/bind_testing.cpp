#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "base/hash.hpp"
#include "base/hash_x86.hpp"
#include "base/heap.hpp"
#include "base/index_set.hpp"
#include "base/rng.hpp"
#include "bindings.hpp"
#include "engine/finish_queue.hpp"
#include "listing/running_index.hpp"
#include "listing/waiting_queue.hpp"
#include "placing/cut_memo.hpp"
#include "seams/slow_twins.hpp"
#include "solvers/graph_cut.hpp"
#include "solvers/virtual_machine.hpp"

namespace gpusched::bindings {
namespace {

template <class Queue>
void bind_queue(py::module_& m, const char* name) {
  py::class_<Queue>(m, name)
      .def(py::init<>())
      .def("__len__", [](const Queue& q) { return q.size(); })
      .def("push", [](Queue& q, double key, JobId job) { q.push({key, job}); })
      .def("top",
           [](Queue& q) {
             if (q.empty()) throw py::index_error("empty");
             return std::pair(q.top().key, q.top().job);
           })
      .def("pop", [](Queue& q) {
        if (q.empty()) throw py::index_error("empty");
        q.pop();
      });
}

}  // namespace

void bind_testing(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing", "Native pieces, for property tests only.");
  bind_queue<Heap<KeyedJob>>(testing, "Heap");
  bind_queue<RunHeap<KeyedJob>>(testing, "RunHeap");

  py::class_<Heap<FinishEvent>>(testing, "FinishHeap")
      .def(py::init<>())
      .def("__len__", &Heap<FinishEvent>::size)
      .def("push", [](Heap<FinishEvent>& heap, std::int64_t at, std::uint32_t slot,
                      std::uint32_t version) { heap.push({Time{at}, slot, version}); })
      .def("pop", [](Heap<FinishEvent>& heap) {
        if (heap.empty()) throw py::index_error("empty");
        const FinishEvent event = heap.top();
        heap.pop();
        return std::tuple(event.at.count(), event.slot, event.version);
      });

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

  py::class_<RunningIndex>(testing, "RunningIndex")
      .def(py::init<>())
      .def_property_readonly("total", &RunningIndex::total)
      .def("insert", [](RunningIndex& index, std::int64_t end, JobId job,
                        int gpus) { index.insert({Time{end}, job, gpus}); })
      .def("erase",
           [](RunningIndex& index, std::int64_t end, JobId job) { index.erase(Time{end}, job); })
      .def("sum_from", [](const RunningIndex& index, std::int64_t end,
                          JobId job) { return index.sum_from(Time{end}, job); })
      .def("sum_until",
           [](const RunningIndex& index, std::int64_t end) { return index.sum_until(Time{end}); })
      .def("reach",
           [](const RunningIndex& index, std::int64_t need) -> py::object {
             std::int64_t before = 0;
             const auto* entry = index.reach(need, before);
             if (entry == nullptr) return py::none();
             return py::make_tuple(entry->end.count(), entry->job, entry->gpus, before);
           })
      .def("reach_from_back",
           [](const RunningIndex& index, std::int64_t need) {
             const RunningIndex::Entry& entry = index.reach_from_back(need);
             return py::make_tuple(entry.end.count(), entry.job, entry.gpus);
           })
      .def("after",
           [](const RunningIndex& index, std::int64_t end) {
             std::vector<JobId> jobs;
             for (auto at = index.first_after(Time{end}); at.is_valid(); index.step(at)) {
               jobs.push_back(index.at(at).job);
             }
             return jobs;
           })
      .def("until",
           [](const RunningIndex& index, std::int64_t end) {
             std::vector<JobId> jobs;
             for (auto at = index.last_until(Time{end}); at.is_valid(); index.step_back(at)) {
               jobs.push_back(index.at(at).job);
             }
             return jobs;
           })
      .def("entries", [](const RunningIndex& index) {
        std::vector<std::tuple<std::int64_t, JobId, int>> all;
        index.for_each([&](const RunningIndex::Entry& entry) {
          all.emplace_back(entry.end.count(), entry.job, entry.gpus);
        });
        return all;
      });

  py::class_<VirtualMachine>(testing, "VirtualMachine")
      .def(py::init([](std::int64_t speed) {
        VirtualMachine machine;
        machine.begin(speed);
        return machine;
      }))
      .def("__len__", &VirtualMachine::size)
      .def_property_readonly("running", &VirtualMachine::running)
      .def("next_completion",
           [](const VirtualMachine& machine) { return machine.next_completion().count(); })
      .def("advance",
           [](VirtualMachine& machine, std::int64_t to) {
             const auto completed = machine.advance(Time{to});
             return std::vector<JobId>(completed.begin(), completed.end());
           })
      .def("add", [](VirtualMachine& machine, JobId job, std::int64_t ticks, std::int32_t gpus) {
        machine.add(job, VirtualMachine::Work{ticks} * gpus);
      });

  // The bytes in pieces of at most so many, by the processor's instructions or without.
  testing.def(
      "sha256",
      [](const py::bytes& data, bool uses_instructions, std::size_t piece) {
        const auto text = static_cast<std::string_view>(data);
        Sha256 hash(uses_instructions && has_sha_instructions());
        for (std::size_t begin = 0; begin < text.size(); begin += piece) {
          const auto part = text.substr(begin, piece);
          hash.update({reinterpret_cast<const unsigned char*>(part.data()), part.size()});
        }
        return hash.hex_digest();
      },
      py::arg("data"), py::arg("uses_instructions") = true,
      py::arg("piece") = std::numeric_limits<std::size_t>::max());
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
      "Whether runs that begin from now on, in this process, take the slow twins.");
  testing.def("draw", [](std::uint64_t seed, std::uint64_t stream, std::uint64_t job,
                         std::uint64_t counter) {
    return draw(seed, static_cast<Stream>(stream), job, counter);
  });
}

}  // namespace gpusched::bindings
