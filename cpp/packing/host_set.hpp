#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace gpusched {

/// Servers of which the n-th is asked for, in the order of their ids.
class HostSet {
 public:
  void reset(ServerId num_servers) {
    words_.assign((static_cast<std::size_t>(num_servers) + 63) / 64, 0);
  }
  void insert(ServerId server) noexcept { word(server) |= bit(server); }
  void erase(ServerId server) noexcept { word(server) &= ~bit(server); }

  [[nodiscard]] int count() const noexcept {
    int sum = 0;
    for (const std::uint64_t word : words_) sum += std::popcount(word);
    return sum;
  }
  /// There are more than n.
  [[nodiscard]] ServerId nth(int n) const noexcept {
    std::size_t at = 0;
    for (int here = 0; n >= (here = std::popcount(words_[at])); ++at) n -= here;
    std::uint64_t rest = words_[at];
    for (; n > 0; --n) rest &= rest - 1;
    return static_cast<ServerId>(at * 64) + std::countr_zero(rest);
  }

 private:
  static std::uint64_t bit(ServerId server) noexcept { return std::uint64_t{1} << (server & 63); }
  std::uint64_t& word(ServerId server) noexcept {
    return words_[static_cast<std::size_t>(server) >> 6];
  }

  std::vector<std::uint64_t> words_;
};

}  // namespace gpusched
