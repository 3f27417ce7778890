#include "base/hash.hpp"

#include <algorithm>
#include <bit>

#include "base/wrapping.hpp"

namespace gpusched {
namespace {

constexpr std::array<std::uint32_t, 64> kRound{
    0x428a2f98U, 0x71374491U, 0xb5c0fbcfU, 0xe9b5dba5U, 0x3956c25bU, 0x59f111f1U, 0x923f82a4U,
    0xab1c5ed5U, 0xd807aa98U, 0x12835b01U, 0x243185beU, 0x550c7dc3U, 0x72be5d74U, 0x80deb1feU,
    0x9bdc06a7U, 0xc19bf174U, 0xe49b69c1U, 0xefbe4786U, 0x0fc19dc6U, 0x240ca1ccU, 0x2de92c6fU,
    0x4a7484aaU, 0x5cb0a9dcU, 0x76f988daU, 0x983e5152U, 0xa831c66dU, 0xb00327c8U, 0xbf597fc7U,
    0xc6e00bf3U, 0xd5a79147U, 0x06ca6351U, 0x14292967U, 0x27b70a85U, 0x2e1b2138U, 0x4d2c6dfcU,
    0x53380d13U, 0x650a7354U, 0x766a0abbU, 0x81c2c92eU, 0x92722c85U, 0xa2bfe8a1U, 0xa81a664bU,
    0xc24b8b70U, 0xc76c51a3U, 0xd192e819U, 0xd6990624U, 0xf40e3585U, 0x106aa070U, 0x19a4c116U,
    0x1e376c08U, 0x2748774cU, 0x34b0bcb5U, 0x391c0cb3U, 0x4ed8aa4aU, 0x5b9cca4fU, 0x682e6ff3U,
    0x748f82eeU, 0x78a5636fU, 0x84c87814U, 0x8cc70208U, 0x90befffaU, 0xa4506cebU, 0xbef9a3f7U,
    0xc67178f2U};

}  // namespace

GPUSCHED_WRAPS_AROUND void Sha256::compress(const unsigned char* block) {
  std::array<std::uint32_t, 64> word{};
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned char* at = block + 4 * i;
    word[i] = std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
              std::uint32_t{at[3]};
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t x = word[i - 15];
    const std::uint32_t y = word[i - 2];
    const std::uint32_t low = std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3);
    const std::uint32_t high = std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10);
    word[i] = word[i - 16] + low + word[i - 7] + high;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t mixed_e = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t first = h + mixed_e + ((e & f) ^ (~e & g)) + kRound[i] + word[i];
    const std::uint32_t mixed_a = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t second = mixed_a + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<std::uint32_t, 8> change{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += change[i];
}

void Sha256::update(std::span<const unsigned char> bytes) {
  num_bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (num_pending_ == 0 && bytes.size() >= pending_.size()) {
      compress(bytes.data());
      bytes = bytes.subspan(pending_.size());
      continue;
    }
    const std::size_t count = std::min(pending_.size() - num_pending_, bytes.size());
    std::copy_n(bytes.begin(), count, pending_.begin() + static_cast<std::ptrdiff_t>(num_pending_));
    num_pending_ += count;
    bytes = bytes.subspan(count);
    if (num_pending_ == pending_.size()) {
      compress(pending_.data());
      num_pending_ = 0;
    }
  }
}

void Sha256::update(std::int64_t value) {
  std::array<unsigned char, 8> bytes{};
  auto rest = static_cast<std::uint64_t>(value);
  for (auto& byte : bytes) {
    byte = static_cast<unsigned char>(rest & 0xff);
    rest >>= 8;
  }
  update(bytes);
}

std::string Sha256::hex_digest() {
  const std::uint64_t num_bits = num_bytes_ * 8;
  const std::array<unsigned char, 1> one{0x80};
  const std::array<unsigned char, 1> zero{0};
  update(one);
  while (num_pending_ != 56) update(zero);
  std::array<unsigned char, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) {
    length[i] = static_cast<unsigned char>(num_bits >> (56 - 8 * i));
  }
  update(length);
  std::string hex;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      hex.push_back("0123456789abcdef"[(word >> shift) & 0xf]);
    }
  }
  return hex;
}

}  // namespace gpusched
