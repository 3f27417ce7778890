#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gpusched {

/// SHA-256 (FIPS 180-4) over a stream of bytes.
class Sha256 {
 public:
  void update(std::span<const unsigned char> bytes);
  /// Appends the value's eight bytes, least significant first.
  void update(std::int64_t value);
  /// Ends the stream; the object cannot be updated afterwards.
  [[nodiscard]] std::string hex_digest();

 private:
  void compress(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667U, 0xbb67ae85U, 0x3c6ef372U, 0xa54ff53aU,
                                      0x510e527fU, 0x9b05688cU, 0x1f83d9abU, 0x5be0cd19U};
  std::array<unsigned char, 64> pending_{};
  std::size_t num_pending_ = 0;
  std::uint64_t num_bytes_ = 0;
};

}  // namespace gpusched
