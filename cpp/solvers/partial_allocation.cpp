#include "solvers/partial_allocation.hpp"

#include <algorithm>

namespace gpusched {
namespace {

std::int64_t widest(const std::vector<Bundle>& bids, std::size_t type) {
  std::int64_t most = 0;
  for (const Bundle& bundle : bids) {
    if (static_cast<std::size_t>(bundle.type) == type) {
      most = std::max<std::int64_t>(most, bundle.gpus);
    }
  }
  return most;
}

double worth_of(const Bundle& bundle) {
  return std::min(bundle.worth, PartialAllocation::kMostWorth);
}

}  // namespace

std::span<const Award> PartialAllocation::solve(std::span<const std::int64_t> left, Bids bids) {
  bids = first_bidders(left, bids);
  const std::size_t num = bids.size();
  products_.resize((num - 1) * num_cells_);
  // The first bidder only needs the cell in which everything is left.
  for (std::size_t i = num - 1; i > 0; --i) fill(bids[i], row(i + 1), row(i));
  awards_.assign(num, {-1, 1.0});
  left_ = most_;
  for (std::size_t i = 0; i < num; ++i) {
    int& taken = awards_[i].bundle;
    best(bids[i], row(i + 1), left_, taken);
    if (taken < 0) continue;
    const Bundle& bundle = bids[i][index(taken)];
    left_[index(bundle.type)] -= bundle.gpus;
  }
  for (std::size_t i = 0; i < num; ++i) {
    if (awards_[i].bundle < 0) continue;
    double others = 1;
    for (std::size_t j = num; j-- > 0;) {
      if (j == i || awards_[j].bundle < 0) continue;
      others *= worth_of(bids[j][index(awards_[j].bundle)]);
    }
    awards_[i].kept = others / best_without(bids, i);
  }
  return awards_;
}

PartialAllocation::Bids PartialAllocation::first_bidders(std::span<const std::int64_t> left,
                                                         Bids bids) {
  most_.assign(left.size(), 0);
  stride_.assign(left.size(), 1);
  num_cells_ = 1;
  std::vector<std::int64_t> wanted(left.size(), 0);
  std::size_t num = 0;
  while (num < std::min(bids.size(), kMostBidders)) {
    std::int64_t cells = 1;
    for (std::size_t type = 0; type < left.size(); ++type) {
      wanted[type] += widest(bids[num], type);
      if (cells <= kMostCells) cells *= std::min(left[type], wanted[type]) + 1;
    }
    ++num;
    // One alone has no cells.
    const auto squared = static_cast<std::int64_t>(num * num);
    if (num > 1 && cells > kMostCells / squared) return bids.first(num - 1);
    if (num > 1) num_cells_ = static_cast<std::size_t>(cells);
    std::size_t stride = 1;
    for (std::size_t type = 0; type < left.size(); ++type) {
      most_[type] = std::min(left[type], wanted[type]);
      stride_[type] = stride;
      stride *= static_cast<std::size_t>(most_[type]) + 1;
    }
  }
  return bids.first(num);
}

PartialAllocation::Cells PartialAllocation::row(std::size_t bidder) noexcept {
  const std::size_t begin = (bidder - 1) * num_cells_;
  if (begin >= products_.size()) return {};
  return {products_.data() + begin, num_cells_};
}

double PartialAllocation::best(const std::vector<Bundle>& bids, std::span<const double> after,
                               std::span<const std::int64_t> left, int& bundle) const {
  bundle = -1;
  std::size_t cell = 0;
  if (!after.empty()) {
    for (std::size_t type = 0; type < left.size(); ++type) {
      cell += static_cast<std::size_t>(left[type]) * stride_[type];
    }
  }
  double greatest = after.empty() ? 1.0 : after[cell];
  for (std::size_t i = 0; i < bids.size(); ++i) {
    const Bundle& bid = bids[i];
    const std::size_t type = index(bid.type);
    if (bid.gpus > left[type]) continue;
    const double others = after.empty() ? 1.0 : after[cell - index(bid.gpus) * stride_[type]];
    const double product = worth_of(bid) * others;
    if (product <= greatest) continue;
    greatest = product;
    bundle = static_cast<int>(i);
  }
  return greatest;
}

void PartialAllocation::fill(const std::vector<Bundle>& bids, std::span<const double> after,
                             Cells out) {
  if (after.empty()) {
    nobody_.assign(out.size(), 1.0);
    after = nobody_;
  }
  std::copy(after.begin(), after.end(), out.begin());
  for (const Bundle& bid : bids) {
    const std::size_t type = index(bid.type);
    const double worth = worth_of(bid);
    const std::size_t taken = index(bid.gpus) * stride_[type];
    // Cells that differ only in this type and those before it are contiguous, by what is left of
    // it.
    const std::size_t block = (static_cast<std::size_t>(most_[type]) + 1) * stride_[type];
    for (std::size_t begin = 0; begin < out.size(); begin += block) {
      for (std::size_t cell = begin + taken; cell < begin + block; ++cell) {
        out[cell] = std::max(out[cell], worth * after[cell - taken]);
      }
    }
  }
  stop_->count(out.size() * (bids.size() + 1));
}

double PartialAllocation::best_without(Bids bids, std::size_t bidder) {
  std::span<const double> after = row(bidder + 1);
  int bundle = -1;
  if (bidder == 0) return best({}, after, most_, bundle);
  for (std::size_t i = bidder - 1; i > 0; --i) {
    filled_.resize(num_cells_);
    fill(bids[i], after, filled_);
    without_.swap(filled_);
    after = without_;
  }
  return best(bids[0], after, most_, bundle);
}

}  // namespace gpusched
