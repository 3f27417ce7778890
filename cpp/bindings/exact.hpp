#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

namespace gpusched::bindings {

/// An integer of Python from one of 128 bits.
template <class Wide>
pybind11::int_ exact(Wide value) {
  __extension__ typedef unsigned __int128 Bits;
  const pybind11::int_ low(static_cast<std::uint64_t>(value));
  if (static_cast<Bits>(value) >> 64 == 0) return low;
  // A sign is that of the upper half.
  constexpr bool is_signed = static_cast<Wide>(-1) < static_cast<Wide>(1);
  const pybind11::int_ high = is_signed ? pybind11::int_(static_cast<std::int64_t>(value >> 64))
                                        : pybind11::int_(static_cast<std::uint64_t>(value >> 64));
  return (high << pybind11::int_(64)) | low;
}

}  // namespace gpusched::bindings
