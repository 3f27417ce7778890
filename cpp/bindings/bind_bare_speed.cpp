#include "base/registry.hpp"
#include "bindings.hpp"
#include "seams/speed.hpp"

namespace gpusched::bindings {
namespace {

constexpr const char* kName = "bare";
constexpr const char* kAlias = "barer";

/// What a speed has to have and nothing else: it reads no profile and no graph, is not elastic and
/// takes a gang on several servers to be half as fast.
class BareSpeed final : public Speed {
 public:
  explicit BareSpeed(const Parameters& parameters) : apart_s_(parameters.number("apart_s")) {}

  void begin(const JobTable& jobs, const Cluster& cluster,
             const JobClasses& /*classes*/) override {
    jobs_ = &jobs;
    cluster_ = &cluster;
  }

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
  static constexpr double kTogether = 1.0;

  double apart_s_;
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
             .source = "For tests: what every speed has.",
             .parameters = {{.name = "apart_s",
                             .fallback = 2.0,
                             .help = "seconds of an iteration on several servers",
                             .minimum = 1}}});
        Registry<Speed>::add_alias({.name = kAlias,
                                    .summary = "Three iterations' time on several servers.",
                                    .source = "For tests.",
                                    .target = kName,
                                    .values = {{"apart_s", 3.0}}});
      },
      "Make the speed ``bare`` and its alias ``barer`` known, until they are forgotten.");
  testing.def(
      "forget_bare_speed",
      [] {
        Registry<Speed>::entries().erase(kName);
        Registry<Speed>::aliases().erase(kAlias);
      },
      "Undo ``register_bare_speed``.");
}

}  // namespace gpusched::bindings
