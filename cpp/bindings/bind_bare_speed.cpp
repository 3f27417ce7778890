#include <pybind11/stl.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "base/registry.hpp"
#include "bindings.hpp"
#include "model/job_columns.hpp"
#include "seams/speed.hpp"

namespace gpusched::bindings {
namespace {

constexpr const char* kName = "bare";

/// What a speed has to have and nothing else: it reads no profile and no graph, is not elastic and
/// takes a gang on several servers to be half as fast.
class BareSpeed final : public Speed {
 public:
  [[nodiscard]] double ideal_s(JobId job) const override {
    const TypeMask types = jobs_->types(job) & cluster_->all_types();
    return jobs_->gpus(job) <= cluster_->largest_server(types) ? kTogether : kApart;
  }

  [[nodiscard]] IterationLimits limits(JobId job) const override {
    return {ideal_s(job), ideal_s(job), jobs_->gpus(job) > 1 ? kApart : kTogether};
  }

  [[nodiscard]] double iteration_s(const PlacedGang& gang) const override {
    return gang.pieces.size() > 1 ? kApart : kTogether;
  }

 private:
  void start(const JobTable& jobs, const Cluster& cluster,
             const JobClasses& /*classes*/) override {
    jobs_ = &jobs;
    cluster_ = &cluster;
  }

  static constexpr double kTogether = 1.0;
  static constexpr double kApart = 2.0;

  const JobTable* jobs_ = nullptr;
  const Cluster* cluster_ = nullptr;
};

/// The names as the table of columns owns them.
std::vector<std::string_view> known_names(const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const std::string& name : names) {
    const ColumnInfo* column = find_column(name);
    if (column == nullptr) fail_input("columns: there is no column " + name);
    known.push_back(column->name);
  }
  return known;
}

}  // namespace

void bind_bare_speed(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing");
  testing.def(
      "register_bare_speed",
      [](const std::vector<std::string>& columns, const std::vector<std::string>& optional) {
        Registry<Speed>::add<BareSpeed>(
            {.name = kName,
             .summary = "Two iterations' time for a gang on several servers, one on one.",
             .source = "For tests: what every speed has.",
             .columns = known_names(columns),
             .optional_columns = known_names(optional)});
      },
      py::arg("columns") = std::vector<std::string>{},
      py::arg("optional_columns") = std::vector<std::string>{},
      "Make the speed ``bare`` known, until it is forgotten, as one that reads these columns.");
  testing.def(
      "forget_bare_speed", [] { Registry<Speed>::entries().erase(kName); },
      "Undo ``register_bare_speed``.");
}

}  // namespace gpusched::bindings
