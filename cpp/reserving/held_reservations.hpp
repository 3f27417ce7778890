#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/heap.hpp"
#include "base/ids.hpp"
#include "base/run_control.hpp"
#include "base/time.hpp"
#include "reserving/free_profile.hpp"
#include "reserving/ruled_out.hpp"
#include "reserving/waiting_by_size.hpp"

namespace gpusched {

/// Reservations that have not come, in a profile of what is free. Who may move up is known by what
/// has come free since it last could not: the step just before it, or room of its size.
class HeldReservations {
 public:
  struct Held {
    JobId job;
    std::int32_t gpus;
    Time at;
    Time length;
  };

  /// `looks_at_all`: whether each pass makes every reservation anew.
  void begin(std::int64_t num_gpus, bool looks_at_all);

  [[nodiscard]] FreeProfile& profile() noexcept { return profile_; }
  [[nodiscard]] bool empty() const noexcept { return num_held_ == 0; }

  /// At the earliest fit.
  void add(JobId job, std::int32_t gpus, Time length);
  /// GPUs that were taken are free after all, as when a job ends early.
  void give_back(Time begin, Time end, std::int64_t gpus);
  /// Of what slides in the profile.
  void stop_sliding(Time length, std::int64_t gpus);
  /// Each by JobId takes the earliest fit among all the others.
  void move_up(const RunControl& control);

  /// The first instant; kNever without a reservation.
  [[nodiscard]] Time first() const { return profile_.first_start(); }
  /// Takes out all that start at the first instant, by JobId, until the next call; their GPUs stay
  /// taken.
  [[nodiscard]] std::span<const Held> pop();
  /// Gives back the reservation of a job that has one.
  void withdraw(JobId job);

 private:
  using Slot = WaitingBySize::Slot;
  using Candidate = WaitingBySize::Member;

  struct Waiting {
    Held held{};
    Slot next{};  // of those that start at the same instant
    Slot previous{};
    WaitingBySize::Place alike{};
    bool is_listed = false;
  };

  [[nodiscard]] Waiting& at(Slot slot) noexcept { return slots_[static_cast<std::size_t>(slot)]; }
  void enter(Slot slot);
  void leave(Slot slot);
  void drop(Slot slot);

  /// It is tried in this pass, or in the next one if this one is past it.
  void list(Slot slot);
  void push(Slot slot);
  void list_starts(const FreeProfile::Starts& starts, std::int64_t free_before);
  void list_sizes(WaitingBySize::Width& width, Time begin, Time end);
  [[nodiscard]] Time list_alike(WaitingBySize::Place place, Time begin);
  void list_next(WaitingBySize::Alike& alike, std::span<const Candidate> ahead);
  void list_all();
  void list_later();
  void try_one(Slot slot);
  [[nodiscard]] Time first_fit(std::int32_t gpus, Time length);
  [[nodiscard]] Time earliest_fit(Slot slot);
  /// Where it stands if there is none before.
  [[nodiscard]] Time room_for(const Held& held);
  /// From an instant on before which there is none; what is found so is ruled out before.
  [[nodiscard]] Time search(RuledOut& ruled_out, FreeProfile::Search search);
  [[nodiscard]] Time fit_without(const Held& held);
  void move(Slot slot, Time to);

  FreeProfile profile_;
  bool looks_at_all_ = false;
  std::vector<Waiting> slots_;
  std::vector<Slot> spare_;
  std::vector<Slot> slot_of_;  // by JobId, of those that are held
  std::size_t num_held_ = 0;
  WaitingBySize sizes_;

  Heap<Candidate> candidates_;
  std::vector<Candidate> later_;  // for the next pass
  std::vector<WaitingBySize::Place> alike_later_;
  JobId passed_ = kNoJob;  // up to which jobs a pass has come

  /// Room for a width, while the profile is walked along.
  struct Room {
    Time begin;
    bool is_new;
  };
  std::vector<Room> rooms_;
  std::vector<Held> popped_;
};

}  // namespace gpusched
