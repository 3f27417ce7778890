#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace gpusched {

/// The properties that a plug-in may declare.
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
  outages,
  priorities,
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

/// The flags of a plug-in. The registry sets those of the registration when it makes the plug-in;
/// an unregistered one has none.
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

/// The instants at which a policy may preempt. A job that is started is not preempted in the same
/// decision, so at each instant every job is preempted at most once. By default: never.
struct PreemptionBound {
  bool at_arrivals = false;
  bool at_finishes = false;
  /// Parameter with the period in seconds: preempts at its multiples; if it is 0, at arrivals and
  /// finishes.
  std::string_view period = "";
  /// Parameter with a list: for each entry, every job may cause one decision.
  std::string_view per_entry = "";
  /// Parameter with the seconds for which a job has run since its start before it is preempted; if
  /// nothing else is set, at any instant.
  std::string_view least_run = "";
  /// In a pool, if all jobs ask for one GPU: no more preemptions than jobs have arrived, all of
  /// them at arrivals. With the parameters as they are by default, and predictions that are true.
  bool one_per_arrival = false;
  /// Why this holds, in a sentence.
  std::string_view reason = "";
};

/// For orders in which a waiting job never overtakes a running one over time.
inline constexpr std::string_view kNeverOvertaken =
    "The key of a running job does not grow, so only a new arrival can overtake it.";

}  // namespace gpusched
