#pragma once

#include <array>
#include <charconv>
#include <string>

namespace gpusched {

/// The shortest text that parses to this number: 1e+300, not 301 digits.
[[nodiscard]] inline std::string text_of(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

}  // namespace gpusched
