#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace gpusched {

/// Objects that refer to each other are copied as a whole, with what they own: while one lives, a
/// Ref that is copied follows what it refers to into the copy, if that is copied with it, as the
/// memo of Python's deepcopy does. What is not copied is shared. One of a thread at a time; those
/// within it do nothing but join it.
class Cloning {
 public:
  Cloning() : outer_(current_) {
    if (outer_ == nullptr) current_ = this;
  }
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;
  ~Cloning() { current_ = outer_; }

  /// Declares that these bytes are copied to those, which may still be empty. Call before copying
  /// anything that points into them.
  static void note(const void* from, std::size_t size, void* to) {
    const auto* begin = static_cast<const char*>(from);
    current_->copied_.insert_or_assign(begin, Copied{begin + size, static_cast<char*>(to)});
  }
  /// Does nothing where nothing is copied as a whole.
  template <class Made>
  static void note_one(const Made* from, Made* to) {
    if (current_ != nullptr) note(from, sizeof(Made), to);
  }

  /// Where the copy of this is, or will be; itself if it is not copied.
  [[nodiscard]] static const void* follow(const void* target) noexcept {
    if (current_ == nullptr) return target;
    const auto* at = static_cast<const char*>(target);
    const auto next = current_->copied_.upper_bound(at);
    if (next == current_->copied_.begin()) return target;
    const auto& [begin, object] = *std::prev(next);
    return std::less<>{}(at, object.end) ? object.to + (at - begin) : target;
  }

  /// A copy that others may refer to. `Made` may keep its copy constructor for this class.
  template <class Made>
  [[nodiscard]] static std::unique_ptr<Made> copy(const Made& from) {
    const Cloning whole;
    Memory<Made> memory;
    note(&from, sizeof(Made), memory.at);
    std::unique_ptr<Made> made(new (memory.at) Made(from));
    memory.at = nullptr;
    return made;
  }

 private:
  /// For an object under construction; freed if that fails.
  template <class Made>
  struct Memory {
    static constexpr bool kIsAligned = alignof(Made) > __STDCPP_DEFAULT_NEW_ALIGNMENT__;

    Memory() : at(allocate()) {}
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() {
      if constexpr (kIsAligned) {
        ::operator delete(at, std::align_val_t{alignof(Made)});
      } else {
        ::operator delete(at);
      }
    }

    static void* allocate() {
      if constexpr (kIsAligned) {
        return ::operator new(sizeof(Made), std::align_val_t{alignof(Made)});
      } else {
        return ::operator new(sizeof(Made));
      }
    }

    void* at;
  };
  struct Copied {
    const char* end;
    char* to;
  };

  static inline thread_local Cloning* current_ = nullptr;

  Cloning* outer_;
  std::map<const char*, Copied, std::less<>> copied_;  // by where they begin; none in another
};

/// Refers to an object that it does not own, or to none. Copied in a Cloning it refers to the copy.
template <class Target>
class Ref {
 public:
  Ref() = default;
  Ref(Target* target) noexcept : target_(target) {}
  Ref(Target& target) noexcept : target_(&target) {}
  Ref(const Ref& other) noexcept
      : target_(static_cast<Target*>(const_cast<void*>(Cloning::follow(other.target_)))) {}
  Ref(Ref&& other) noexcept : target_(other.target_) {}
  Ref& operator=(const Ref& other) noexcept = default;
  Ref& operator=(Ref&& other) noexcept = default;
  ~Ref() = default;

  [[nodiscard]] Target& operator*() const noexcept { return *target_; }
  [[nodiscard]] Target* operator->() const noexcept { return target_; }
  operator Target*() const noexcept { return target_; }

 private:
  Target* target_ = nullptr;
};

/// Owns an object of a class that may derive from `Value`, and copies it as what it was made as: a
/// std::polymorphic that may be empty.
template <class Value>
class Owned {
 public:
  Owned() = default;
  template <class Made>
    requires std::is_convertible_v<Made*, Value*>
  Owned(std::unique_ptr<Made> made)
      : value_(std::move(made)), copy_([](const Value& from) -> std::unique_ptr<Value> {
          return Cloning::copy<Made>(static_cast<const Made&>(from));
        }) {}
  Owned(const Owned& other)
      : value_(other.value_ ? other.copy_(*other.value_) : nullptr), copy_(other.copy_) {}
  Owned(Owned&& other) noexcept = default;
  Owned& operator=(const Owned& other) {
    if (this != &other) *this = Owned(other);
    return *this;
  }
  Owned& operator=(Owned&& other) noexcept = default;
  ~Owned() = default;

  [[nodiscard]] Value& operator*() const noexcept { return *value_; }
  [[nodiscard]] Value* operator->() const noexcept { return value_.get(); }
  [[nodiscard]] Value* get() const noexcept { return value_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return value_ != nullptr; }

 private:
  using Copy = std::unique_ptr<Value> (*)(const Value&);

  std::unique_ptr<Value> value_;
  Copy copy_ = nullptr;
};

/// Owns a value, and copies it. No pointer from elsewhere refers to it.
template <class Value>
class Boxed {
 public:
  Boxed() = default;
  Boxed(std::unique_ptr<Value> value) : value_(std::move(value)) {}
  Boxed(const Boxed& other)
      : value_(other.value_ ? std::make_unique<Value>(*other.value_) : nullptr) {}
  Boxed(Boxed&& other) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    if (this != &other) *this = Boxed(other);
    return *this;
  }
  Boxed& operator=(Boxed&& other) noexcept = default;
  ~Boxed() = default;

  [[nodiscard]] Value& operator*() const noexcept { return *value_; }
  [[nodiscard]] Value* operator->() const noexcept { return value_.get(); }
  [[nodiscard]] Value* get() const noexcept { return value_.get(); }

 private:
  std::unique_ptr<Value> value_;
};

/// Base of a class whose objects are referred to one by one, wherever they are.
template <class Derived>
struct Noted {
  Noted() = default;
  Noted(const Noted& other) {
    Cloning::note_one(static_cast<const Derived*>(&other), static_cast<Derived*>(this));
  }
  Noted& operator=(const Noted&) = default;
};

}  // namespace gpusched
