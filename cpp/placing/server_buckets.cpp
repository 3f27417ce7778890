#include "placing/server_buckets.hpp"

namespace gpusched {

void ServerBuckets::clear(ServerId num_servers) {
  known_.clear();
  buckets_.clear();
  in_use_.clear();
  spots_.assign(static_cast<std::size_t>(num_servers), {kNowhere, {}});
  is_filled_ = true;
}

void ServerBuckets::move(const Occupancy& free, ServerId server, double standing) {
  Spot& spot = spots_[static_cast<std::size_t>(server)];
  if (spot.bucket != kNowhere) take_down(server);
  const auto [found, is_new] =
      known_.try_emplace(key_, static_cast<std::uint32_t>(buckets_.size()));
  if (is_new) buckets_.emplace_back();
  const bool has_demands = free.has_demands();
  spot = {found->second,
          {standing, has_demands ? free.free_cpu_milli(server) : Cluster::kUnlimited,
           has_demands ? free.free_memory_mib(server) : Cluster::kUnlimited, server}};
  put_back(server);
}

void ServerBuckets::take_down(ServerId server) {
  const Spot& spot = spots_[static_cast<std::size_t>(server)];
  KnownShelf& known = buckets_[spot.bucket];
  known.bucket.erase(spot.entry);
  if (!known.bucket.empty()) return;
  const std::uint32_t last = in_use_.back();
  in_use_[known.place] = last;
  buckets_[last].place = known.place;
  in_use_.pop_back();
}

void ServerBuckets::put_back(ServerId server) {
  const Spot& spot = spots_[static_cast<std::size_t>(server)];
  KnownShelf& known = buckets_[spot.bucket];
  if (known.bucket.empty()) {
    known.place = in_use_.size();
    in_use_.push_back(spot.bucket);
  }
  known.bucket.insert(spot.entry);
}

}  // namespace gpusched
