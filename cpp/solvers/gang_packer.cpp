#include "solvers/gang_packer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/infinity.hpp"
#include "base/parameters.hpp"

namespace gpusched {
namespace {

constexpr int kMaxGpus = 64;

std::uint64_t lowest(std::uint64_t mask, int count) noexcept {
  std::uint64_t rest = mask;
  for (; count > 0; --count) rest &= rest - 1;
  return mask ^ rest;
}

void sort_by_server(std::vector<GangShare>& shares) {
  std::sort(shares.begin(), shares.end(),
            [](const GangShare& a, const GangShare& b) { return a.server < b.server; });
}

/// Adds a GPU to the share of its server.
void add_gpu(std::vector<GangShare>& shares, std::int32_t server, std::uint64_t bit) {
  for (GangShare& share : shares) {
    if (share.server == server) {
      share.gpus |= bit;
      return;
    }
  }
  shares.push_back({server, bit});
}

}  // namespace

void GangPacker::Ranking::reset(int num_servers) {
  key_.assign(at(num_servers), 0.0);
  order_.resize(at(num_servers));
  std::iota(order_.begin(), order_.end(), 0);
}

void GangPacker::Ranking::move(std::int32_t server, double key) {
  if (key_[at(server)] == key) return;
  const auto before = [&](std::int32_t other, double other_than) {
    return key_[at(other)] != other_than ? key_[at(other)] < other_than : other < server;
  };
  const auto from = std::lower_bound(order_.begin(), order_.end(), key_[at(server)], before);
  if (key_[at(server)] < key) {
    const auto to = std::lower_bound(from + 1, order_.end(), key, before);
    *std::copy(from + 1, to, from) = server;
  } else {
    const auto to = std::lower_bound(order_.begin(), from, key, before);
    std::copy_backward(to, from, from + 1);
    *to = server;
  }
  key_[at(server)] = key;
}

GangPacker::GangPacker(std::span<const std::int32_t> server_gpus,
                       std::span<const std::int32_t> server_type, Draw draw)
    : gpus_(server_gpus.begin(), server_gpus.end()),
      type_(server_type.begin(), server_type.end()),
      begin_{0},
      draw_(std::move(draw)) {
  if (type_.size() != gpus_.size()) throw std::invalid_argument("must have one type per server");
  for (const int gpus : gpus_) {
    if (gpus < 1 || gpus > kMaxGpus) throw std::invalid_argument("a server must have 1 to 64 GPUs");
    begin_.push_back(begin_.back() + gpus);
  }
  busy_.resize(at(num_gpus()));
  sorted_.resize(at(num_gpus()));
  gpu_.resize(at(num_gpus()));
  available_.resize(gpus_.size());
  left_.resize(gpus_.size());
  reset();
}

void GangPacker::reset() {
  std::fill(busy_.begin(), busy_.end(), 0.0);
  std::fill(sorted_.begin(), sorted_.end(), 0.0);
  total_.assign(gpus_.size(), 0.0);
  hosted_.assign(gpus_.size(), 0);
  visible_ = gpus_;
  for (int server = 0; server < num_servers(); ++server) {
    const auto first = gpu_.begin() + begin(server);
    std::iota(first, first + gpus_[at(server)], std::uint8_t{0});
  }
  by_mean_.reset(num_servers());
  by_least_.reset(num_servers());
}

bool GangPacker::place(const Gang& gang, Packing packing, double inflation, double cap,
                       std::vector<GangShare>& shares) {
  shares.clear();
  bool fits = false;
  switch (packing) {
    case Packing::fragment_aware:
      fits = pack_fragment_aware(gang, cap, shares);
      break;
    case Packing::balanced:
      open_pool(gang, inflation);
      fits = pack_least_busy(gang, cap, shares);
      break;
    case Packing::least_busy:
      heads_.clear();
      next_rank_ = 0;
      fits = pack_least_busy(gang, cap, shares);
      break;
    case Packing::first_fit:
      fits = pack_first_fit(gang, cap, shares);
      break;
    case Packing::random:
      fits = pack_random(gang, cap, shares);
      break;
  }
  if (!fits) return false;
  if (shares.size() > 1) sort_by_server(shares);
  for (const GangShare& share : shares) add_load(share, gang.load);
  return true;
}

double GangPacker::least_cap(const Gang& gang, Packing packing, double inflation) {
  heads_.clear();
  next_rank_ = 0;
  if (packing == Packing::balanced) open_pool(gang, inflation);
  double cap = kInfinity;
  std::int32_t server = 0;
  for (int i = 0; i < gang.gpus; ++i) cap = pop_least(gang, server) + gang.load;
  next_rank_ = 0;
  return cap;
}

double GangPacker::least_busy_ever(const Gang& gang) const {
  std::vector<double> busy;
  for (int server = 0; server < num_servers(); ++server) {
    if (!allows(gang, server)) continue;
    busy.insert(busy.end(), busy_.begin() + begin(server), busy_.begin() + begin_[at(server + 1)]);
  }
  if (busy.size() < at(gang.gpus)) return kInfinity;
  const auto last = busy.begin() + (gang.gpus - 1);
  std::nth_element(busy.begin(), last, busy.end());
  return *last;
}

int GangPacker::num_gpus_for(const Gang& gang) const {
  int sum = 0;
  for (int server = 0; server < num_servers(); ++server) {
    if (allows(gang, server)) sum += gpus_[at(server)];
  }
  return sum;
}

int GangPacker::num_available(const Gang& gang, double cap, std::int32_t server) const {
  const auto first = sorted_.begin() + begin(server);
  const auto last = first + visible_[at(server)];
  const auto end =
      std::partition_point(first, last, [&](double busy) { return busy + gang.load <= cap; });
  return static_cast<int>(end - first);
}

std::uint64_t GangPacker::least_busy_of(std::int32_t server, int count) const {
  std::uint64_t mask = 0;
  for (int rank = 0; rank < count; ++rank) {
    mask |= std::uint64_t{1} << gpu_[at(begin(server) + rank)];
  }
  return mask;
}

std::int32_t GangPacker::fitting_server(const Gang& gang, int need, double cap) const {
  std::int32_t best = -1;
  int fewest = kMaxGpus + 1;
  bool best_hosts = false;
  for (std::int32_t server = 0; server < num_servers(); ++server) {
    if (visible_[at(server)] < need || ranked(server, need - 1) + gang.load > cap) continue;
    if (!allows(gang, server)) continue;
    const bool hosts = hosted_[at(server)] > 0;
    if (best_hosts && !hosts) continue;
    const int available = num_available(gang, cap, server);
    if (hosts == best_hosts && available >= fewest) continue;
    best = server;
    fewest = available;
    best_hosts = hosts;
    if (hosts && available == need) break;
  }
  return best;
}

void GangPacker::count_available(const Gang& gang, double cap) {
  for (std::int32_t server = 0; server < num_servers(); ++server) {
    available_[at(server)] = allows(gang, server) ? num_available(gang, cap, server) : 0;
  }
}

bool GangPacker::pack_fragment_aware(const Gang& gang, double cap, std::vector<GangShare>& shares) {
  const std::int32_t whole = fitting_server(gang, gang.gpus, cap);
  if (whole >= 0) {
    shares.push_back({whole, least_busy_of(whole, gang.gpus)});
    return true;
  }
  count_available(gang, cap);
  if (std::accumulate(available_.begin(), available_.end(), 0) < gang.gpus) return false;
  // The fullest servers first; what is left at last goes where it fits best.
  using Key = std::pair<bool, int>;
  for (int rest = gang.gpus; rest > 0;) {
    std::int32_t fitting = -1;
    std::int32_t largest = -1;
    Key fitting_key;
    Key largest_key;
    for (std::int32_t server = 0; server < num_servers(); ++server) {
      const int available = available_[at(server)];
      if (available == 0) continue;
      const bool hosts = hosted_[at(server)] > 0;
      if (available >= rest && (fitting < 0 || Key(!hosts, available) < fitting_key)) {
        fitting = server;
        fitting_key = {!hosts, available};
      }
      if (largest < 0 || available > largest_key.second ||
          (available == largest_key.second && hosts && !largest_key.first)) {
        largest = server;
        largest_key = {hosts, available};
      }
    }
    const std::int32_t server = fitting >= 0 ? fitting : largest;
    const int taken = std::min(rest, available_[at(server)]);
    shares.push_back({server, least_busy_of(server, taken)});
    available_[at(server)] = 0;
    rest -= taken;
  }
  return true;
}

void GangPacker::open_pool(const Gang& gang, double inflation) {
  heads_.clear();
  const std::int64_t enough = ceil_times(inflation, gang.gpus);
  std::int64_t gpus = 0;
  for (int rank = 0; rank < num_servers() && gpus < enough; ++rank) {
    const std::int32_t server = by_mean_[rank];
    if (visible_[at(server)] == 0 || !allows(gang, server)) continue;
    gpus += visible_[at(server)];
    heads_.push_back({ranked(server, 0), server, 0});
  }
  next_rank_ = num_servers();  // no server joins
  std::make_heap(heads_.begin(), heads_.end(), [](const Head& a, const Head& b) {
    return a.busy != b.busy ? a.busy > b.busy : a.server > b.server;
  });
}

double GangPacker::pop_least(const Gang& gang, std::int32_t& server) {
  const auto later = [](const Head& a, const Head& b) {
    return a.busy != b.busy ? a.busy > b.busy : a.server > b.server;
  };
  for (; next_rank_ < num_servers(); ++next_rank_) {
    const std::int32_t next = by_least_[next_rank_];
    const Head head{by_least_.key(next), next, 0};
    if (!heads_.empty() && later(head, heads_.front())) break;
    if (visible_[at(next)] == 0 || !allows(gang, next)) continue;
    heads_.push_back(head);
    std::push_heap(heads_.begin(), heads_.end(), later);
  }
  if (heads_.empty()) return kInfinity;
  std::pop_heap(heads_.begin(), heads_.end(), later);
  Head& head = heads_.back();
  const double busy = head.busy;
  server = head.server;
  if (++head.rank < visible_[at(server)]) {
    head.busy = ranked(server, head.rank);
    std::push_heap(heads_.begin(), heads_.end(), later);
  } else {
    heads_.pop_back();
  }
  return busy;
}

bool GangPacker::pack_least_busy(const Gang& gang, double cap, std::vector<GangShare>& shares) {
  // First how many of each server, then which: a server gives its GPUs in order.
  for (int i = 0; i < gang.gpus; ++i) {
    std::int32_t server = 0;
    if (pop_least(gang, server) + gang.load > cap) return false;
    const auto known = std::find_if(shares.begin(), shares.end(),
                                    [&](const GangShare& s) { return s.server == server; });
    if (known == shares.end()) {
      shares.push_back({server, 1});
    } else {
      ++known->gpus;
    }
  }
  for (GangShare& share : shares) {
    share.gpus = least_busy_of(share.server, static_cast<int>(share.gpus));
  }
  return true;
}

bool GangPacker::pack_first_fit(const Gang& gang, double cap,
                                std::vector<GangShare>& shares) const {
  int rest = gang.gpus;
  for (std::int32_t server = 0; rest > 0 && server < num_servers(); ++server) {
    if (visible_[at(server)] == 0 || ranked(server, 0) + gang.load > cap) continue;
    if (!allows(gang, server)) continue;
    const int available = num_available(gang, cap, server);
    const int taken = std::min(rest, available);
    shares.push_back({server, lowest(least_busy_of(server, available), taken)});
    rest -= taken;
  }
  return rest == 0;
}

bool GangPacker::pack_random(const Gang& gang, double cap, std::vector<GangShare>& shares) {
  count_available(gang, cap);
  int num_left = std::accumulate(available_.begin(), available_.end(), 0);
  if (num_left < gang.gpus) return false;
  for (int i = 0; i < gang.gpus; ++i, --num_left) {
    auto skip = static_cast<int>(draw_(gang.job, i, static_cast<std::uint64_t>(num_left)));
    std::int32_t server = 0;
    while (skip >= available_[at(server)]) skip -= available_[at(server++)];
    std::uint64_t& left = left_[at(server)];
    const bool is_new = std::none_of(shares.begin(), shares.end(),
                                     [&](const GangShare& s) { return s.server == server; });
    if (is_new) left = least_busy_of(server, available_[at(server)]);
    const std::uint64_t bit = lowest(left, skip + 1) ^ lowest(left, skip);
    left ^= bit;
    --available_[at(server)];
    add_gpu(shares, server, bit);
  }
  return true;
}

void GangPacker::add_load(const GangShare& share, double load) {
  const int begins = begin(share.server);
  const int size = visible_[at(share.server)];
  // Two runs in order are split and merged.
  std::array<std::uint8_t, kMaxGpus> taken{};
  std::array<std::uint8_t, kMaxGpus> rest{};
  std::size_t num_taken = 0;
  std::size_t num_rest = 0;
  for (int rank = 0; rank < size; ++rank) {
    const std::uint8_t gpu = gpu_[at(begins + rank)];
    if ((share.gpus >> gpu & 1) == 0) {
      rest[num_rest++] = gpu;
      continue;
    }
    taken[num_taken++] = gpu;
    busy_[at(begins + gpu)] += load;
    total_[at(share.server)] += load;
  }
  const auto less = [&](std::uint8_t a, std::uint8_t b) {
    const double left = busy_[at(begins + a)];
    const double right = busy_[at(begins + b)];
    return left != right ? left < right : a < b;
  };
  const auto end_taken = taken.begin() + static_cast<std::ptrdiff_t>(num_taken);
  // A sum that is rounded may have made equals of two that were not.
  if (!std::is_sorted(taken.begin(), end_taken, less)) std::sort(taken.begin(), end_taken, less);
  std::merge(taken.begin(), end_taken, rest.begin(),
             rest.begin() + static_cast<std::ptrdiff_t>(num_rest), gpu_.begin() + begins, less);
  ++hosted_[at(share.server)];
  refresh(share.server);
}

void GangPacker::refresh(std::int32_t server) {
  const int begins = begin(server);
  const int size = visible_[at(server)];
  for (int rank = 0; rank < size; ++rank) {
    sorted_[at(begins + rank)] = busy_[at(begins + gpu_[at(begins + rank)])];
  }
  by_mean_.move(server, total_[at(server)] / static_cast<double>(gpus_[at(server)]));
  by_least_.move(server, size == 0 ? kInfinity : sorted_[at(begins)]);
}

void GangPacker::hide(std::span<const GangShare> shares) {
  for (const GangShare& share : shares) {
    const auto first = gpu_.begin() + begin(share.server);
    const auto last = std::remove_if(first, first + visible_[at(share.server)],
                                     [&](auto gpu) { return (share.gpus >> gpu & 1) != 0; });
    visible_[at(share.server)] = static_cast<std::int32_t>(last - first);
    refresh(share.server);
  }
}

void GangPacker::show(std::span<const GangShare> shares) {
  for (const GangShare& share : shares) {
    const int begins = begin(share.server);
    int& size = visible_[at(share.server)];
    for (std::uint64_t rest = share.gpus; rest != 0; rest &= rest - 1) {
      const auto gpu = static_cast<std::uint8_t>(std::countr_zero(rest));
      gpu_[at(begins + size++)] = gpu;
    }
    sort(share.server);
    refresh(share.server);
  }
}

void GangPacker::sort(std::int32_t server) {
  const int begins = begin(server);
  const auto first = gpu_.begin() + begins;
  std::sort(first, first + visible_[at(server)], [&](std::uint8_t a, std::uint8_t b) {
    const double left = busy_[at(begins + a)];
    const double right = busy_[at(begins + b)];
    return left != right ? left < right : a < b;
  });
}

void GangPacker::leave(std::span<const GangShare> shares) {
  for (const GangShare& share : shares) --hosted_[at(share.server)];
}

void GangPacker::take_back(std::span<const GangShare> shares, double load) {
  leave(shares);
  for (const GangShare& share : shares) {
    for (std::uint64_t rest = share.gpus; rest != 0; rest &= rest - 1) {
      double& busy = busy_[at(begin(share.server) + std::countr_zero(rest))];
      total_[at(share.server)] -= load;
      busy -= load;
    }
    sort(share.server);
    refresh(share.server);
  }
}

}  // namespace gpusched
