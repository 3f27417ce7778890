#include "market/widths.hpp"

#include <algorithm>
#include <limits>

namespace gpusched {
namespace {

// Pairs of jobs per search: the next decision continues from there.
constexpr std::int64_t kPairs = 4'000;
constexpr int kAny = std::numeric_limits<int>::max();

}  // namespace

void MatchingWidths::begin(std::span<const std::int32_t> capacity) {
  search_.begin(capacity);
  for (auto* column : {&kept_, &matched_, &widest_, &best_}) column->clear();
}

void MatchingWidths::add(const MatchingJobs::Job& job, double weight, const Part& held,
                         std::span<const Part> matched) {
  std::int32_t kept = OneTypeSearch::kNone;
  std::int32_t best = OneTypeSearch::kNone;
  line_.clear();
  for (const OneTypeSearch::Option& width : job.widths) {
    const auto option = static_cast<std::int32_t>(line_.size());
    const bool is_held = width.type == held.type && width.gpus == held.gpus;
    const double pays = is_held || !job.is_running ? 0.0 : job.restart_s;
    line_.push_back({width.type, width.gpus, weight * (width.cost * job.remaining_s + pays)});
    if (is_held) kept = option;
    const bool is_matched = std::any_of(matched.begin(), matched.end(), [&](const Part& part) {
      return part.type == width.type && part.gpus >= width.gpus;
    });
    if (!is_matched) continue;
    const bool is_better = best == OneTypeSearch::kNone ||
                           line_.back().cost < line_[static_cast<std::size_t>(best)].cost;
    if (is_better) best = option;
  }
  std::int32_t all = 0;
  for (const Part& part : matched) all += part.gpus;
  search_.add(line_);
  kept_.push_back(kept);
  matched_.push_back(best);
  widest_.push_back(std::max(all, job.least));
  best_.push_back(OneTypeSearch::kNone);
}

void MatchingWidths::begin_at(Start start) {
  search_.clear();
  for (std::size_t row = 0; row < search_.num_jobs(); ++row) {
    if (start == Start::in_turn) {
      search_.take_cheapest(row, kAny);
      continue;
    }
    // The cheapest of the job's GPUs in the market, on one type; else as many GPUs elsewhere.
    const bool is_taken = matched_[row] != OneTypeSearch::kNone && search_.take(row, matched_[row]);
    if (!is_taken) search_.take_cheapest(row, widest_[row]);
  }
}

void MatchingWidths::remember() {
  for (std::size_t row = 0; row < search_.num_jobs(); ++row) best_[row] = search_.held(row);
}

void MatchingWidths::solve(bool in_turn, double hysteresis) {
  for (std::size_t row = 0; row < search_.num_jobs(); ++row) {
    if (kept_[row] != OneTypeSearch::kNone) search_.take(row, kept_[row]);
  }
  search_.fill(hysteresis);
  double least = search_.cost() * (1.0 - hysteresis);
  remember();
  for (const Start start : {Start::matched, Start::in_turn}) {
    if (start == Start::in_turn && !in_turn) break;
    begin_at(start);
    search_.improve(kPairs);
    if (search_.cost() >= least) continue;
    least = search_.cost();
    remember();
  }
}

Part MatchingWidths::found(std::size_t row) const noexcept {
  if (best_[row] == OneTypeSearch::kNone) return {0, 0};
  const OneTypeSearch::Option& option = search_.option(row, best_[row]);
  return {option.type, option.gpus};
}

}  // namespace gpusched
