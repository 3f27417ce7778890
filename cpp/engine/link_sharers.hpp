#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/network.hpp"
#include "seams/speed.hpp"

namespace gpusched {

/// The multi-server jobs on each link of the network, which slow each other down. A job that joins
/// or leaves marks its links as changed.
class LinkSharers {
 public:
  struct Membership {
    Crossing crossing;
    std::uint32_t position;  ///< among the guests, so that it leaves in one step
  };

  /// With zero places there is no network, and jobs never interact.
  explicit LinkSharers(std::size_t num_places) : places_(num_places) {}

  /// The job of the slot joins all links that it crosses.
  void enter(std::uint32_t slot, JobId job, std::span<const Crossing> crossings) {
    if (slot >= stays_.size()) stays_.resize(slot + 1);
    auto& stays = stays_[slot];
    stays.clear();
    for (const Crossing& crossing : crossings) {
      std::uint32_t position = 0;
      if (!places_.empty()) {
        auto& guests = place(crossing.link).guests;
        position = static_cast<std::uint32_t>(guests.size());
        guests.push_back({job, slot, static_cast<std::uint32_t>(stays.size())});
        mark(crossing.link);
      }
      stays.push_back({crossing, position});
    }
  }

  /// The job of the slot leaves them.
  void leave(std::uint32_t slot) {
    if (places_.empty() || slot >= stays_.size()) return;
    for (const Membership& stay : stays_[slot]) {
      auto& guests = place(stay.crossing.link).guests;
      const Sharer last = guests.back();
      guests[stay.position] = last;
      stays_[last.slot][last.stay].position = stay.position;
      guests.pop_back();
      mark(stay.crossing.link);
    }
    stays_[slot].clear();
  }

  /// The links of the job of the slot.
  [[nodiscard]] std::span<const Membership> of(std::uint32_t slot) const noexcept {
    return slot < stays_.size() ? std::span<const Membership>(stays_[slot])
                                : std::span<const Membership>();
  }
  [[nodiscard]] std::span<const Sharer> guests(LinkId link) const noexcept {
    if (places_.empty()) return {};
    return places_[static_cast<std::size_t>(link)].guests;
  }

  /// Visits the places with a change since the last call.
  template <class Visit>
  void take_changed(Visit visit) {
    for (const LinkId link : changed_) {
      place(link).is_changed = false;
      visit(link);
    }
    changed_.clear();
  }

 private:
  struct Place {
    std::vector<Sharer> guests;
    bool is_changed = false;
  };

  [[nodiscard]] Place& place(LinkId link) noexcept {
    return places_[static_cast<std::size_t>(link)];
  }
  void mark(LinkId link) {
    if (place(link).is_changed) return;
    place(link).is_changed = true;
    changed_.push_back(link);
  }

  std::vector<Place> places_;
  std::vector<std::vector<Membership>> stays_;  // of each slot
  std::vector<LinkId> changed_;
};

}  // namespace gpusched
