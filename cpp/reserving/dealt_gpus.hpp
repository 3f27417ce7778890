#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace gpusched {

/// GPUs of several types, dealt out to those who may take some of the types: as many as can be.
class DealtGpus {
 public:
  /// The sets of types that somebody may take.
  void begin(std::span<const TypeMask> sets, int num_types);

  /// Whether `gpus` GPUs of a set are left if of `free` of each type the sets get as many of what
  /// they want as they can.
  [[nodiscard]] bool leaves(std::span<const std::int64_t> free,
                            std::span<const std::int64_t> wanted, std::size_t set,
                            std::int64_t gpus);

 private:
  [[nodiscard]] std::int64_t& given(std::size_t who, std::size_t type) noexcept {
    return given_[who * num_types_ + type];
  }
  /// Gives as many of what is wanted as it can, of which others may have to take other types.
  [[nodiscard]] std::int64_t deal(std::size_t who, std::int64_t wanted);
  [[nodiscard]] std::size_t find_free(std::size_t who);

  std::size_t num_types_ = 0;
  std::vector<TypeMask> sets_;  // the last is who asks
  std::vector<std::int64_t> left_;   // of each type
  std::vector<std::int64_t> given_;  // of each type to each set
  // How a type was reached: from which other, by a set that has some of it.
  std::vector<std::size_t> from_;
  std::vector<std::size_t> by_;
  std::vector<std::size_t> reached_;
};

}  // namespace gpusched
