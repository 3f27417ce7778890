#include "case_seal.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "base/hash.hpp"

namespace gpusched {

namespace {

// The head, as python/gpusched/specs/case.py writes it: three numbers of 8 bytes and 64 digits.
constexpr std::uint64_t kMagic = 0x4553414353555047ULL;  // GPUSCASE
constexpr std::uint64_t kFormat = 6;
constexpr std::uint64_t kUncounted = 5;  // the same without the number of columns
constexpr std::size_t kDigits = 64;
constexpr std::size_t kHead = 3 * sizeof(std::uint64_t) + kDigits;

std::uint64_t number(const std::vector<char>& file, std::size_t index) {
  std::uint64_t value = 0;
  std::memcpy(&value, file.data() + index * sizeof(value), sizeof(value));
  return value;
}

}  // namespace

UnsealedCase unsealed(std::vector<char> file, const std::string& path) {
  if (file.size() < kHead || number(file, 0) != kMagic) fail_input(path + ": not a gpusched case");
  const std::uint64_t format = number(file, 1);
  if (format != kFormat && format != kUncounted) fail_input(path + ": unknown format");
  if (number(file, 2) != file.size() - kHead) {
    fail_input(path + ": the file is truncated, or data was appended");
  }
  const std::string stored(file.data() + kHead - kDigits, kDigits);
  file.erase(file.begin(), file.begin() + kHead);
  Sha256 sha;
  sha.update({reinterpret_cast<const unsigned char*>(file.data()), file.size()});
  if (sha.hex_digest() != stored) fail_input(path + ": the file was changed");
  return {std::move(file), format == kFormat};
}

}  // namespace gpusched
