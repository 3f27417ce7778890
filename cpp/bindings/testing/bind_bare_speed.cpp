#include <pybind11/stl.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "base/registry.hpp"
#include "bindings/bindings.hpp"
#include "model/job_columns.hpp"
#include "seams/speed.hpp"

namespace gpusched::bindings {
namespace {

constexpr const char* kName = "bare";
constexpr const char* kAlias = "barer";

/// The minimal speed: it reads no profile and no graph, is not elastic, and runs a job on several
/// servers at half the speed.
class BareSpeed final : public Speed {
 public:
  explicit BareSpeed(const Parameters& parameters) : apart_s_(parameters.number("apart_s")) {}

  [[nodiscard]] double ideal_s(JobId job) const override {
    const TypeMask types = jobs_->types(job) & cluster_->all_types();
    return jobs_->gpus(job) <= cluster_->largest_server(types) ? kTogether : apart_s_;
  }

  [[nodiscard]] IterationLimits limits(JobId job) const override {
    return {ideal_s(job), ideal_s(job), jobs_->gpus(job) > 1 ? apart_s_ : kTogether};
  }

  [[nodiscard]] double iteration_s(const PlacedGang& gang) const override {
    return gang.pieces.size() > 1 ? apart_s_ : kTogether;
  }

 private:
  void start(const JobTable& jobs, const Cluster& cluster, const JobClasses& /*classes*/) override {
    jobs_ = &jobs;
    cluster_ = &cluster;
  }

  static constexpr double kTogether = 1.0;

  double apart_s_;
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
             .summary = "Two iterations' time for a job on several servers, one on one.",
             .source = "For tests: what every speed has.",
             .parameters = {{.name = "apart_s",
                             .fallback = 2.0,
                             .help = "seconds of an iteration on several servers",
                             .minimum = 1}},
             .columns = known_names(columns),
             .optional_columns = known_names(optional)});
        Registry<Speed>::add_alias({.name = kAlias,
                                    .summary = "Three iterations' time on several servers.",
                                    .source = "For tests.",
                                    .target = kName,
                                    .values = {{"apart_s", 3.0}}});
      },
      py::arg("columns") = std::vector<std::string>{},
      py::arg("optional_columns") = std::vector<std::string>{},
      "Register the speed ``bare``, which reads these columns, and its alias ``barer``, until\n"
      "``forget_bare_speed``.");
  testing.def(
      "forget_bare_speed",
      [] {
        Registry<Speed>::entries().erase(kName);
        Registry<Speed>::aliases().erase(kAlias);
      },
      "Undo ``register_bare_speed``.");
}

}  // namespace gpusched::bindings
