#include "base/registry.hpp"
#include "bindings.hpp"
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

}  // namespace

void bind_bare_speed(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing");
  testing.def(
      "register_bare_speed",
      [] {
        Registry<Speed>::add<BareSpeed>(
            {.name = kName,
             .summary = "Two iterations' time for a gang on several servers, one on one.",
             .source = "For tests: what every speed has."});
      },
      "Make the speed ``bare`` known, until it is forgotten.");
  testing.def(
      "forget_bare_speed", [] { Registry<Speed>::entries().erase(kName); },
      "Undo ``register_bare_speed``.");
}

}  // namespace gpusched::bindings
