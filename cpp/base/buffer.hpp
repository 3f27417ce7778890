#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpusched {

/// Blocks of that size and above are large.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Uninitialised memory. Large blocks use huge pages: a run touches each byte of its records and
/// its log once, and a page fault per 4 KiB would cost as much as the scheduling.
void* allocate_bytes(std::size_t size);

/// The same, from the large blocks that were kept if one has that size.
void* allocate_kept_bytes(std::size_t size);
/// Frees it. At most a gibibyte of large blocks is kept for the next run: new pages must be
/// cleared, and if a guest system returns free pages to its host, that takes as long as scheduling
/// the jobs stored there. The system may reclaim the pages of kept blocks.
void keep_bytes(void* memory, std::size_t size) noexcept;

struct FreeDeleter {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
struct KeepDeleter {
  std::size_t size;
  void operator()(void* memory) const noexcept { keep_bytes(memory, size); }
};

template <class Value>
using Buffer = std::unique_ptr<Value[], FreeDeleter>;
/// One that is touched throughout, so that it is worth keeping.
template <class Value>
using KeptBuffer = std::unique_ptr<Value[], KeepDeleter>;

template <class Value>
concept Plain = std::is_trivially_copyable_v<Value> && std::is_trivially_destructible_v<Value>;

template <Plain Value>
Buffer<Value> make_buffer(std::size_t count) {
  return Buffer<Value>(static_cast<Value*>(allocate_bytes(count * sizeof(Value))));
}

template <Plain Value>
KeptBuffer<Value> make_kept_buffer(std::size_t count) {
  const std::size_t size = count * sizeof(Value);
  return KeptBuffer<Value>(static_cast<Value*>(allocate_kept_bytes(size)), KeepDeleter{size});
}

/// Hands vectors such memory, once they are large.
template <class Value>
struct KeptAllocator {
  using value_type = Value;

  KeptAllocator() = default;
  template <class Other>
  KeptAllocator(const KeptAllocator<Other>& /*other*/) noexcept {}

  [[nodiscard]] Value* allocate(std::size_t count) {
    if (count * sizeof(Value) < kHugePage) return std::allocator<Value>().allocate(count);
    return static_cast<Value*>(allocate_kept_bytes(count * sizeof(Value)));
  }
  void deallocate(Value* values, std::size_t count) noexcept {
    if (count * sizeof(Value) < kHugePage) return std::allocator<Value>().deallocate(values, count);
    keep_bytes(values, count * sizeof(Value));
  }
  friend bool operator==(const KeptAllocator& /*a*/, const KeptAllocator& /*b*/) noexcept {
    return true;
  }
};

/// A sequence that grows without moving what it has: no copy, and no peak of twice the size. What
/// is full is never written again, so that copies share it.
template <class Value>
class ChunkedVector {
 public:
  ChunkedVector() = default;
  ChunkedVector(const ChunkedVector& other) : chunks_(other.chunks_), size_(other.size_) {
    if (chunks_.empty()) return;
    Chunk& last = chunks_.back();
    const auto used = static_cast<std::size_t>(other.next_ - last.values.get());
    std::shared_ptr<Value[]> values = make_values(last.capacity);
    std::copy_n(last.values.get(), used, values.get());
    last.values = std::move(values);
    next_ = last.values.get() + used;
    end_ = last.values.get() + last.capacity;
  }
  ChunkedVector(ChunkedVector&& other) noexcept
      : chunks_(std::exchange(other.chunks_, {})),
        next_(std::exchange(other.next_, nullptr)),
        end_(std::exchange(other.end_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  ChunkedVector& operator=(ChunkedVector other) noexcept {
    std::swap(chunks_, other.chunks_);
    std::swap(next_, other.next_);
    std::swap(end_, other.end_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~ChunkedVector() = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The last value; there is one.
  [[nodiscard]] const Value& back() const noexcept { return next_[-1]; }

  void push_back(const Value& value) {
    if (next_ == end_) grow();
    *next_++ = value;
    ++size_;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    std::size_t left = size_;
    for (const Chunk& chunk : chunks_) {
      const std::size_t count = left < chunk.capacity ? left : chunk.capacity;
      for (std::size_t i = 0; i < count; ++i) visit(chunk.values[i]);
      left -= count;
    }
  }

 private:
  struct Chunk {
    std::shared_ptr<Value[]> values;
    std::size_t capacity;
  };
  static constexpr std::size_t kFirst = 256;
  static constexpr std::size_t kLargest = (std::size_t{4} << 20) / sizeof(Value);

  static std::shared_ptr<Value[]> make_values(std::size_t capacity) {
    return std::shared_ptr<Value[]>(make_kept_buffer<Value>(capacity));
  }

  void grow() {
    const std::size_t wanted = chunks_.empty() ? kFirst : 4 * chunks_.back().capacity;
    const std::size_t capacity = wanted < kLargest ? wanted : kLargest;
    chunks_.push_back({make_values(capacity), capacity});
    next_ = chunks_.back().values.get();
    end_ = next_ + capacity;
  }

  std::vector<Chunk> chunks_;
  Value* next_ = nullptr;
  Value* end_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gpusched
