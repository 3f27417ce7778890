#include "seams/occupancy.hpp"

#include <algorithm>

namespace gpusched {
namespace {

constexpr GpuMask all_gpus(int count) noexcept {
  return count == 64 ? ~GpuMask{0} : (GpuMask{1} << count) - 1;
}

constexpr std::uint64_t level_bit(int level) noexcept { return std::uint64_t{1} << (level - 1); }

}  // namespace

GpuMask lowest_bits(GpuMask mask, int count) noexcept {
  GpuMask rest = mask;
  for (int taken = 0; taken < count; ++taken) rest &= rest - 1;
  return mask ^ rest;
}

Occupancy::Occupancy(const Cluster& cluster, bool pooled, bool has_demands, bool has_shapes)
    : cluster_(&cluster), pooled_(pooled), num_free_(cluster.num_gpus()) {
  if (pooled_) return;
  const auto num_servers = static_cast<std::size_t>(cluster.num_servers());
  free_.resize(num_servers);
  num_free_of_.resize(num_servers);
  levels_.resize(static_cast<std::size_t>(cluster.num_types()));
  for (int type = 0; type < cluster.num_types(); ++type) {
    const int largest = cluster.largest_server(TypeMask{1} << type);
    levels_[static_cast<std::size_t>(type)].servers.assign(static_cast<std::size_t>(largest),
                                                           IndexSet(num_servers));
  }
  for (ServerId server = 0; server < cluster.num_servers(); ++server) {
    const int gpus = cluster.gpus(server);
    free_[static_cast<std::size_t>(server)] = all_gpus(gpus);
    num_free_of_[static_cast<std::size_t>(server)] = gpus;
    auto& levels = levels_[static_cast<std::size_t>(cluster.type(server))];
    levels.servers[static_cast<std::size_t>(gpus - 1)].insert(static_cast<std::size_t>(server));
    levels.nonempty |= level_bit(gpus);
    levels.num_free += gpus;
  }
  if (has_shapes) hosted_.resize(num_servers);
  if (has_demands || has_shapes) changes_.begin(num_servers);
  if (!has_demands) return;
  shared_.resize(num_servers);
  shared_only_ = IndexSet(num_servers);
  versions_.resize(num_servers);
  for (ServerId server = 0; server < cluster.num_servers(); ++server) {
    free_cpu_.push_back(cluster.cpu_milli(server));
    free_memory_.push_back(cluster.memory_mib(server));
    free_sum_.push_back(std::int64_t{kWholeGpu} * cluster.gpus(server));
    first_gpu_.push_back(free_milli_.size());
    free_milli_.resize(free_milli_.size() + static_cast<std::size_t>(cluster.gpus(server)),
                       kWholeGpu);
  }
}

std::int64_t Occupancy::num_free(TypeMask types) const noexcept {
  if (pooled_ || (cluster_->all_types() & ~types) == 0) return num_free_;
  std::int64_t sum = 0;
  for_each_type(types, [&](const Levels& levels) { sum += levels.num_free; });
  return sum;
}

bool Occupancy::is_free(std::span<const Piece> pieces) const noexcept {
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    return (piece.mask & ~free_[static_cast<std::size_t>(piece.server)]) == 0;
  });
}

void Occupancy::acquire(int gpus, std::span<const Piece> pieces) {
  num_free_ -= gpus;
  if (has_shapes()) [[unlikely]]
    move_shape(pieces, gpus, 1);
  if (may_close()) [[unlikely]]
    return acquire_closed(pieces);
  for (const Piece& piece : pieces) {
    move(piece.server, free_[static_cast<std::size_t>(piece.server)] & ~piece.mask, -piece.gpus);
  }
}

void Occupancy::release(int gpus, std::span<const Piece> pieces) {
  num_free_ += gpus;
  ++num_releases_;
  if (has_shapes()) [[unlikely]]
    move_shape(pieces, gpus, -1);
  if (may_close()) [[unlikely]]
    return release_closed(pieces);
  for (const Piece& piece : pieces) {
    move(piece.server, free_[static_cast<std::size_t>(piece.server)] | piece.mask, piece.gpus);
  }
}

/// The caller counted all its GPUs as taken from those that were free.
void Occupancy::acquire_closed(std::span<const Piece> pieces) noexcept {
  for (const Piece& piece : pieces) {
    const auto index = static_cast<std::size_t>(piece.server);
    const int back = count_bits(piece.mask & down_[index]);
    down_[index] &= ~piece.mask;
    num_free_ += back;
    move(piece.server, free_[index] & ~piece.mask, back - piece.gpus);
  }
}

