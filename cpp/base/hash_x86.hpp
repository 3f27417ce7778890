#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpusched {

/// Whether the processor has instructions for SHA-256; never where it is no x86-64.
[[nodiscard]] bool has_sha_instructions() noexcept;

/// Adds so many blocks of 64 bytes to the state by those instructions.
void compress_x86(std::array<std::uint32_t, 8>& state, const std::uint32_t* round_constants,
                  const unsigned char* blocks, std::size_t num_blocks) noexcept;

}  // namespace gpusched
