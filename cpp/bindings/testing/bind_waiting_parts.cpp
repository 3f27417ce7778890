#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/data.hpp"
#include "queueing/backfill_queue.hpp"
#include "queueing/waiting_queue.hpp"

namespace gpusched::bindings {
namespace {

/// The queue and the classes that it borrows; the table and the cluster are borrowed by those.
struct WaitingJobs {
  WaitingJobs(const OwnedJobTable& jobs, const Cluster& cluster) : classes(jobs.table, cluster) {
    queue.begin(classes);
  }
  WaitingJobs(const WaitingJobs&) = delete;
  WaitingJobs& operator=(const WaitingJobs&) = delete;

  JobClasses classes;
  WaitingQueue queue;
};

/// As above, by arrival.
struct BackfillJobs {
  BackfillJobs(const OwnedJobTable& jobs, const Cluster& cluster) : classes(jobs.table, cluster) {
    queue.begin(jobs.table, classes);
  }
  BackfillJobs(const BackfillJobs&) = delete;
  BackfillJobs& operator=(const BackfillJobs&) = delete;

  JobClasses classes;
  BackfillQueue queue;
};

std::optional<JobId> found_id(JobId job) {
  return job == kNoJob ? std::nullopt : std::optional(job);
}

using FoundJob = std::optional<std::tuple<double, JobId, ClassId>>;

FoundJob found_job(const KeyedJob& job, ClassId id) {
  if (job.job == kNoJob) return std::nullopt;
  return std::tuple(job.key(), job.job, id);
}

}  // namespace

void bind_waiting_parts(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing");
  py::class_<WaitingJobs>(testing, "WaitingQueue", "Waiting jobs by class: (key, job, class).")
      .def(py::init<const OwnedJobTable&, const Cluster&>(), py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>())
      .def("__len__", [](const WaitingJobs& w) { return w.queue.size(); })
      .def_property_readonly("is_empty", [](const WaitingJobs& w) { return w.queue.empty(); })
      .def_property_readonly("has_tree",
                             [](const WaitingJobs& w) { return w.queue.heads().has_tree(); })
      .def_property_readonly("groups",
                             [](const WaitingJobs& w) {
                               std::vector<std::pair<ClassId, ClassId>> groups;
                               for (const auto& group : w.classes.groups()) {
                                 groups.emplace_back(group.begin, group.end);
                               }
                               return groups;
                             })
      .def("class_of", [](const WaitingJobs& w, JobId job) { return w.classes.of(job); })
      .def("room", [](const WaitingJobs& w, ClassId id) { return w.classes.room(id); })
      .def("push",
           [](WaitingJobs& w, ClassId id, double key, JobId job) { w.queue.push(id, {key, job}); })
      .def("pop", [](WaitingJobs& w, ClassId id) { w.queue.pop(id); })
      .def("close", [](WaitingJobs& w, ClassId id) { w.queue.close(id); })
      .def("refuse", [](WaitingJobs& w, ClassId id) { w.queue.close(id, true); })
      .def("reopen", [](WaitingJobs& w) { w.queue.reopen(); })
      .def("remove", [](WaitingJobs& w, ClassId id, JobId job) { w.queue.remove(id, job); })
      .def("drain", [](WaitingJobs& w) { return w.queue.drain(); })
      .def("least",
           [](const WaitingJobs& w, std::int64_t widest) {
             ClassId id = 0;
             const KeyedJob job = w.queue.least(widest, id);
             return found_job(job, id);
           })
      .def(
          "least_that_fits",
          [](const WaitingJobs& w, std::size_t group, std::int64_t room, std::int64_t cpu_milli,
             std::int64_t memory_mib, const std::vector<bool>& fits) {
            ClassId id = 0;
            const KeyedJob job = w.queue.heads().least(
                w.classes.groups()[group], {room, cpu_milli, memory_mib},
                [&](ClassId own) { return fits[own]; }, id);
            return found_job(job, id);
          },
          "With a tree only: of one group; a refused job must need no more, and fit.");

  py::class_<BackfillJobs>(testing, "BackfillQueue", "Waiting jobs by arrival, of each class.")
      .def(py::init<const OwnedJobTable&, const Cluster&>(), py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>())
      .def("__len__", [](const BackfillJobs& w) { return w.queue.size(); })
      .def("add", [](BackfillJobs& w, JobId job) { w.queue.add(job); })
      .def("remove", [](BackfillJobs& w, JobId job) { w.queue.remove(job); })
      .def("num_waiting", [](const BackfillJobs& w, ClassId id) { return w.queue.num_waiting(id); })
      .def("shortest",
           [](const BackfillJobs& w, ClassId id) { return w.queue.shortest(id).count(); })
      .def("first", [](const BackfillJobs& w, ClassId id) { return found_id(w.queue.first(id)); })
      .def("next", [](BackfillJobs& w, ClassId id, JobId after, std::int64_t longest) {
        return found_id(w.queue.next(id, after, Time{longest}));
      });
}

}  // namespace gpusched::bindings
