#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/stop_check.hpp"

namespace gpusched {

/// GPUs of one type that a bidder could use together, and how many times better off it is with them
/// than without: more than 1.
struct Bundle {
  int type;
  int gpus;
  double worth;
};

/// The outcome of an auction for a bidder.
struct Award {
  int bundle;   ///< index into its bids; -1: none
  double kept;  ///< the fraction of it that the bidder keeps, in (0, 1]
};

/// The partial allocation mechanism: each bidder has one of its bundles or none, so that the product
/// of their worths is greatest, and pays for what it takes from the others. It keeps the fraction by
/// which their product falls through its presence, so that to overstate a worth gains nothing. The
/// products are exact: of all allocations the first is taken, bundles in the order of the bids and
/// nothing before them, earlier bidders first.
class PartialAllocation {
 public:
  /// Asks it whether to go on; it outlives this.
  void listen_to(StopCheck* stop) noexcept { stop_ = stop; }

  /// An auction of the GPUs left of each type among the first bidders, at least one and at most as
  /// many as an auction may have; an award for each of them. Valid until the next call.
  std::span<const Award> solve(std::span<const std::int64_t> left,
                               std::span<const std::vector<Bundle>> bids);

  /// With more the products could pass what a number holds.
  static constexpr std::size_t kMostBidders = 16;
  /// A worth counts as this at most.
  static constexpr double kMostWorth = 1e18;

 private:
  using Bids = std::span<const std::vector<Bundle>>;
  using Cells = std::span<double>;

  /// Bounds the products to find: bidders^2 x cells.
  static constexpr std::int64_t kMostCells = std::int64_t{1} << 20;

  /// The longest prefix of the bidders within the bounds, with the cells of their auction.
  Bids first_bidders(std::span<const std::int64_t> left, Bids bids);
  /// The greatest product of a bidder and those after it, with these GPUs left; `after` has that of
  /// the later ones, and is empty if there are none.
  double best(const std::vector<Bundle>& bids, std::span<const double> after,
              std::span<const std::int64_t> left, int& bundle) const;
  /// The same for each cell.
  void fill(const std::vector<Bundle>& bids, std::span<const double> after, Cells out);
  [[nodiscard]] double best_without(Bids bids, std::size_t bidder);
  [[nodiscard]] Cells row(std::size_t bidder) noexcept;

  static std::size_t index(int number) noexcept { return static_cast<std::size_t>(number); }

  Ref<StopCheck> stop_;
  // A cell is how many GPUs are left of each type, of those that the bidders can use.
  std::size_t num_cells_ = 1;
  std::vector<std::int64_t> most_;   // by type
  std::vector<std::size_t> stride_;  // by type
  std::vector<double> products_;     // of all bidders but the first, by bidder, then by cell
  std::vector<double> nobody_;       // the products of no bidders, by cell
  std::vector<double> without_;
  std::vector<double> filled_;
  std::vector<std::int64_t> left_;  // by type
  std::vector<Award> awards_;
};

}  // namespace gpusched
