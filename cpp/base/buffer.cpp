#include "base/buffer.hpp"

#include <sys/mman.h>

namespace gpusched {

void* allocate_bytes(std::size_t size) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const bool is_large = size >= kHugePage;
  const std::size_t alignment = is_large ? kHugePage : 64;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  if (is_large) (void)madvise(memory, rounded, MADV_HUGEPAGE);  // a hint: refusal is fine
  return memory;
}

}  // namespace gpusched
