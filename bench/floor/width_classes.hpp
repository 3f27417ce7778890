#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bench_floor {

/// A job that waits: the service it still needs, and its index.
struct Waiting {
  std::int64_t service_us = std::numeric_limits<std::int64_t>::max();
  std::uint32_t job = std::numeric_limits<std::uint32_t>::max();
};

struct EarlierSubmitted {
  bool operator()(const Waiting& a, const Waiting& b) const { return a.job < b.job; }
};

struct ShorterService {
  bool operator()(const Waiting& a, const Waiting& b) const {
    return a.service_us < b.service_us || (a.service_us == b.service_us && a.job < b.job);
  }
};

/// The waiting jobs, one queue per distinct width, narrowest first. If the head of a width
/// does not fit, no job of that width does: a scan that skips looks at heads only.
template <typename Queue>
class WidthClasses {
 public:
  /// `gpus` lists the widths that may come; those above `num_gpus` have no class.
  WidthClasses(std::span<const std::int32_t> gpus, std::int64_t num_gpus) {
    class_of_width_.assign(static_cast<std::size_t>(num_gpus) + 1, 0);
    for (const std::int32_t width : gpus) {
      if (width <= num_gpus) {
        class_of_width_[static_cast<std::size_t>(width)] = 1;
      }
    }
    for (std::size_t width = 0; width < class_of_width_.size(); ++width) {
      if (class_of_width_[width] != 0) {
        class_of_width_[width] = static_cast<std::uint32_t>(widths_.size());
        widths_.push_back(static_cast<std::int64_t>(width));
      }
    }
    queues_.resize(widths_.size());
    heads_.resize(widths_.size());
  }

  [[nodiscard]] std::size_t size() const { return widths_.size(); }
  [[nodiscard]] std::int64_t width(std::size_t index) const { return widths_[index]; }

  /// The first job of a class; `Waiting{}`, which is after every job, if there is none.
  [[nodiscard]] const Waiting& head(std::size_t index) const { return heads_[index]; }

  [[nodiscard]] std::int64_t num_waiting() const { return num_waiting_; }

  void push(std::int64_t width, const Waiting& waiting) {
    const std::size_t index = class_of_width_[static_cast<std::size_t>(width)];
    queues_[index].push(waiting);
    heads_[index] = queues_[index].top();
    ++num_waiting_;
  }

  /// Takes the head of a class that is not empty.
  Waiting pop(std::size_t index) {
    const Waiting taken = heads_[index];
    queues_[index].pop();
    heads_[index] = queues_[index].empty() ? Waiting{} : queues_[index].top();
    --num_waiting_;
    return taken;
  }

 private:
  std::vector<std::uint32_t> class_of_width_;
  std::vector<std::int64_t> widths_;
  std::vector<Queue> queues_;
  std::vector<Waiting> heads_;
  std::int64_t num_waiting_ = 0;
};

}  // namespace bench_floor
