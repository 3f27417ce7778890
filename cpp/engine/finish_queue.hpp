#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clone.hpp"
#include "base/heap.hpp"
#include "base/time.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// The end of a run. Ends of one instant come by slot: no two entries are equal, so that no order
/// rests on how a heap or a sort treats equals.
struct FinishEvent {
  Time at;
  std::uint32_t slot;
  std::uint32_t version;

  [[nodiscard]] std::uint64_t run() const noexcept { return std::uint64_t{slot} << 32 | version; }

  friend bool operator<(const FinishEvent& a, const FinishEvent& b) noexcept {
    // Without branches, of which a heap would guess half wrong.
    return (a.at < b.at) | ((a.at == b.at) & (a.run() < b.run()));
  }
};

/// When the present runs will end. A run that ends otherwise, or whose finish moves, leaves a stale
/// entry behind: the slot has another version by then, or no job.
class FinishQueue {
 public:
  explicit FinishQueue(const State& state) : state_(state) {}

  /// The run of the slot will end then; what was said of earlier versions of the slot is void.
  void push(Time at, std::uint32_t slot, std::uint32_t version) {
    entries_.push({at, slot, version});
  }

  /// An entry that was pushed has become stale.
  void spoil() noexcept { ++num_stale_; }

  /// The next end of a run; kNever if nothing runs.
  [[nodiscard]] Time next() {
    while (num_stale_ > 0 && !entries_.empty() && is_stale(entries_.top())) {
      entries_.pop();
      --num_stale_;
    }
    return entries_.empty() ? kNever : entries_.top().at;
  }

  /// The slot whose run ends next; there is one.
  [[nodiscard]] std::uint32_t next_slot() { return entries_.top().slot; }

  /// Takes out and visits the slots whose runs end now, in ascending order.
  template <class Visit>
  void take(Time now, Visit visit) {
    while (!entries_.empty() && entries_.top().at == now) {
      const FinishEvent entry = entries_.top();
      entries_.pop();
      if (is_stale(entry)) {
        --num_stale_;
        continue;
      }
      visit(entry.slot);
    }
  }

  /// Drops the stale entries where they are many; to be called where a decision has ended.
  void tidy() {
    if (num_stale_ <= 64 || 2 * num_stale_ <= entries_.size()) return;
    entries_.remove_if([&](const FinishEvent& entry) { return is_stale(entry); });
    num_stale_ = 0;
  }

 private:
  [[nodiscard]] bool is_stale(const FinishEvent& entry) const noexcept {
    const Slot& slot = state_->slots()[entry.slot];
    return !slot.is_busy() || slot.version != entry.version;
  }

  Ref<const State> state_;
  Heap<FinishEvent> entries_;
  std::size_t num_stale_ = 0;
};

}  // namespace gpusched
