#include "base/buffer.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <iterator>

namespace gpusched {
namespace {

constexpr std::size_t kMostKeptBytes = std::size_t{1} << 30;

std::size_t rounded(std::size_t size) noexcept {
  const std::size_t unit = size < kHugePage ? 64 : kHugePage;
  return size == 0 ? unit : (size + unit - 1) / unit * unit;
}

/// Cached free blocks, in the order in which they were returned.
class KeptBlocks {
 public:
  KeptBlocks() { blocks_.reserve(kMostKeptBytes / kHugePage); }

  static KeptBlocks& of_this_process() {
    // Never destroyed: what outlives the end of the program may still give memory back.
    static auto* const kept = new KeptBlocks;
    return *kept;
  }

  /// The last one of exactly that size; null if there is none.
  void* take(std::size_t size) noexcept {
    const Turn turn(is_busy_);
    if (!turn.is_mine) return nullptr;
    const auto is_fit = [&](const Block& block) { return block.size == size; };
    const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(), is_fit);
    if (found == blocks_.rend()) return nullptr;
    void* const memory = found->memory;
    blocks_.erase(std::next(found).base());
    num_bytes_ -= size;
    return memory;
  }

  /// Keeps the block, in place of the oldest where they are too many; whether it did.
  bool put(void* memory, std::size_t size) noexcept {
    if (size > kMostKeptBytes || has_limit()) return false;
    const Turn turn(is_busy_);
    if (!turn.is_mine || madvise(memory, size, MADV_FREE) != 0) return false;
    auto oldest = blocks_.begin();
    for (; num_bytes_ + size > kMostKeptBytes; ++oldest) {
      std::free(oldest->memory);
      num_bytes_ -= oldest->size;
    }
    blocks_.erase(blocks_.begin(), oldest);
    blocks_.push_back({memory, size});
    num_bytes_ += size;
    return true;
  }

 private:
  struct Block {
    void* memory;
    std::size_t size;
  };

  /// Try-lock. If another thread holds it, or held it when this process was forked, use the system
  /// allocator instead. Never blocks.
  class Turn {
   public:
    explicit Turn(std::atomic_flag& is_busy)
        : is_mine(!is_busy.test_and_set(std::memory_order_acquire)), is_busy_(is_busy) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (is_mine) is_busy_.clear(std::memory_order_release);
    }

    const bool is_mine;

   private:
    std::atomic_flag& is_busy_;
  };

  /// The system can take the pages of cached blocks, but not their addresses.
  static bool has_limit() noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
  }

  std::atomic_flag is_busy_;
  std::vector<Block> blocks_;
  std::size_t num_bytes_ = 0;
};

}  // namespace

void* allocate_bytes(std::size_t size) {
  const bool is_large = size >= kHugePage;
  void* memory = std::aligned_alloc(is_large ? kHugePage : 64, rounded(size));
  if (memory == nullptr) throw std::bad_alloc();
  if (is_large) (void)madvise(memory, rounded(size), MADV_HUGEPAGE);  // a hint: refusal is fine
  return memory;
}

void* allocate_kept_bytes(std::size_t size) {
  if (size >= kHugePage) {
    if (void* memory = KeptBlocks::of_this_process().take(rounded(size))) return memory;
  }
  return allocate_bytes(size);
}

void keep_bytes(void* memory, std::size_t size) noexcept {
  if (size >= kHugePage && KeptBlocks::of_this_process().put(memory, rounded(size))) return;
  std::free(memory);
}

}  // namespace gpusched