void Occupancy::release_closed(std::span<const Piece> pieces) noexcept {
  for (const Piece& piece : pieces) {
    const auto index = static_cast<std::size_t>(piece.server);
    const GpuMask lost = piece.mask & closed_[index];
    down_[index] |= lost;
    num_free_ -= count_bits(lost);
    move(piece.server, free_[index] | (piece.mask & ~lost), piece.gpus - count_bits(lost));
  }
}

void Occupancy::begin_closing() {
  may_close_ = true;
  closed_.assign(free_.size(), 0);
  down_.assign(free_.size(), 0);
}

void Occupancy::close(ServerId server) {
  const auto index = static_cast<std::size_t>(server);
  closed_[index] = all_gpus(cluster_->gpus(server));
  down_[index] = free_[index];
  num_free_ -= num_free_of_[index];
  move(server, 0, -num_free_of_[index]);
  if (changes_.is_kept()) changes_.append(server);
}

void Occupancy::open(ServerId server) {
  const auto index = static_cast<std::size_t>(server);
  const int back = count_bits(down_[index]);
  num_free_ += back;
  ++num_releases_;
  move(server, free_[index] | down_[index], back);
  closed_[index] = down_[index] = 0;
  if (changes_.is_kept()) changes_.append(server);
}

bool Occupancy::can_return(std::span<const Piece> pieces, const Demand* demand) const noexcept {
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    const auto index = static_cast<std::size_t>(piece.server);
    if (demand != nullptr && !has_room(piece.server, *demand, std::max(1, piece.gpus)))
      return false;
    return (piece.mask & ~(free_[index] | down_[index])) == 0;
  });
}

void Occupancy::copy_server(const Occupancy& other, ServerId server) noexcept {
  const int gpus = other.free_gpus(server) - free_gpus(server);
  num_free_ += gpus;
  ++num_releases_;
  move(server, other.free_mask(server), gpus);
  if (!may_close()) return;
  const auto index = static_cast<std::size_t>(server);
  closed_[index] = other.closed_[index];
  down_[index] = other.down_[index];
}

bool Occupancy::is_free(std::span<const Piece> pieces, const Demand& demand) const noexcept {
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    if (!has_room(piece.server, demand, std::max(1, piece.gpus))) return false;
    if (!demand.is_share()) return (piece.mask & ~free_mask(piece.server)) == 0;
    return free_milli(piece.server, std::countr_zero(piece.mask)) >= demand.share_milli;
  });
}

void Occupancy::acquire(int gpus, std::span<const Piece> pieces, const Demand& demand) {
  if (!demand.is_share()) {
    acquire(gpus, pieces);
  } else if (has_shapes()) {
    move_shape(pieces, -demand.share_milli, 1);
  }
  for (const Piece& piece : pieces) move_demand(piece, demand, -1);
}

void Occupancy::release(int gpus, std::span<const Piece> pieces, const Demand& demand) {
  if (!demand.is_share()) {
    release(gpus, pieces);
  } else {
    ++num_releases_;
    if (has_shapes()) move_shape(pieces, -demand.share_milli, -1);
  }
  for (const Piece& piece : pieces) move_demand(piece, demand, 1);
}

void Occupancy::move_shape(std::span<const Piece> pieces, std::int32_t shape, int sign) {
  for (const Piece& piece : pieces) {
    changes_.append(piece.server);
    if (piece.gpus == 0) continue;
    auto& hosted = hosted_[static_cast<std::size_t>(piece.server)];
    const auto found = std::find_if(hosted.begin(), hosted.end(),
                                    [&](const Hosted& own) { return own.shape == shape; });
    if (found == hosted.end()) {
      hosted.push_back({shape, 1});
    } else if ((found->gangs += sign) == 0) {
      *found = hosted.back();
      hosted.pop_back();
    }
  }
}

void Occupancy::note_shared_only(ServerId server) noexcept {
  const auto index = static_cast<std::size_t>(server);
  const bool was = shared_only_.contains(index);
  const bool is = shared_[index] != 0 && num_free_of_[index] == 0;
  if (is && !was) shared_only_.insert(index);
  if (was && !is) shared_only_.erase(index);
}

