#include "runs/time_order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>

#include "base/check.hpp"

namespace gpusched {
namespace {

/// Bits of a digit: the counts and write positions stay in the nearest cache.
constexpr unsigned kDigitBits = 12;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
/// Bits of a key processed together: two digits next to the index of the time in one number.
constexpr unsigned kPartBits = 2 * kDigitBits;
constexpr unsigned kPlaceBits = 32;
/// Fewer times are sorted by comparing: clearing the counts of digits would take longer.
constexpr std::size_t kSortedByDigits = 2'000;

/// How many entries have each value of a digit; then, where the next of these goes.
class Digit {
 public:
  explicit Digit(unsigned shift) : shift_(shift) {}

  void count(std::uint64_t entry) { ++counts_[value(entry)]; }

  /// Moves the entries by this digit, equal ones as they stood.
  void order(std::vector<std::uint64_t>& entries, std::vector<std::uint64_t>& spare) {
    if (counts_[value(entries.front())] == entries.size()) return;
    std::exclusive_scan(counts_.begin(), counts_.end(), counts_.begin(), std::uint32_t{0});
    for (const std::uint64_t entry : entries) spare[counts_[value(entry)]++] = entry;
    entries.swap(spare);
  }

 private:
  [[nodiscard]] std::size_t value(std::uint64_t entry) const {
    return static_cast<std::size_t>((entry >> shift_) & (kDigits - 1));
  }

  unsigned shift_;
  std::array<std::uint32_t, kDigits> counts_{};
};

std::uint32_t place_of(std::uint64_t entry) { return static_cast<std::uint32_t>(entry); }

std::vector<std::uint32_t> order_by_digits(std::span<const std::int64_t> time_us) {
  const auto [least, most] = std::ranges::minmax(time_us);
  const auto base = static_cast<std::uint64_t>(least);
  const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(most) - base));
  std::vector<std::uint64_t> entries(time_us.size());
  std::vector<std::uint64_t> spare(time_us.size());
  std::iota(entries.begin(), entries.end(), std::uint64_t{0});
  for (unsigned done = 0; done < bits; done += kPartBits) {
    Digit low(kPlaceBits);
    Digit high(kPlaceBits + kDigitBits);
    for (std::uint64_t& entry : entries) {
      const std::uint64_t key = static_cast<std::uint64_t>(time_us[place_of(entry)]) - base;
      const std::uint64_t part = (key >> done) & ((std::uint64_t{1} << kPartBits) - 1);
      entry = (part << kPlaceBits) | place_of(entry);
      low.count(entry);
      high.count(entry);
    }
    low.order(entries, spare);
    high.order(entries, spare);
  }
  std::vector<std::uint32_t> order(time_us.size());
  std::ranges::transform(entries, order.begin(), place_of);
  return order;
}

}  // namespace

std::vector<std::uint32_t> time_order(std::span<const std::int64_t> time_us) {
  if (time_us.size() > std::numeric_limits<std::uint32_t>::max()) {
    fail_input("time_us: has " + std::to_string(time_us.size()) +
               " times; at most 2^32 - 1 are supported");
  }
  if (time_us.size() >= kSortedByDigits) return order_by_digits(time_us);
  std::vector<std::uint32_t> order(time_us.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::ranges::stable_sort(order, {}, [&](std::uint32_t place) { return time_us[place]; });
  return order;
}

}  // namespace gpusched
