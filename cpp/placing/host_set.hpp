#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace gpusched {

/// A set of servers with access to the n-th in the order of ids.
class HostSet {
 public:
  void reset(ServerId num_servers) {
    words_.assign((static_cast<std::size_t>(num_servers) + 63) / 64, 0);
  }
  void erase(ServerId server) noexcept { word(server) &= ~bit(server); }

  /// Inserts servers, mostly close to the previous one, until it is destroyed.
  class Filler {
   public:
    explicit Filler(HostSet& hosts) noexcept : hosts_(hosts) {}
    Filler(const Filler&) = delete;
    Filler& operator=(const Filler&) = delete;
    ~Filler() { flush(); }

    void insert(ServerId server) noexcept {
      if ((server >> 6) != (last_ >> 6)) flush();
      last_ = server;
      bits_ |= bit(server);
    }

   private:
    void flush() noexcept {
      hosts_.word(last_) |= bits_;
      bits_ = 0;
    }

    HostSet& hosts_;
    ServerId last_ = 0;
    std::uint64_t bits_ = 0;
  };

  [[nodiscard]] int count() const noexcept {
    int sum = 0;
    for (const std::uint64_t word : words_) sum += count_bits(word);
    return sum;
  }
  /// There are more than n.
  [[nodiscard]] ServerId nth(int n) const noexcept {
    std::size_t at = 0;
    for (int here = 0; n >= (here = count_bits(words_[at])); ++at) n -= here;
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
