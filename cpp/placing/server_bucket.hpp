#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace gpusched {

/// The minimum and maximum free on some servers, and the lowest of them.
struct RoomRange {
  ServerId lowest;
  std::int64_t least_cpu_milli;
  std::int64_t most_cpu_milli;
  std::int64_t least_memory_mib;
  std::int64_t most_memory_mib;
};

/// Servers sorted by (standing, id) with their CPU and memory, in small blocks: a search for room
/// skips whole blocks.
class ServerBucket {
 public:
  struct Entry {
    double standing;
    std::int64_t cpu_milli;
    std::int64_t memory_mib;
    ServerId server;

    [[nodiscard]] bool has_room(std::int64_t cpu, std::int64_t memory) const noexcept {
      return cpu_milli >= cpu && memory_mib >= memory;
    }
    friend bool operator<(const Entry& a, const Entry& b) noexcept {
      return a.standing != b.standing ? a.standing < b.standing : a.server < b.server;
    }
  };

  struct Block {
    static constexpr int kCapacity = 16;

    int size = 0;
    RoomRange range{};
    Entry entries[kCapacity];

    [[nodiscard]] bool may_have_room(std::int64_t cpu, std::int64_t memory) const noexcept {
      return range.most_cpu_milli >= cpu && range.most_memory_mib >= memory;
    }
  };

  [[nodiscard]] bool empty() const noexcept { return blocks_.empty(); }
  [[nodiscard]] const std::vector<Block>& blocks() const noexcept { return blocks_; }
  /// The lowest entry; the bucket must not be empty.
  [[nodiscard]] const Entry& first() const noexcept { return blocks_.front().entries[0]; }
  /// The first server with so much CPU and memory; -1 if there is none.
  [[nodiscard]] ServerId first_with_room(std::int64_t cpu, std::int64_t memory) const noexcept;

  void insert(const Entry& entry);
  /// An entry of this standing and server is on the bucket.
  void erase(const Entry& entry);

 private:
  /// The block in which the entry is, or would go.
  [[nodiscard]] std::size_t find_block(const Entry& entry) const noexcept;
  [[nodiscard]] static int find_in(const Block& block, const Entry& entry) noexcept;
  static void measure(Block& block) noexcept;

  std::vector<Block> blocks_;
};

}  // namespace gpusched
