#include "solvers/priced_time.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <utility>

namespace gpusched {
namespace {

/// Time at one price.
struct Stretch {
  double price;
  double length_us;
  std::size_t step;

  /// Dearest on top of a heap.
  bool operator<(const Stretch& other) const noexcept { return price < other.price; }
};

/// Finds, job after job, when each should run, and adds up what that costs and what is held.
class Chooser {
 public:
  Chooser(std::size_t num_jobs, const PricedMachines& machines)
      : machines_(machines),
        num_jobs_(num_jobs),
        num_steps_(machines.edge_us.size() - 1),
        num_machines_(machines.price.size() / num_steps_),
        widths_(num_machines_),
        paid_(num_machines_ * (num_steps_ + 1)) {
    for (std::size_t machine = 0; machine < num_machines_; ++machine) {
      for (std::size_t step = 0; step < num_steps_; ++step) {
        const std::size_t at = machine * (num_steps_ + 1) + step;
        paid_[at + 1] =
            paid_[at] + machines.price[machine * num_steps_ + step] * (edge(step + 1) - edge(step));
      }
    }
    result_.held.assign(machines.price.size(), 0.0);
  }

  void add(std::size_t job, std::int64_t submit_us, std::int64_t service_us) {
    const auto edges = machines_.edge_us;
    const auto above = std::upper_bound(edges.begin(), edges.end(), submit_us);
    submit_us_ = static_cast<double>(submit_us);
    service_us_ = static_cast<double>(service_us);
    first_ = static_cast<std::size_t>(above - edges.begin()) - 1;
    for (std::size_t machine = 0; machine < num_machines_; ++machine) {
      widths_[machine] = static_cast<double>(machines_.widths[machine * num_jobs_ + job]);
    }
    const double end = end_of_best();
    result_.cost += best_;
    hold(end);
  }

  [[nodiscard]] PricedTimes finished() && { return std::move(result_); }

 private:
  [[nodiscard]] double edge(std::size_t step) const noexcept {
    return static_cast<double>(machines_.edge_us[step]);
  }

  /// The step's own time from `begin` on; the time after all steps is one without an end.
  [[nodiscard]] double left(std::size_t step, double begin) const noexcept {
    return step < num_steps_ ? edge(step + 1) - begin : service_us_ + 1.0;
  }

  /// The price of a microsecond for the job.
  [[nodiscard]] double price_of(std::size_t step) const noexcept {
    double price = 0.0;
    for (std::size_t machine = 0; step < num_steps_ && machine < num_machines_; ++machine) {
      price += widths_[machine] * machines_.price[machine * num_steps_ + step];
    }
    return price;
  }

  /// The payment of the job from the first edge to an instant.
  [[nodiscard]] double paid_until(double instant, std::size_t step) const noexcept {
    double paid = step < num_steps_ ? price_of(step) * (instant - edge(step)) : 0.0;
    for (std::size_t machine = 0; machine < num_machines_; ++machine) {
      paid += widths_[machine] * paid_[machine * (num_steps_ + 1) + step];
    }
    return paid;
  }

  /// When the job should end; `best_` is what that costs.
  double end_of_best() {
    double end = submit_us_ + service_us_;
    std::size_t step = first_;
    while (step < num_steps_ && edge(step + 1) < end) {
      ++step;
    }
    double paid = paid_until(end, step) - paid_until(submit_us_, first_);
    best_ = service_us_ + paid;
    double best_end = end;
    if (paid <= 0.0) {
      return best_end;
    }
    chosen_.clear();
    collect(submit_us_, end);
    std::make_heap(chosen_.begin(), chosen_.end());
    for (;; ++step) {
      double free = left(step, end);
      const double price = price_of(step);
      const double next = end + free;
      while (free > 0.0 && chosen_.front().price > price) {
        const Stretch dearest = chosen_.front();
        const double moved = std::min(dearest.length_us, free);
        std::pop_heap(chosen_.begin(), chosen_.end());
        chosen_.pop_back();
        if (dearest.length_us > moved) {
          put({dearest.price, dearest.length_us - moved, dearest.step});
        }
        pending_.push_back({price, moved, step});
        free -= moved;
        end += moved;
        paid -= moved * (dearest.price - price);
        const double cost = (end - submit_us_) + paid;
        if (cost < best_) {
          best_ = cost;
          best_end = end;
        }
        if (chosen_.empty()) {
          break;
        }
      }
      for (const Stretch& stretch : pending_) {
        put(stretch);
      }
      pending_.clear();
      end = next;
      const bool is_over = step >= num_steps_ || chosen_.front().price <= 0.0;
      if (is_over || end - submit_us_ >= best_) {
        return best_end;
      }
    }
  }

