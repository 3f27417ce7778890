#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "bindings.hpp"
#include "snapshot.hpp"

namespace gpusched::bindings {
namespace {

using I64 = Column<std::int64_t>;

/// Throws InvalidInput that names the column.
void check_lengths(const OwnedSnapshot& given) {
  const auto same = [](const char* name, py::ssize_t size, py::ssize_t wanted) {
    if (size == wanted) return;
    throw InvalidInput(std::string(name) + ": " + std::to_string(size) + " values, not " +
                       std::to_string(wanted));
  };
  same("start_us", given.start_us.size(), given.attained_us.size());
  same("cost_us", given.cost_us.size(), given.attained_us.size());
  same("preemptions", given.preemptions.size(), given.attained_us.size());
  same("added_us", given.added_us.size(), given.attained_us.size());
  same("held_server", given.held_server.size(), given.held_job.size());
  same("held_mask", given.held_mask.size(), given.held_job.size());
}

/// Ids beyond those of the core mean none.
void check_servers(const I64& servers) {
  for (const std::int64_t server : view(servers, "held_server")) {
    if (server >= 0 && server <= std::int64_t{0x7fffffff}) continue;
    throw InvalidInput("held_server: " + std::to_string(server) + " is not a server");
  }
}

}  // namespace

void bind_snapshot(py::module_& m) {
  py::class_<OwnedSnapshot>(
      m, "Snapshot",
      "A run's initial state with running and waiting jobs; a row per job of the table, and in\n"
      "`held_...` per running job and server. Jobs submitted by now_us have arrived. The first\n"
      "decision is at first_us (None: at now_us); is_anew: by a policy that has decided nothing.")
      .def(py::init([](std::int64_t now_us, std::optional<std::int64_t> first_us, bool is_anew,
                       I64 attained_us, I64 start_us, I64 cost_us, Column<std::int32_t> preemptions,
                       I64 added_us, I64 held_job, I64 held_server, Column<GpuMask> held_mask) {
             if (now_us < 0 || now_us >= kMaxTicks / 2) {
               throw InvalidInput("now_us: " + std::to_string(now_us) +
                                  " must be from 0 to less than 2^61");
             }
             auto made = std::make_unique<OwnedSnapshot>(
                 OwnedSnapshot{now_us, std::max(now_us, first_us.value_or(now_us)), is_anew,
                               std::move(attained_us), std::move(start_us), std::move(cost_us),
                               std::move(preemptions), std::move(added_us), std::move(held_job),
                               std::move(held_server), std::move(held_mask)});
             check_lengths(*made);
             check_servers(made->held_server);
             return made;
           }),
           py::arg("now_us"), py::kw_only(), py::arg("first_us") = py::none(),
           py::arg("is_anew") = false, py::arg("attained_us").noconvert(),
           py::arg("start_us").noconvert(), py::arg("cost_us").noconvert(),
           py::arg("preemptions").noconvert(), py::arg("added_us").noconvert(),
           py::arg("held_job").noconvert(), py::arg("held_server").noconvert(),
           py::arg("held_mask").noconvert());
}

}  // namespace gpusched::bindings
