#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/heap.hpp"
#include "bindings/bindings.hpp"
#include "engine/finish_queue.hpp"
#include "queueing/keyed_job.hpp"
#include "queueing/running_index.hpp"

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
             return std::pair(q.top().key(), q.top().job);
           })
      .def("pop", [](Queue& q) {
        if (q.empty()) throw py::index_error("empty");
        q.pop();
      });
}

}  // namespace

void bind_queue_parts(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing");
  bind_queue<Heap<KeyedJob>>(testing, "Heap");
  bind_queue<RunHeap<KeyedJob>>(testing, "RunHeap");

  py::class_<FinishQueue>(testing, "FinishQueue")
      .def(py::init<>())
      .def("set", [](FinishQueue& queue, std::uint32_t slot,
                     std::int64_t at) { queue.set(slot, Time{at}); })
      .def("move", [](FinishQueue& queue, std::uint32_t slot,
                      std::int64_t at) { queue.move(slot, Time{at}); })
      .def("announce_move", &FinishQueue::announce_move)
      .def("settle", &FinishQueue::settle)
      .def("drop", &FinishQueue::drop)
      .def("next",
           [](const FinishQueue& queue) -> std::optional<std::int64_t> {
             if (queue.next() == kNever) return std::nullopt;
             return queue.next().count();
           })
      .def("take", [](FinishQueue& queue, std::int64_t now) {
        std::vector<std::uint32_t> slots;
        queue.take(Time{now}, [&](std::uint32_t slot) { slots.push_back(slot); });
        return slots;
      });

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
}

}  // namespace gpusched::bindings
