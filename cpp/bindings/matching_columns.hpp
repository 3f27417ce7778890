#pragma once

#include <cstdint>
#include <optional>

#include "columns.hpp"
#include "market/matching_market.hpp"

namespace gpusched::bindings {

using Reals = Column<double>;
using Counts = Column<std::int32_t>;

/// A matching problem with the columns that it borrows, by job.
struct MatchingColumns {
  Reals rate;
  Counts capacity;
  Reals rounds, samples;
  std::optional<Reals> gradient_bytes, bytes_per_s, waiting_s, restart_s;
  std::optional<Counts> previous, min_workers, max_workers;
  std::optional<Reals> max_samples;

  [[nodiscard]] MatchingProblem problem() const;
};

/// Options by name; what is not named keeps its default.
MatchingMarket::Options matching_options(const py::typing::Dict<py::str, py::object>& values);

}  // namespace gpusched::bindings
