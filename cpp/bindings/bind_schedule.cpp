#include <pybind11/stl.h>

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "bindings.hpp"
#include "columns.hpp"
#include "engine/schedule.hpp"

namespace gpusched::bindings {
namespace {

template <class Value, class Get>
py::array_t<Value> by_job(const Schedule& schedule, Get get) {
  return collect<Value>(schedule.num_jobs(),
                        [&](std::size_t job) { return get(static_cast<JobId>(job)); });
}

template <class Value, class Get>
py::array_t<Value> of_losses(const Schedule& schedule, Get get) {
  const auto& losses = schedule.losses();
  return collect<Value>(losses.size(), [&](std::size_t job) { return get(losses[job]); });
}

std::int64_t or_minus_one(Time time) { return time == kNever ? -1 : time.count(); }

py::typing::Dict<py::str, py::array> intervals_of(const Schedule& schedule) {
  std::vector<IntervalRow> rows;
  {
    const UnlockedPass unlocked(schedule.num_intervals());
    rows = schedule.intervals();
  }
  const auto column = [&](auto member) {
    using Value = std::remove_cvref_t<decltype(rows.front().*member)>;
    return read_only_column<Value>(rows.size(), [&](std::size_t i) { return rows[i].*member; });
  };
  py::typing::Dict<py::str, py::array> table;
  table["job"] = column(&IntervalRow::job);
  table["start_us"] = column(&IntervalRow::start_us);
  table["end_us"] = column(&IntervalRow::end_us);
  table["server"] = column(&IntervalRow::server);
  table["mask"] = column(&IntervalRow::mask);
  return table;
}

template <class Row>
py::memoryview bytes_of(const std::vector<Row>& rows) {
  static_assert(std::has_unique_object_representations_v<Row>);  // without gaps
  return py::memoryview::from_memory(static_cast<const void*>(rows.data()),
                                     static_cast<py::ssize_t>(rows.size() * sizeof(Row)));
}

/// Schedule::digest by Python's own hash, which uses the instructions that a processor has for it.
std::string digest_of(const Schedule& schedule) {
  if constexpr (std::endian::native != std::endian::little) {
    const py::gil_scoped_release unlocked;
    return schedule.digest();
  }
  std::vector<IntervalRow> rows;
  {
    const UnlockedPass unlocked(schedule.num_intervals());
    rows = schedule.intervals();
  }
  const py::object hash = py::module_::import("hashlib").attr("sha256")(bytes_of(rows));
  hash.attr("update")(bytes_of(schedule.rejects()));
  return hash.attr("hexdigest")().cast<std::string>();
}

py::typing::Dict<py::str, py::object> decisions_of(const Schedule& schedule) {
  const auto& decisions = schedule.decisions();
  const auto column = [&](auto get) {
    using Value = decltype(get(decisions.front()));
    return collect<Value>(decisions.size(), [&](std::size_t i) { return get(decisions[i]); });
  };
  py::list reasons;
  for (const Decision& decision : decisions) reasons.append(std::string(decision.reason));
  py::typing::Dict<py::str, py::object> table;
  table["job"] = column([](const Decision& d) { return std::int64_t{d.job}; });
  table["time_us"] = column([](const Decision& d) { return std::int64_t{d.at.count()}; });
  table["admitted"] = column([](const Decision& d) { return std::uint8_t{d.is_admitted}; });
  table["cost"] = column([](const Decision& d) { return d.cost; });
  table["value"] = column([](const Decision& d) { return d.value; });
  table["payoff"] = column([](const Decision& d) { return d.payoff; });
  table["reason"] = reasons;
  table["type"] = column([](const Decision& d) { return std::int32_t{d.type}; });
  table["from_us"] = column([](const Decision& d) { return std::int64_t{d.from.count()}; });
  table["until_us"] = column([](const Decision& d) { return std::int64_t{d.until.count()}; });
  return table;
}

}  // namespace

void bind_schedule(py::module_& m) {
  py::class_<Schedule>(m, "Schedule",
                       "The outcome of a run; arrays are copies with one value per job.")
      .def_property_readonly("num_jobs", &Schedule::num_jobs)
      .def_property_readonly("start_us",
                             [](const Schedule& s) {
                               return by_job<std::int64_t>(s, [&](JobId job) {
                                 return or_minus_one(s.record(job).start);
                               });
                             })
      .def_property_readonly("finish_us",
                             [](const Schedule& s) {
                               return by_job<std::int64_t>(s, [&](JobId job) {
                                 return or_minus_one(s.record(job).finish);
                               });
                             })
      .def_property_readonly("held_us",
                             [](const Schedule& s) {
                               return by_job<std::int64_t>(s, [&](JobId job) {
                                 return s.history(job).held.count();
                               });
                             })
      .def_property_readonly("paid_us",
                             [](const Schedule& s) {
                               return by_job<std::int64_t>(s, [&](JobId job) {
                                 return s.history(job).paid.count();
                               });
                             })
      .def_property_readonly("preemptions",
                             [](const Schedule& s) {
                               return by_job<std::int32_t>(s, [&](JobId job) {
                                 return s.record(job).preemptions;
                               });
                             })
      .def_property_readonly("num_servers",
                             [](const Schedule& s) {
                               return by_job<std::int32_t>(s, [&](JobId job) {
                                 return s.record(job).num_servers;
                               });
                             })
      .def_property_readonly("status",
                             [](const Schedule& s) {
                               return by_job<std::uint8_t>(s, [&](JobId job) {
                                 return static_cast<std::uint8_t>(s.status(job));
                               });
                             })
      .def_property_readonly("reason",
                             [](const Schedule& s) {
                               return by_job<std::uint8_t>(s, [&](JobId job) {
                                 return static_cast<std::uint8_t>(s.record(job).reason);
                               });
                             })
      .def_property_readonly(
          "uncontended_us", [](const Schedule& s) { return copy_of(s.uncontended_us()); },
          "Time that the job would have run without contention; empty under `fixed`.")
      .def_property_readonly("resizes",
                             [](const Schedule& s) {
                               return by_job<std::int32_t>(s, [&](JobId job) {
                                 return s.num_resizes(job);
                               });
                             })
      .def_property_readonly("failures",
                             [](const Schedule& s) {
                               return of_losses<std::int32_t>(s, [](const JobLosses& own) {
                                 return own.failures;
                               });
                             })
      .def_property_readonly("eligible_us",
                             [](const Schedule& s) { return copy_of(s.eligible_us()); })
      .def_property_readonly("lost_us",
                             [](const Schedule& s) {
                               return of_losses<std::int64_t>(s, [](const JobLosses& own) {
                                 return own.lost.count();
                               });
                             })
      .def_property_readonly("written_us",
                             [](const Schedule& s) {
                               return of_losses<std::int64_t>(s, [](const JobLosses& own) {
                                 return own.written.count();
                               });
                             })
      .def("decisions", &decisions_of,
           "Admission decisions of the policy, one per job, as columns. `type` is the scarcest\n"
           "GPU type between from_us and until_us, or -1.")
      .def("intervals", &intervals_of,
           "Read-only rows (job, start_us, end_us, server, mask), sorted by job, start, server.")
      .def_property_readonly("digest", &digest_of)
      .def_property_readonly("counters",
                             [](const Schedule& s) {
                               const Counters& c = s.counters();
                               return std::map<std::string, std::uint64_t>{
                                   {"instants", c.num_instants},
                                   {"events", c.num_events},
                                   {"max_running", c.max_running},
                                   {"rates_computed", c.num_rates_computed},
                                   {"rates_changed", c.num_rates_changed}};
                             })
      .def_property_readonly("warnings", &Schedule::warnings);
}

}  // namespace gpusched::bindings
