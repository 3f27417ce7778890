#include "solvers/squashed_machine.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace gpusched {
namespace {

/// The jobs as the squashed machine sees them.
struct Columns {
  std::span<const std::int64_t> submit_us;
  std::span<const std::int64_t> service_us;
  std::span<const std::int32_t> gpus;
  std::int64_t num_gpus;

  [[nodiscard]] std::size_t size() const noexcept { return submit_us.size(); }

  /// Ticks since the first submit.
  template <typename Tick>
  [[nodiscard]] Tick release(std::size_t job) const noexcept {
    return static_cast<Tick>(submit_us[job] - submit_us[0]) * static_cast<Tick>(num_gpus);
  }

  template <typename Tick>
  [[nodiscard]] Tick work(std::size_t job) const noexcept {
    return static_cast<Tick>(service_us[job]) * static_cast<Tick>(gpus[job]);
  }
};

/// No completion is later than `horizon`, no job larger than `largest_work`.
struct Extent {
  Uint128 horizon = 0;
  Uint128 largest_work = 0;

  [[nodiscard]] bool fits_64_bits() const noexcept { return (horizon >> 63) == 0; }
};

Extent check(const Columns& jobs) {
  if (jobs.service_us.size() != jobs.size() || jobs.gpus.size() != jobs.size()) {
    throw std::invalid_argument("submit_us, service_us and gpus must have one length");
  }
  if (jobs.num_gpus < 1 || jobs.num_gpus > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument("num_gpus must be from 1 to 2^31 - 1");
  }
  if (jobs.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("must have at most 2^32 jobs");
  }
  Extent extent;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    if (jobs.service_us[job] < 1 || jobs.gpus[job] < 1) {
      throw std::invalid_argument("service_us and gpus must be positive");
    }
    if (jobs.submit_us[job] < (job == 0 ? 0 : jobs.submit_us[job - 1])) {
      throw std::invalid_argument("submit_us must be sorted and not negative");
    }
    const auto work = jobs.work<Uint128>(job);
    extent.horizon += work;
    extent.largest_work = std::max(extent.largest_work, work);
  }
  if (jobs.size() != 0) {
    extent.horizon += jobs.release<Uint128>(jobs.size() - 1);
  }
  return extent;
}

/// Shortest remaining first needs no identities: the heap holds remaining work alone.
template <typename Tick>
Uint128 total_flow_of_srpt(const Columns& jobs) {
  std::vector<Tick> remaining;
  Tick now = 0;
  Uint128 flow = 0;
  const auto finish_front = [&] {
    now += remaining.front();
    flow += now;
    std::pop_heap(remaining.begin(), remaining.end(), std::greater<>{});
    remaining.pop_back();
  };
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const auto release = jobs.release<Tick>(job);
    while (!remaining.empty() && now + remaining.front() <= release) {
      finish_front();
    }
    if (!remaining.empty()) {
      remaining.front() -= release - now;  // the lowest decreases: still a heap
    }
    now = release;
    remaining.push_back(jobs.work<Tick>(job));
    std::push_heap(remaining.begin(), remaining.end(), std::greater<>{});
  }
  while (!remaining.empty()) {
    finish_front();
  }
  // Flows are completions less submits; the sum only dips below zero modulo 2^128 here.
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    flow -= jobs.release<Uint128>(job);
  }
  return flow;
}

