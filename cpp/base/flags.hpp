#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace gpusched {

/// What a plug-in may say of itself.
enum class Flag : std::uint8_t {
  preemptive,
  non_preemptive,
  strict,
  skip,
  clairvoyant,
  estimate,
  deadlines,
  elastic,
  random,
  places,
  offline,
  pooled,
  demands,
  shares,
  scatters,
  consolidates,
  steady,
  linkless,
  profiles,
  graphs,
  throughputs,
  samples,
  uncontended,
  interacting,
  approximate,
};
inline constexpr int kNumFlags = static_cast<int>(Flag::approximate) + 1;

/// A set of flags.
class Flags {
 public:
  constexpr Flags() = default;
  constexpr Flags(std::initializer_list<Flag> flags) {
    for (const Flag flag : flags) bits_ |= bit(flag);
  }

  [[nodiscard]] constexpr bool has(Flag flag) const noexcept { return (bits_ & bit(flag)) != 0; }
  [[nodiscard]] constexpr Flags with(Flag flag) const noexcept { return Flags(bits_ | bit(flag)); }
  [[nodiscard]] constexpr Flags without(Flag flag) const noexcept {
    return Flags(bits_ & ~bit(flag));
  }

 private:
  explicit constexpr Flags(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t bit(Flag flag) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(flag);
  }
  static_assert(kNumFlags <= 32);

  std::uint32_t bits_ = 0;
};

/// What a seam asks of its plug-ins without a call of theirs: the registry gives each the flags of
/// its registration when it makes it, and one that nobody registered has none.
class Flagged {
 public:
  [[nodiscard]] bool has(Flag flag) const noexcept { return flags_.has(flag); }
  [[nodiscard]] Flags flags() const noexcept { return flags_; }
  void declare(Flags flags) noexcept { flags_ = flags; }

 private:
  Flags flags_;
};

/// How a flag is spelt, what it means, and the kinds of plug-ins that may have it.
struct FlagText {
  Flag flag;
  const char* name;
  const char* meaning;
  /// Parted by spaces.
  const char* kinds;
  /// The kinds that may have it where they are written in Python.
  const char* python_kinds;
};

/// One for each flag, in their order.
[[nodiscard]] const std::array<FlagText, kNumFlags>& flag_texts();

/// Throws InvalidInput that names the flags there are.
[[nodiscard]] Flag flag_of(std::string_view name);
/// In the order of the flags.
[[nodiscard]] std::vector<std::string_view> names_of(Flags flags);

}  // namespace gpusched