/// Moves everything but whole GPUs: CPU, memory, and the shares of each GPU. A partly taken GPU
/// counts as taken among the whole ones.
void Occupancy::move_demand(const Piece& piece, const Demand& demand, int sign) noexcept {
  const auto index = static_cast<std::size_t>(piece.server);
  const int workers = std::max(1, piece.gpus);
  const auto whole = static_cast<std::size_t>(cluster_->part_of(piece.server));
  free_cpu_[whole] += sign * demand.cpu_milli * workers;
  free_memory_[whole] += sign * demand.memory_mib * workers;
  cluster_->for_each_part(piece.server, [&](ServerId part) {
    ++versions_[static_cast<std::size_t>(part)];
    if (!has_shapes() || part != piece.server) changes_.append(part);
  });
  for (GpuMask rest = piece.mask; rest != 0; rest &= rest - 1) {
    const int gpu = std::countr_zero(rest);
    const GpuMask bit = GpuMask{1} << gpu;
    std::int32_t& free = free_milli_[first_gpu_[index] + static_cast<std::size_t>(gpu)];
    const bool was_whole = free == kWholeGpu;
    free += sign * demand.share_milli;
    free_sum_[index] += sign * demand.share_milli;
    shared_[index] = free > 0 && free < kWholeGpu ? shared_[index] | bit : shared_[index] & ~bit;
    if (!demand.is_share() || was_whole == (free == kWholeGpu)) continue;
    num_free_ += was_whole ? -1 : 1;
    move(piece.server, free_[index] ^ bit, was_whole ? -1 : 1);
  }
  note_shared_only(piece.server);
}

void Occupancy::move(ServerId server, GpuMask after, int gpus) noexcept {
  const auto index = static_cast<std::size_t>(server);
  auto& levels = levels_[static_cast<std::size_t>(cluster_->type(server))];
  const int from = num_free_of_[index];
  const int to = from + gpus;
  free_[index] = after;
  num_free_of_[index] = to;
  levels.num_free += gpus;
  if (from > 0) {
    auto& servers = levels.servers[static_cast<std::size_t>(from - 1)];
    servers.erase(index);
    if (servers.empty()) levels.nonempty &= ~level_bit(from);
  }
  if (to > 0) {
    levels.servers[static_cast<std::size_t>(to - 1)].insert(index);
    levels.nonempty |= level_bit(to);
  }
}

int Occupancy::least_level(TypeMask types, int need) const noexcept {
  if (need > kMaxGpusPerServer) return 0;
  std::uint64_t nonempty = 0;
  for_each_type(types, [&](const Levels& levels) { nonempty |= levels.nonempty; });
  nonempty &= ~std::uint64_t{0} << (need - 1);
  return nonempty == 0 ? 0 : std::countr_zero(nonempty) + 1;
}

int Occupancy::greatest_level(TypeMask types) const noexcept {
  std::uint64_t nonempty = 0;
  for_each_type(types, [&](const Levels& levels) { nonempty |= levels.nonempty; });
  return static_cast<int>(std::bit_width(nonempty));
}

int Occupancy::level_below(TypeMask types, int level) const noexcept {
  std::uint64_t nonempty = 0;
  for_each_type(types, [&](const Levels& levels) { nonempty |= levels.nonempty; });
  return static_cast<int>(std::bit_width(nonempty & (level_bit(level) - 1)));
}

ServerId Occupancy::next_server(TypeMask types, int level, ServerId after) const noexcept {
  ServerId least = -1;
  for_each_type(types, [&](const Levels& levels) {
    if ((levels.nonempty & level_bit(level)) == 0) return;
    const ServerId found = levels.servers[static_cast<std::size_t>(level - 1)].next(after);
    if (found >= 0 && (least < 0 || found < least)) least = found;
  });
  return least;
}

std::int64_t Occupancy::num_servers_at(TypeMask types, int level) const noexcept {
  std::size_t sum = 0;
  for_each_type(types, [&](const Levels& levels) {
    if ((levels.nonempty & level_bit(level)) == 0) return;
    sum += levels.servers[static_cast<std::size_t>(level - 1)].count();
  });
  return static_cast<std::int64_t>(sum);
}

ServerId Occupancy::next_fitting(TypeMask types, int need, ServerId after) const noexcept {
  if (need > kMaxGpusPerServer) return -1;
  ServerId least = -1;
  for_each_type(types, [&](const Levels& levels) {
    std::uint64_t rest = levels.nonempty & (~std::uint64_t{0} << (need - 1));
    for (; rest != 0; rest &= rest - 1) {
      const ServerId found =
          levels.servers[static_cast<std::size_t>(std::countr_zero(rest))].next(after);
      if (found >= 0 && (least < 0 || found < least)) least = found;
    }
  });
  return least;
}

Piece Occupancy::lowest_free(ServerId server, int count) const noexcept {
  return Piece{server, lowest_bits(free_mask(server), count), count};
}

}  // namespace gpusched