/// `Key` orders the waiting jobs, least first: the work itself, or the work over the weight.
template <typename Tick, typename Key>
MeanBusyTime busy_times(const Columns& jobs, std::span<const double> weight,
                        std::span<double> each) {
  struct Waiting {
    Key key;
    std::uint32_t job;

    /// Less urgent; ties go to the lower index.
    bool operator>(const Waiting& other) const noexcept {
      return key != other.key ? key > other.key : job > other.job;
    }
  };
  struct Progress {
    Tick remaining = 0;
    Uint128 moment = 0;  // over the ticks served: the sum of (begin + end), both since submit
  };
  std::vector<Progress> progress(jobs.size());
  std::vector<Waiting> waiting;  // a heap, the most urgent on top
  MeanBusyTime sum;
  Tick now = 0;

  const auto serve_until = [&](Tick limit) {
    while (!waiting.empty() && now < limit) {
      const std::uint32_t job = waiting.front().job;
      auto& mine = progress[job];
      const Tick served = std::min<Tick>(mine.remaining, limit - now);
      const Tick since_submit = now - jobs.release<Tick>(job);
      mine.moment += static_cast<Uint128>(served) *
                     (static_cast<Uint128>(since_submit) * 2 + static_cast<Uint128>(served));
      mine.remaining -= served;
      now += served;
      if (mine.remaining == 0) {
        const Uint128 half_ticks =
            mine.moment / jobs.work<Tick>(job) +
            static_cast<Uint128>(jobs.service_us[job]) * static_cast<Uint128>(jobs.num_gpus);
        sum.half_ticks += half_ticks;
        if (!each.empty()) {
          each[job] = static_cast<double>(half_ticks);
        }
        sum.weighted_half_ticks +=
            static_cast<double>(half_ticks) * (weight.empty() ? 1.0 : weight[job]);
        std::pop_heap(waiting.begin(), waiting.end(), std::greater<>{});
        waiting.pop_back();
      }
    }
  };

  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const auto release = jobs.release<Tick>(job);
    serve_until(release);
    now = release;
    const auto work = jobs.work<Tick>(job);
    progress[job].remaining = work;
    Key key;
    if constexpr (std::is_same_v<Key, double>) {
      key = static_cast<double>(work) / weight[job];
    } else {
      key = work;
    }
    waiting.push_back({key, static_cast<std::uint32_t>(job)});
    std::push_heap(waiting.begin(), waiting.end(), std::greater<>{});
  }
  serve_until(std::numeric_limits<Tick>::max());
  return sum;
}

template <typename Tick>
MeanBusyTime busy_times(const Columns& jobs, std::span<const double> weight,
                        std::span<double> each) {
  return weight.empty() ? busy_times<Tick, Tick>(jobs, weight, each)
                        : busy_times<Tick, double>(jobs, weight, each);
}

int bit_width(Uint128 value) noexcept {
  int width = 0;
  for (; value != 0; value >>= 1) {
    ++width;
  }
  return width;
}

}  // namespace

Uint128 squashed_srpt(std::span<const std::int64_t> submit_us,
                      std::span<const std::int64_t> service_us, std::span<const std::int32_t> gpus,
                      std::int64_t num_gpus) {
  const Columns jobs{submit_us, service_us, gpus, num_gpus};
  return check(jobs).fits_64_bits() ? total_flow_of_srpt<std::uint64_t>(jobs)
                                    : total_flow_of_srpt<Uint128>(jobs);
}

MeanBusyTime mean_busy_time(std::span<const std::int64_t> submit_us,
                            std::span<const std::int64_t> service_us,
                            std::span<const std::int32_t> gpus, std::int64_t num_gpus,
                            std::span<const double> weight, std::span<double> each) {
  const Columns jobs{submit_us, service_us, gpus, num_gpus};
  const Extent extent = check(jobs);
  if (!each.empty() && each.size() != jobs.size()) {
    throw std::invalid_argument("each must be as long as the other columns, or empty");
  }
  if (!weight.empty()) {
    if (weight.size() != jobs.size()) {
      throw std::invalid_argument("weight must be as long as the other columns, or empty");
    }
    if (!std::all_of(weight.begin(), weight.end(), [](double w) { return w > 0.0; })) {
      throw std::invalid_argument("weight must be positive");
    }
  }
  if (bit_width(extent.largest_work) + bit_width(2 * extent.horizon) > 127) {
    throw std::overflow_error("one job's work times the horizon needs more than 127 bits");
  }
  return extent.fits_64_bits() ? busy_times<std::uint64_t>(jobs, weight, each)
                               : busy_times<Uint128>(jobs, weight, each);
}

}  // namespace gpusched
