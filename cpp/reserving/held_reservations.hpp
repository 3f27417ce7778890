#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/heap.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"

namespace gpusched {

/// HeldReservations that have not come: by JobId for who moves up, by instant for who is due.
class HeldReservations {
 public:
  struct Held {
    JobId job;
    std::int32_t gpus;
    Time at;
    Time length;
  };

  void clear() noexcept;
  [[nodiscard]] bool empty() const noexcept { return num_held_ == 0; }
  void add(const Held& held);

  /// All of them by JobId, and maybe some whose instant is kNever, which are gone.
  [[nodiscard]] std::span<Held> by_job() noexcept { return by_job_; }
  void move(Held& held, Time at);

  /// The first instant; there must be a reservation.
  Time first() noexcept;
  /// Takes out the first by instant and JobId; there must be one.
  Held pop();
  /// Takes out the reservation of a job that has one.
  Held remove(JobId job);

 private:
  /// As it stood once: stale if it has moved since.
  struct Entry {
    Time at;
    JobId job;

    friend bool operator<(const Entry& a, const Entry& b) noexcept {
      return a.at != b.at ? a.at < b.at : a.job < b.job;
    }
  };

  [[nodiscard]] Held* find(JobId job) noexcept;
  [[nodiscard]] bool is_stale(const Entry& entry) noexcept;

  std::vector<Held> by_job_;
  Heap<Entry> by_instant_;
  std::size_t num_held_ = 0;  // as many of the entries are not stale
};

}  // namespace gpusched
