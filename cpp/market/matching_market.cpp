#include "market/matching_market.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/wrapping.hpp"

namespace gpusched {
namespace {

// Rounds of the market that sets the prices of the bound.
constexpr std::int32_t kPriceRounds = 24;
// Less than this part of the score is rounding.
constexpr double kScoreGain = 1e-12;
// Jobs x (classes + 1)^2 up to which a step of the descent clears its market as well.
constexpr std::int64_t kFewCells = 6000;
// A descent begins at categories that score less than this times the best.
constexpr double kPromising = 1.02;
// Rounds of refining the bound on all decisions: for the report, and for a category to look at.
constexpr std::int32_t kBoundRounds = 16;
constexpr std::int32_t kSeedRounds = 4;
// Maximum number of categories to enumerate.
constexpr double kMaxListed = 1e6;
// Number of times that prices choose a new category.
constexpr std::int32_t kPriceSeeds = 3;

}  // namespace

void MatchingMarket::listen_to(StopCheck* stop) noexcept {
  stop_ = stop;
  model_.listen_to(stop);
  market_.listen_to(stop);
  bounding_.listen_to(stop);
  exchange_.listen_to(stop);
  bound_.listen_to(stop);
}

const MatchingMarket::Decision& MatchingMarket::solve(const MatchingProblem& problem,
                                                      const Options& options) {
  if (options.draws < 1) fail_input("draws: must be at least 1");
  if (!(options.hysteresis >= 0.0 && options.hysteresis < 1.0)) {
    fail_input("hysteresis: must be at least 0 and less than 1");
  }
  if (!(options.concentration > 0.0)) fail_input("concentration: must be positive");
  options_ = options;
  model_.load(problem, options.goal);
  market_.begin(model_, options.market);
  categories_.begin(model_.least(), model_.most(), model_.num_workers(), model_.idle_may_help());
  best_score_ = kInfinity;
  has_prices_ = false;
  has_kept_ = false;
  effort_ = 0;
  enumerated_bound_ = kInfinity;
  seen_.clear();
  decision_.num_tried = 0;
  decision_.num_pruned = 0;
  decision_.price.clear();
  const bool enumerates = options.sampling == CategorySampling::enumerate;
  const double listed = enumerates ? kMaxListed : options.enumerate_up_to;
  decision_.num_categories = categories_.count(options.reports_bounds ? kInfinity : listed);
  decision_.is_exhaustive = enumerates || decision_.num_categories <= listed;
  if (decision_.is_exhaustive && decision_.num_categories > kMaxListed) {
    fail_input("sampler: too many categories to enumerate");
  }
  seed();
  // To find prices costs more than a single market that they may rule out.
  const bool looks_at_more = options.descend || options.draws > 1 || decision_.is_exhaustive;
  if (looks_at_more || options.reports_bounds) set_prices();
  if (options.sampling == CategorySampling::seeded && options.descend) follow_prices();
  sample();
  while (options.descend && step()) {
  }
  report(problem);
  return decision_;
}

void MatchingMarket::consider(std::span<const std::int32_t> counts, double score) {
  if (!(score < best_score_)) return;
  best_score_ = score;
  best_.assign(counts.begin(), counts.end());
}

/// Whether a lower bound on the summed seconds excludes any improvement, if such pruning is on.
bool MatchingMarket::is_hopeless(double bound_s) const noexcept {
  if (!options_.prune) return false;
  const double mean = bound_s / static_cast<double>(model_.num_jobs());
  return model_.least_score(mean) >= best_score_;
}

/// False if the category was looked at before.
GPUSCHED_WRAPS_AROUND bool MatchingMarket::remember(std::span<const std::int32_t> category) {
  std::uint64_t hash = detail::kGolden;
  for (const std::int32_t workers : category) {
    hash = detail::mix(hash + static_cast<std::uint64_t>(workers) * detail::kGolden);
  }
  if (stop_ != nullptr) stop_->count(category.size());
  return seen_.insert(hash).second;
}

void MatchingMarket::look_at(std::span<const std::int32_t> category) {
  if (has_prices_ && is_hopeless(bound_.of_category(category))) {
    ++decision_.num_pruned;
    return;
  }
  ++decision_.num_tried;
  const Market::Result& found = market_.solve(category, best_score_);
  decision_.sampled_score = std::min(decision_.sampled_score, found.score);
  consider(found.counts, found.score);
  enumerated_bound_ = std::min(enumerated_bound_, found.lower_bound);
  if (options_.descend && found.score < kPromising * best_score_) {
    refine(found.counts);
  }
}

/// Goes from a decision to others one exchange away as long as they are better.
void MatchingMarket::refine(std::span<const std::int32_t> counts) {
  exchange_.start(model_, counts);
  exchange_.resize();
  consider(exchange_.counts(), exchange_.score());
}

/// Looks at the categories that are best at the prices of the best one.
void MatchingMarket::follow_prices() {
  for (std::int32_t round = 0; round < kPriceSeeds; ++round) {
    bound_.of_all(kSeedRounds);
    wanted_.assign(bound_.best().begin(), bound_.best().end());
    categories_.by_weight(wanted_, category_);
    const double before = best_score_;
    if (!remember(category_)) return;
    look_at(category_);
    if (!(best_score_ < before)) return;
    set_prices();
  }
}

/// Equal shares, which fairness is measured against, the square-root rule and what is held now.
void MatchingMarket::seed() {
  const std::size_t jobs = model_.num_jobs();
  weight_.assign(jobs, 1.0);
  categories_.by_weight(weight_, category_);
  ++decision_.num_tried;
  const Market::Result& equal = market_.solve(category_, kInfinity);
  decision_.sampled_score = kInfinity;
  if (equal.score < kInfinity) {
    exchange_.start(model_, equal.counts);
  } else {
    exchange_.start(model_, model_.base());
    exchange_.resize();
  }
  best_.assign(exchange_.counts().begin(), exchange_.counts().end());
  equal_s_.resize(jobs);
  for (std::size_t job = 0; job < jobs; ++job) equal_s_[job] = exchange_.seconds(job);
  model_.set_equal_seconds(equal_s_);
  exchange_.start(model_, best_);  // the score counts fairness from here on
  best_score_ = exchange_.score();
  decision_.sampled_score = best_score_;
  remember(category_);

  for (std::size_t job = 0; job < jobs; ++job) {
    weight_[job] = std::sqrt(model_.work(job) / model_.mean_rate(job));
  }
  has_kept_ = model_.has_previous() && keep_previous();
  if (has_kept_) {
    exchange_.start(model_, kept_);
    kept_score_ = exchange_.score();
    consider(kept_, kept_score_);
  }
  if (options_.sampling == CategorySampling::uniform) return;
  categories_.by_weight(weight_, category_);
  if (remember(category_)) look_at(category_);
  if (!options_.descend) return;
  if (has_kept_) refine(kept_);
  refine(best_);
}

/// The current allocation, plus workers for jobs without any: idle ones, or one of a job above its
/// minimum. False if workers are gone or none can be given.
bool MatchingMarket::keep_previous() {
  const std::size_t jobs = model_.num_jobs();
  const std::size_t classes = model_.num_classes();
  kept_.assign(model_.previous().begin(), model_.previous().end());
  free_.assign(model_.capacity().begin(), model_.capacity().end());
  const auto held = [&](std::size_t job) {
    std::int32_t workers = 0;
    for (std::size_t type = 0; type < classes; ++type) workers += kept_[job * classes + type];
    return workers;
  };
  for (std::size_t job = 0; job < jobs; ++job) {
    for (std::size_t type = 0; type < classes; ++type) {
      const std::int32_t own = kept_[job * classes + type];
      if (own > 0 && !(model_.rate(job, type) > 0.0)) return false;
      free_[type] -= own;
      if (free_[type] < 0) return false;
    }
    const std::int32_t workers = held(job);
    if (workers > model_.most()[job] || (workers > 0 && workers < model_.minimum()[job])) {
      return false;
    }
  }
  for (std::size_t job = 0; job < jobs; ++job) {
    if (held(job) > 0) continue;
    const auto most = model_.most()[job];
    for (std::int32_t workers = 0; workers < most; ++workers) {
      std::size_t best = classes;
      std::size_t donor = jobs;
      for (std::size_t type = 0; type < classes; ++type) {
        const bool is_faster = best == classes || model_.rate(job, type) > model_.rate(job, best);
        if (free_[type] > 0 && model_.rate(job, type) > 0.0 && is_faster) best = type;
      }
      if (best < classes) {
        --free_[best];
      } else {
        if (workers >= model_.minimum()[job]) break;
        for (std::size_t other = 0; other < jobs; ++other) {
          const std::int32_t theirs = held(other);
          if (other == job || theirs <= model_.minimum()[other]) continue;
          if (donor < jobs && theirs <= held(donor)) continue;
          for (std::size_t type = 0; type < classes; ++type) {
            if (kept_[other * classes + type] == 0 || !(model_.rate(job, type) > 0.0)) continue;
            best = type;
            donor = other;
          }
        }
        if (donor == jobs) return false;
        --kept_[donor * classes + best];
      }
      ++kept_[job * classes + best];
    }
  }
  return true;
}

/// Prices at which the best category's market clears, and the bounds that follow from them.
void MatchingMarket::set_prices() {
  const std::size_t jobs = model_.num_jobs();
  exchange_.start(model_, best_);
  category_.resize(jobs);
  for (std::size_t job = 0; job < jobs; ++job) category_[job] = exchange_.workers(job);
  Market::Options options = options_.market;
  options.valuation = Valuation::iterated;
  options.rounds = kPriceRounds;
  options.tolerance = 0.0;
  options.polish = false;
  bounding_.begin(model_, options);
  const Market::Result& found = bounding_.solve(category_, kInfinity);
  estimate_.resize(jobs);
  for (std::size_t job = 0; job < jobs; ++job) estimate_[job] = exchange_.sum_of_rates(job);
  bound_.begin(model_, found.price, estimate_);
  decision_.price.assign(found.price.begin(), found.price.end());
  has_prices_ = true;
}

void MatchingMarket::sample() {
  if (decision_.is_exhaustive) {
    categories_.for_each([&](std::span<const std::int32_t> category) { look_at(category); });
    return;
  }
  const bool is_uniform = options_.sampling == CategorySampling::uniform;
  for (std::int32_t n = 0; n < options_.draws; ++n) {
    const auto stream = static_cast<std::uint64_t>(n);
    if (is_uniform || n % 2 == 0) {
      categories_.uniform(options_.seed, stream, drawn_);
    } else {
      categories_.around(options_.seed, stream, weight_, options_.concentration, drawn_);
    }
    if (remember(drawn_)) look_at(drawn_);
  }
}

/// Clears the markets of the categories one worker away, the most promising first, and moves to the
/// best of them. False if none is better.
bool MatchingMarket::step() {
  const std::size_t jobs = model_.num_jobs();
  const double before = best_score_;
  const auto nodes = static_cast<std::int64_t>(model_.num_classes() + 1);
  const std::int64_t cells = static_cast<std::int64_t>(jobs) * nodes * nodes;
  exchange_.start(model_, best_);
  category_.resize(jobs);
  std::int32_t idle = model_.num_workers();
  for (std::size_t job = 0; job < jobs; ++job) {
    category_[job] = exchange_.workers(job);
    idle -= category_[job];
  }
  const auto shift = [&](std::size_t from, std::size_t to, std::int32_t by) {
    if (from < jobs) category_[from] -= by;
    if (to < jobs) category_[to] += by;
  };
  steps_.clear();
  const double here = bound_.of_category(category_);
  // The change of the bound if a job has one worker more or less.
  const auto change = [&](std::size_t job, std::int32_t by) {
    if (job == jobs) return 0.0;
    bound_.refine(job, category_[job] + by);
    return bound_.of_job(job, category_[job] + by) - bound_.of_job(job, category_[job]);
  };
  for (std::size_t from = 0; from <= jobs; ++from) {
    const bool may_give = from == jobs ? idle > 0 : category_[from] > model_.least()[from];
    if (!may_give) continue;
    const double less = change(from, -1);
    for (std::size_t to = 0; to <= jobs; ++to) {
      if (to == from || (to < jobs && category_[to] >= model_.most()[to])) continue;
      if (to == jobs && !model_.idle_may_help()) continue;
      const double bound = here + less + change(to, 1);
      if (is_hopeless(bound)) {
        ++decision_.num_pruned;
        continue;
      }
      steps_.push_back({bound, static_cast<std::int32_t>(from), static_cast<std::int32_t>(to)});
    }
  }
  const std::int64_t left = (options_.effort - effort_) / cells + 1;
  const auto end =
      steps_.begin() + std::clamp<std::int64_t>(left, 0, static_cast<std::int64_t>(steps_.size()));
  std::partial_sort(steps_.begin(), end, steps_.end(), [](const Step& a, const Step& b) {
    if (a.bound != b.bound) return a.bound < b.bound;
    return a.from < b.from || (a.from == b.from && a.to < b.to);
  });
  start_.assign(best_.begin(), best_.end());
  for (auto at = steps_.begin(); at != end && effort_ < options_.effort; ++at) {
    const Step& next = *at;
    if (is_hopeless(next.bound)) break;
    const auto from = static_cast<std::size_t>(next.from);
    const auto to = static_cast<std::size_t>(next.to);
    // Updates what changed in two jobs, and clears the market again if that is cheap.
    exchange_.start(model_, start_);
    effort_ += cells;
    if (exchange_.give(from, to)) {
      exchange_.polish();
      consider(exchange_.counts(), exchange_.score());
    }
    shift(from, to, 1);
    if (cells <= kFewCells && remember(category_)) {
      ++decision_.num_tried;
      effort_ += cells * options_.market.rounds;
      const Market::Result& found = market_.solve(category_, best_score_);
      if (found.score < kPromising * best_score_) refine(found.counts);
    }
    shift(from, to, -1);
    if (best_score_ < before * (1.0 - kScoreGain)) break;
  }
  return best_score_ < before * (1.0 - kScoreGain);
}

void MatchingMarket::report(const MatchingProblem& problem) {
  decision_.is_kept = has_kept_ && kept_score_ * (1.0 - options_.hysteresis) <= best_score_;
  exchange_.start(model_, decision_.is_kept ? kept_ : best_);
  const auto all = static_cast<std::size_t>(problem.num_jobs);
  const std::size_t jobs = model_.num_jobs();
  const std::size_t classes = model_.num_classes();
  decision_.counts.assign(all * classes, 0);
  decision_.job_s.assign(all, kInfinity);
  decision_.equal_s.assign(all, kInfinity);
  for (std::size_t job = 0; job < jobs; ++job) {
    const auto row = static_cast<std::size_t>(model_.chosen()[job]);
    std::copy_n(exchange_.counts().begin() + static_cast<std::ptrdiff_t>(job * classes), classes,
                decision_.counts.begin() + static_cast<std::ptrdiff_t>(row * classes));
    decision_.job_s[row] = exchange_.seconds(job);
    decision_.equal_s[row] = equal_s_[job];
  }
  decision_.score = exchange_.score();
  decision_.mean_s = exchange_.sums().seconds / static_cast<double>(jobs);
  decision_.fairness = model_.fairness(exchange_.sums());
  if (!options_.reports_bounds) return;
  double bound = bound_.of_all(kBoundRounds) / static_cast<double>(jobs);
  for (double& price : decision_.price) price += bound_.shift();
  // Unvisited categories are no better than the best found.
  if (decision_.is_exhaustive && options_.goal.beta == 1.0) {
    bound = std::max(bound, std::min(enumerated_bound_, best_score_));
  }
  decision_.lower_bound_s = std::min(bound, decision_.mean_s);
}

}  // namespace gpusched
