#pragma once

#include <cstddef>
#include <cstdint>

namespace gpusched {

/// Reads an input as a row of small choices. Zeros follow its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), end_(data + size) {}

  [[nodiscard]] bool is_empty() const { return data_ == end_; }
  /// 0 to `most` - 1, at most 255; uneven, which does not matter here.
  int below(int most) { return is_empty() ? 0 : *data_++ % most; }

 private:
  const std::uint8_t* data_;
  const std::uint8_t* end_;
};

}  // namespace gpusched
