#include "base/registry.hpp"
#include "seams/speed.hpp"

namespace gpusched {
namespace {

/// One iteration is the whole service, whatever the allocation.
class Fixed final : public Speed {
 public:
  [[nodiscard]] double ideal_s(JobId job) const override {
    return static_cast<double>(jobs_->service(job).count()) / 1e6;
  }

  [[nodiscard]] IterationLimits limits(JobId job) const override {
    return {ideal_s(job), ideal_s(job), ideal_s(job)};
  }

  [[nodiscard]] double iteration_s(const PlacedGang& gang) const override {
    return ideal_s(gang.job);
  }

 private:
  void start(const JobTable& jobs, const Cluster& /*cluster*/,
             const JobClasses& /*classes*/) override {
    jobs_ = &jobs;
  }

  const JobTable* jobs_ = nullptr;
};

}  // namespace

GPUSCHED_REGISTER(Speed, Fixed, .name = "fixed",
                  .summary = "The run time of a job does not depend on its GPUs.",
                  .source = "Common assumption of trace-driven simulators.",
                  .flags = {Flag::shares, Flag::steady})

}  // namespace gpusched
