#pragma once

#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "columns.hpp"
#include "elastic/reallocation.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"
#include "signal_check.hpp"

namespace gpusched::bindings {

/// Something of a run that one call shows to Python. Python may keep it for as long as it likes:
/// once the call is over, and in any other thread than that of the call, every use is an error.
template <class Target>
class Lent {
 public:
  [[nodiscard]] bool is_open() const noexcept { return target_ != nullptr; }
  [[nodiscard]] Target& get() const {
    if (target_ == nullptr) {
      throw InvalidInput("this view is valid only during the call that passed it");
    }
    // Another thread could be using the view, without the GIL, when the call ends.
    if (thread_ != std::this_thread::get_id()) {
      throw InvalidInput("this view is valid only in the thread of the call that passed it");
    }
    return *target_;
  }

 private:
  template <class Of>
  friend class Loan;

  Target* target_ = nullptr;
  std::thread::id thread_;
};

/// Opens what is lent for the time of one call.
template <class Target>
class Loan {
 public:
  Loan(Lent<Target>& lent, Target& target) : lent_(lent) {
    lent.target_ = &target;
    lent.thread_ = std::this_thread::get_id();
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan() { lent_.target_ = nullptr; }

 private:
  Lent<Target>& lent_;
};

/// The state as Python sees it, of one run.
class StateView : public Lent<const State> {
 public:
  /// An order's has no placement.
  StateView(std::uint64_t run_id, std::uint64_t seed, Placement* placement = nullptr)
      : run_id_(run_id), seed_(seed), placement_(placement) {}

  [[nodiscard]] const State& state() const { return get(); }
  [[nodiscard]] std::uint64_t run_id() const noexcept { return run_id_; }
  [[nodiscard]] std::uint64_t seed() const {
    static_cast<void>(get());
    return seed_;
  }
  /// Jobs that have arrived and not finished, by id. A scheduler's alone.
  [[nodiscard]] const std::vector<JobId>& active() const {
    if (placement_ == nullptr) throw InvalidInput("only the state of a scheduler lists jobs");
    return active_;
  }
  [[nodiscard]] Placement& placement() const {
    if (placement_ == nullptr) throw InvalidInput("only the state of a scheduler can place jobs");
    return *placement_;
  }

  void update(const Instant& instant) {
    if (!instant.finished.empty()) {
      std::erase_if(active_, [&](JobId job) {
        return std::binary_search(instant.finished.begin(), instant.finished.end(), job);
      });
    }
    const auto middle = static_cast<std::ptrdiff_t>(active_.size());
    active_.insert(active_.end(), instant.arrived.begin(), instant.arrived.end());
    if (middle > 0 && !instant.arrived.empty() && instant.arrived.front() < active_[middle - 1]) {
      std::inplace_merge(active_.begin(), active_.begin() + middle, active_.end());
    }
  }

  /// A whole trace column, copied once per run, read-only for good.
  template <class Value>
  py::array_t<Value> column(std::span<const Value> values, const char* name) {
    if (!columns_.contains(name)) {
      columns_[name] =
          read_only_column<Value>(values.size(), [&](std::size_t i) { return values[i]; });
    }
    return columns_[name].cast<py::array_t<Value>>();
  }

  /// The same, with one value for all where the trace lacks the column.
  template <class Value>
  py::array_t<Value> column_or(std::span<const Value> values, Value fallback, const char* name) {
    if (!values.empty()) return column(values, name);
    const std::vector<Value> same(state().jobs().num_jobs(), fallback);
    return column<Value>(same, name);
  }

  template <class Limit>
  py::array_t<std::int32_t> limit_column(const char* name, Limit limit) {
    const State& now = state();
    if (columns_.contains(name)) return columns_[name].cast<py::array_t<std::int32_t>>();
    const auto most = static_cast<int>(now.cluster().num_gpus());
    std::vector<std::int32_t> widths(now.jobs().num_jobs());
    for (JobId job = 0; job < widths.size(); ++job) widths[job] = std::min(most, limit(now, job));
    return column<std::int32_t>(widths, name);
  }

 private:
  std::uint64_t run_id_;
  std::uint64_t seed_;
  Placement* placement_;
  std::vector<JobId> active_;
  py::dict columns_;
};

/// Free GPUs as Python sees them.
class FreeView : public Lent<const Occupancy> {};

/// Actions as Python sees them, of one run.
class ActionsView : public Lent<Actions> {
 public:
  explicit ActionsView(const Setup& setup) : state_(setup.state), stop_(setup.control) {
    reallocation_.begin(setup, &stop_);
  }

  [[nodiscard]] Actions& actions() const {
    Actions& open = get();
    // A Python placement called in `reallocate` may hold the actions, too.
    if (is_reallocating_) throw InvalidInput("actions cannot be called inside reallocate");
    return open;
  }

  using Target = std::pair<JobId, std::vector<Part>>;

  std::vector<JobId> reallocate(const py::typing::Iterable<Target>& targets,
                                Reallocation::Others others);

 private:
  void add(py::handle target);

  const State& state_;  // looked at only while the actions are open
  YieldingCheck stop_;
  Reallocation reallocation_;
  bool is_reallocating_ = false;
};

}  // namespace gpusched::bindings
