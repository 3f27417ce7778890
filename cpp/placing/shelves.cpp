#include "placing/shelves.hpp"

namespace gpusched {

void Shelves::clear(ServerId num_servers) {
  known_.clear();
  shelves_.clear();
  in_use_.clear();
  spots_.assign(static_cast<std::size_t>(num_servers), {kNowhere, {}});
  is_filled_ = true;
}

void Shelves::move(const Occupancy& free, ServerId server, double standing) {
  Spot& spot = spots_[static_cast<std::size_t>(server)];
  if (spot.shelf != kNowhere) take_down(server);
  const auto [found, is_new] =
      known_.try_emplace(key_, static_cast<std::uint32_t>(shelves_.size()));
  if (is_new) shelves_.emplace_back();
  const bool has_demands = free.has_demands();
  spot = {found->second,
          {standing, has_demands ? free.free_cpu_milli(server) : Cluster::kUnlimited,
           has_demands ? free.free_memory_mib(server) : Cluster::kUnlimited, server}};
  put_back(server);
}

void Shelves::take_down(ServerId server) {
  const Spot& spot = spots_[static_cast<std::size_t>(server)];
  KnownShelf& known = shelves_[spot.shelf];
  known.shelf.erase(spot.entry);
  if (!known.shelf.empty()) return;
  const std::uint32_t last = in_use_.back();
  in_use_[known.place] = last;
  shelves_[last].place = known.place;
  in_use_.pop_back();
}

void Shelves::put_back(ServerId server) {
  const Spot& spot = spots_[static_cast<std::size_t>(server)];
  KnownShelf& known = shelves_[spot.shelf];
  if (known.shelf.empty()) {
    known.place = in_use_.size();
    in_use_.push_back(spot.shelf);
  }
  known.shelf.insert(spot.entry);
}

}  // namespace gpusched
