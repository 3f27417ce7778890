#include <pybind11/stl.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "columns.hpp"
#include "runs/run_measures.hpp"
#include "runs/running_totals.hpp"

namespace gpusched::bindings {

void bind_over_time(py::module_& m) {
  using Ticks = Column<std::int64_t>;

  m.def(
      "time_there_us",
      [](const Ticks& submit_us, const Ticks& finish_us, const Column<std::uint8_t>& status,
         const std::vector<std::int64_t>& times_us) {
        std::vector<Int128> found;
        {
          const UnlockedPass unlocked(static_cast<std::size_t>(status.size()));
          found = time_there_us(view(submit_us, "submit_us"), view(finish_us, "finish_us"),
                                view(status, "status"), times_us);
        }
        py::typing::List<py::int_> there;
        for (const Int128 time : found) there.append(exact(time));
        return there;
      },
      py::kw_only(), py::arg("submit_us").noconvert(), py::arg("finish_us").noconvert(),
      py::arg("status").noconvert(), py::arg("times_us"),
      "Time that all jobs together are there, from submission to finish, within each stretch\n"
      "from one of the ascending `times_us` to the next: exact. One that is unfinished stays to\n"
      "the end, one that is rejected never is there.");

  m.def(
      "running_totals",
      [](const Ticks& time_us, const Ticks& codes,
         const std::vector<std::vector<std::int64_t>>& changes) {
        RunningTotals found;
        {
          const UnlockedPass unlocked(static_cast<std::size_t>(time_us.size()));
          found = running_totals(view(time_us, "time_us"), view(codes, "codes"), changes);
        }
        py::typing::List<Ticks> totals;
        for (auto& row : found.totals) totals.append(column_of(std::move(row)));
        return std::pair(column_of(std::move(found.time_us)), totals);
      },
      py::kw_only(), py::arg("time_us").noconvert(), py::arg("codes").noconvert(),
      py::arg("changes"),
      "What has added up after all that happens at an instant: the distinct times, and a column\n"
      "for each row of `changes`. An event of `time_us`, ascending, adds `changes[row][code]`.");
}

}  // namespace gpusched::bindings
