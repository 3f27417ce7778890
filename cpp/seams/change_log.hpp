#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace gpusched {

/// The servers that changed, in order; the last changes are kept. A reader that remembers their
/// count finds what changed since. A copy starts its own history, so that it is not mistaken for
/// the original.
class ChangeLog {
 public:
  ChangeLog() = default;
  ChangeLog(const ChangeLog& other)
      : num_changes_(other.num_changes_), ring_(other.ring_), last_(other.last_) {}
  ChangeLog& operator=(const ChangeLog& other) {
    history_ = next_history();
    num_changes_ = other.num_changes_;
    ring_ = other.ring_;
    last_ = other.last_;
    return *this;
  }

  /// Keeps at least as many changes as there are servers.
  void begin(std::size_t num_servers) {
    ring_.assign(std::bit_ceil(std::max<std::size_t>(64, num_servers)), 0);
    last_.assign(num_servers, 0);
  }
  /// Whether changes are written down at all.
  [[nodiscard]] bool is_kept() const noexcept { return !ring_.empty(); }

  void append(ServerId server) noexcept {
    last_[static_cast<std::size_t>(server)] = num_changes_;
    ring_[static_cast<std::size_t>(num_changes_++ & (ring_.size() - 1))] = server;
  }

  /// Different for every object.
  [[nodiscard]] std::uint64_t history() const noexcept { return history_; }
  /// The number of changes so far; the last `num_kept` are available.
  [[nodiscard]] std::uint64_t num_changes() const noexcept { return num_changes_; }
  [[nodiscard]] std::uint64_t num_kept() const noexcept { return ring_.size(); }
  [[nodiscard]] ServerId server(std::uint64_t change) const noexcept {
    return ring_[static_cast<std::size_t>(change & (ring_.size() - 1))];
  }
  /// Whether the server of the change has not changed again.
  [[nodiscard]] bool is_last(std::uint64_t change) const noexcept {
    return last_[static_cast<std::size_t>(server(change))] == change;
  }

 private:
  static std::uint64_t next_history() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  std::uint64_t history_ = next_history();
  std::uint64_t num_changes_ = 0;
  std::vector<ServerId> ring_;
  std::vector<std::uint64_t> last_;  // change of each server
};

}  // namespace gpusched