  /// Hold what is cheapest up to the end.
  void hold(double end) {
    chosen_.clear();
    collect(submit_us_, end);
    std::sort(chosen_.begin(), chosen_.end());
    double missing = service_us_;
    for (const Stretch& stretch : chosen_) {
      const double taken = std::min(missing, stretch.length_us);
      for (std::size_t machine = 0; stretch.step < num_steps_ && machine < num_machines_;
           ++machine) {
        result_.held[machine * num_steps_ + stretch.step] += widths_[machine] * taken;
      }
      missing -= taken;
      if (missing <= 0.0) {
        break;
      }
    }
  }

  /// All time from `begin`, in the first step, to `end`, by steps.
  void collect(double begin, double end) {
    for (std::size_t step = first_; begin < end; ++step) {
      const double taken = std::min(end - begin, left(step, begin));
      chosen_.push_back({price_of(step), taken, step});
      begin += taken;
    }
  }

  void put(const Stretch& stretch) {
    chosen_.push_back(stretch);
    std::push_heap(chosen_.begin(), chosen_.end());
  }

  const PricedMachines& machines_;
  std::size_t num_jobs_, num_steps_, num_machines_;
  std::vector<double> widths_;  // of the current job, by machine
  std::vector<double> paid_;    // for a width of 1 up to each edge, machine after machine
  PricedTimes result_;
  std::vector<Stretch> chosen_, pending_;
  double submit_us_ = 0.0, service_us_ = 0.0, best_ = 0.0;
  std::size_t first_ = 0;
};

void check(std::span<const std::int64_t> submit_us, std::span<const std::int64_t> service_us,
           const PricedMachines& machines) {
  const auto& [widths, edge_us, price] = machines;
  const std::size_t num_jobs = submit_us.size();
  if (service_us.size() != num_jobs) {
    throw std::invalid_argument("submit_us and service_us must have one length");
  }
  if (edge_us.size() < 2 ||
      std::adjacent_find(edge_us.begin(), edge_us.end(), std::greater_equal<>{}) != edge_us.end()) {
    throw std::invalid_argument("edge_us must be two or more increasing values");
  }
  const std::size_t num_steps = edge_us.size() - 1;
  if (price.size() % num_steps != 0 || widths.size() != num_jobs * (price.size() / num_steps)) {
    throw std::invalid_argument(
        "price must have one entry per step and widths one per job, for each machine");
  }
  if (!std::all_of(price.begin(), price.end(),
                   [](double one) { return one >= 0.0 && std::isfinite(one); })) {
    throw std::invalid_argument("price must be 0 or more");
  }
  if (!std::all_of(widths.begin(), widths.end(), [](std::int32_t one) { return one >= 0; })) {
    throw std::invalid_argument("widths must be 0 or more");
  }
  for (std::size_t job = 0; job < num_jobs; ++job) {
    if (service_us[job] < 1) {
      throw std::invalid_argument("service_us must be positive");
    }
    if (submit_us[job] < edge_us[0] || submit_us[job] >= edge_us.back()) {
      throw std::invalid_argument("submit_us must be between the first and the last edge");
    }
  }
}

}  // namespace

PricedTimes priced_times(std::span<const std::int64_t> submit_us,
                         std::span<const std::int64_t> service_us, const PricedMachines& machines) {
  check(submit_us, service_us, machines);
  Chooser chooser(submit_us.size(), machines);
  for (std::size_t job = 0; job < submit_us.size(); ++job) {
    chooser.add(job, submit_us[job], service_us[job]);
  }
  return std::move(chooser).finished();
}

}  // namespace gpusched
