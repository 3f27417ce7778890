#include "run.hpp"

#include <optional>
#include <string>

#include "base/check.hpp"
#include "listing/policy.hpp"
#include "trampolines.hpp"

namespace gpusched::bindings {
namespace {

/// An order that Python owns, for a scheduler that wants to own its order.
class BorrowedOrder final : public Order {
 public:
  explicit BorrowedOrder(Order& order) : order_(order), lifetime_(order.lifetime()) {}

  [[nodiscard]] KeyLifetime lifetime() const override { return lifetime_; }
  [[nodiscard]] bool remembers() const override { return order_.remembers(); }
  void rank(const QueueView& view, std::span<const JobId> jobs, std::span<double> key) override {
    order_.rank(view, jobs, key);
  }

 private:
  Order& order_;
  KeyLifetime lifetime_;
};

std::unique_ptr<Scheduler> scheduler_for(Order& order, const Parameters::Values& values,
                                         const std::vector<std::string>& flags,
                                         const Placement& placement, const JobTable& jobs) {
  PluginInfo info;
  for (const std::string& flag : flags) info.flags = info.flags.with(flag_of(flag));
  const Parameters parameters("policy", policy_parameters(info), values);
  return make_list_scheduler(info, std::make_unique<BorrowedOrder>(order), parameters, placement,
                             jobs);
}

}  // namespace

Run::Run(const OwnedJobTable& jobs, const Cluster& cluster, PolicyArgument policy,
         const Parameters::Values& policy_values, const std::vector<std::string>& flags,
         PlacementArgument placement, const Parameters::Values& placement_values,
         std::uint64_t seed, RunControl* control, const std::string& speed,
         const Parameters::Values& speed_values, const std::string& contention,
         const Parameters::Values& contention_values, bool verify)
    : jobs_(jobs.table),
      is_native_(std::holds_alternative<std::string>(policy) &&
                 std::holds_alternative<std::string>(placement)),
      speed_(make_speed(speed, speed_values)),
      contention_(make_contention(contention, contention_values)),
      control_(control != nullptr ? *control : own_control_) {
  if (const auto* name = std::get_if<std::string>(&placement)) {
    own_placement_ = make_placement(*name, placement_values);
  }
  Placement& places = own_placement_ ? *own_placement_ : *std::get<Placement*>(placement);
  if (const auto* name = std::get_if<std::string>(&policy)) {
    own_scheduler_ = make_scheduler(*name, policy_values, places, jobs_);
  } else if (const auto* order = std::get_if<Order*>(&policy)) {
    own_scheduler_ = scheduler_for(**order, policy_values, flags, places, jobs_);
  }
  Scheduler& decides = own_scheduler_ ? *own_scheduler_ : *std::get<Scheduler*>(policy);
  std::optional<py::gil_scoped_release> unlocked;
  if (is_native_) unlocked.emplace();  // no Python object is touched below
  simulation_ = std::make_unique<Simulation>(
      jobs_, cluster, decides, places, Simulation::Pacing{*speed_, *contention_, verify}, seed,
      control_);
}

void Run::check_open() const {
  if (phase_ == Phase::stopped || phase_ == Phase::over) throw InvalidInput("the run is over");
  if (phase_ == Phase::working) {
    throw InvalidInput("the run is going on, in another thread or around this very call");
  }
}

/// Works without the GIL where nothing is Python's. Where an action was impossible the message
/// gets the digest of what was done until then.
template <class Work>
void Run::guarded(Work work) {
  check_open();
  phase_ = Phase::working;
  struct End {
    Run& run;
    Phase next = Phase::over;  // unless the work is done
    ~End() {
      run.phase_ = next;
      run.control_.num_finished.store(run.simulation_->num_finished(), std::memory_order_relaxed);
    }
  } end{*this};
  const auto digest = [&] {
    return "; digest of the schedule so far: " + simulation_->finish().digest();
  };
  try {
    std::optional<py::gil_scoped_release> unlocked;
    if (is_native_) unlocked.emplace();
    work();
  } catch (const Stopped&) {
    end.next = Phase::stopped;
    throw;
  } catch (const InvariantError& error) {
    throw InvariantError(error.what() + digest());
  } catch (py::error_already_set& error) {
    // An action's error that passed through a scheduler written in Python.
    const py::object type = py::module_::import("gpusched._core").attr("InvariantError");
    if (!error.matches(type)) {
      end.next = Phase::stopped;
      throw;
    }
    const auto message = py::str(error.value()).cast<std::string>();
    py::raise_from(error, type.ptr(), (message + digest()).c_str());
    throw py::error_already_set();
  }
  end.next = Phase::halted;
}

void Run::advance(std::uint64_t num_jobs) {
  Time limit = kNever;
  if (num_jobs < jobs_.num_jobs()) {
    const auto job = static_cast<JobId>(num_jobs);
    limit = jobs_.submit(job);
    if (job > 0 && jobs_.submit(job - 1) == limit) {
      fail_input("num_jobs: job " + std::to_string(job) +
                 " arrives together with the job before it");
    }
  }
  guarded([&] {
    control_.check();  // also where there is nothing to handle
    while (simulation_->step(limit)) {
      control_.check();
      for (const JobId job : simulation_->finished()) {
        finished_.push_back(job);
        finish_us_.push_back(simulation_->state().now().count());
      }
    }
  });
}

std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> Run::take_finished() {
  if (phase_ == Phase::working) check_open();
  return {std::exchange(finished_, {}), std::exchange(finish_us_, {})};
}

Schedule Run::finish() {
  guarded([&] { simulation_->run(); });
  phase_ = Phase::over;
  return simulation_->finish();
}

Schedule Run::so_far() {
  if (phase_ != Phase::stopped) throw InvalidInput("the run was not stopped");
  phase_ = Phase::over;
  return simulation_->finish();
}

}  // namespace gpusched::bindings
