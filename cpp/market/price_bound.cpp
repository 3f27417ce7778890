#include "market/price_bound.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

// Tangents of a job's work / rate, in parts of its estimated rate.
constexpr double kSpread[] = {1.0, 0.88, 1.14, 0.72, 1.4, 0.5, 2.0, 0.25, 4.0, 0.08, 12.0};
constexpr double kLeastSpread = 0.08;
constexpr double kMostSpread = 12.0;
// How far from its rate a tangent is used, in parts of that.
constexpr double kFar = 0.1;
constexpr double kNear = 0.3;
constexpr std::int32_t kBlock = 16;
constexpr int kRefinements = 12;
constexpr double kRefined = 1e-3;
constexpr int kShifts = 40;
constexpr double kShiftTolerance = 1e-6;
// Minimum step, relative to the minimum cost of the jobs.
constexpr double kLeastStep = 1e-15;
// Relative bound on the rounding of a bound.
constexpr double kBoundRounding = 1e-11;

}  // namespace

void PriceBound::begin(const MarketModel& model, std::span<const double> price,
                       std::span<const double> estimate) {
  model_ = &model;
  price_.assign(price.begin(), price.end());
  total_price_ = 0.0;
  for (std::size_t type = 0; type < price_.size(); ++type) {
    total_price_ += price_[type] * model.capacity()[type];
  }
  begin_.clear();
  blocks_begin_.clear();
  std::size_t cells = 0;
  std::size_t blocks = 0;
  for (std::size_t job = 0; job < model.num_jobs(); ++job) {
    begin_.push_back(cells);
    blocks_begin_.push_back(blocks);
    const auto numbers = static_cast<std::size_t>(model.most()[job] - model.minimum()[job]) + 1;
    cells += numbers;
    blocks += (numbers - 1) / static_cast<std::size_t>(kBlock) + 1;
  }
  table_.assign(cells, 0.0);
  is_refined_.assign(cells, 0);
  slowest_.resize(model.num_jobs());
  fastest_.resize(model.num_jobs());
  fixed_s_.resize(cells);
  least_.assign(blocks, kInfinity);
  for (std::size_t job = 0; job < model.num_jobs(); ++job) {
    for (std::int32_t n = model.minimum()[job]; n <= model.most()[job]; ++n) {
      fixed_s_[cell(job, n)] = model.fixed_s(job, n);
    }
    slowest_[job] = kInfinity;
    fastest_[job] = 0.0;
    for (std::size_t type = 0; type < price_.size(); ++type) {
      if (model.capacity()[type] == 0 || !(model.rate(job, type) > 0.0)) continue;
      slowest_[job] = std::min(slowest_[job], model.rate(job, type));
      fastest_[job] = std::max(fastest_[job], model.rate(job, type));
    }
    for (const double part : kSpread) {
      const double at = part * estimate[job];
      add_tangent(job, at, part == kLeastSpread ? 0.0 : kFar * at,
                  part == kMostSpread ? kInfinity : at / kFar);
    }
    set_least(job);
  }
}

/// The lowest bound of a job in each block of numbers of workers. Bounds only rise, so it stays
/// valid.
void PriceBound::set_least(std::size_t job) {
  double* blocks = least_.data() + blocks_begin_[job];
  const std::int32_t low = model_->minimum()[job];
  for (std::int32_t n = model_->least()[job]; n <= model_->most()[job]; ++n) {
    double& block = blocks[(n - low) / kBlock];
    block = std::min(block, of_job(job, n));
  }
}

/// The workers that a job can use, the cheapest at this slope first.
void PriceBound::rank_offers(std::size_t job, double slope) {
  offers_.clear();
  for (std::size_t type = 0; type < price_.size(); ++type) {
    const double rate = model_->rate(job, type);
    const std::int32_t count = model_->capacity()[type];
    if (count == 0 || !(rate > 0.0)) continue;
    offers_.push_back({price_[type] - slope * rate, rate, count, static_cast<std::int32_t>(type)});
  }
  std::sort(offers_.begin(), offers_.end(), [](const Offer& a, const Offer& b) {
    return a.cost < b.cost || (a.cost == b.cost && a.type < b.type);
  });
}

/// Raises the bounds of a job, for workers with a sum of rates between `least` and `most`, to
/// those of the tangent at this rate.
void PriceBound::add_tangent(std::size_t job, double estimate, double least, double most) {
  const double work = model_->work(job);
  const std::int32_t limit = model_->most()[job];
  const std::int32_t low = model_->minimum()[job];
  if (stop_ != nullptr) stop_->count(price_.size() + static_cast<std::size_t>(limit - low));
  rank_offers(job, work / (estimate * estimate));
  double* bounds = table_.data() + begin_[job];
  double bound = 2.0 * work / estimate;
  double rate = 0.0;
  std::int32_t workers = 0;
  for (const Offer& offer : offers_) {
    const std::int32_t count = std::min(offer.count, limit - workers);
    const double skipped = std::clamp((least - rate) / offer.rate, 0.0, 1.0 * count);
    const auto first = static_cast<std::int32_t>(skipped);
    double own = bound + first * offer.cost;
    for (std::int32_t n = workers + first + 1; n <= workers + count; ++n) {
      own += offer.cost;
      if (n >= low) bounds[n - low] = std::max(bounds[n - low], own);
    }
    bound += count * offer.cost;
    rate += count * offer.rate;
    workers += count;
    if (workers == limit || rate > most) break;
  }
}

/// Raises the bound of a job for this number of workers only; returns their sum of rates.
double PriceBound::add_point(std::size_t job, std::int32_t workers, double estimate) {
  const double work = model_->work(job);
  rank_offers(job, work / (estimate * estimate));
  double bound = 2.0 * work / estimate;
  double rate = 0.0;
  std::int32_t left = workers;
  for (const Offer& offer : offers_) {
    const std::int32_t taken = std::min(left, offer.count);
    bound += taken * offer.cost;
    rate += taken * offer.rate;
    left -= taken;
    if (left == 0) break;
  }
  double& known = table_[cell(job, workers)];
  known = std::max(known, bound);
  return rate;
}

/// The bound is concave in the slope: halves where its best place may be.
void PriceBound::refine(std::size_t job, std::int32_t workers) {
  std::uint8_t& is_refined = is_refined_[cell(job, workers)];
  if (is_refined != 0) return;
  is_refined = 1;
  double low = slowest_[job] * workers;
  double high = fastest_[job] * workers;
  double estimate = 0.5 * (low + high);
  for (int i = 0; i < kRefinements && high - low > kRefined * high; ++i) {
    const double rate = add_point(job, workers, estimate);
    (rate > estimate ? low : high) = estimate;
    // The cheapest workers' own rate is the next place, unless it lies outside.
    estimate = rate > low && rate < high && i % 2 == 0 ? rate : 0.5 * (low + high);
  }
  add_tangent(job, estimate, kNear * estimate, estimate / kNear);
}

double PriceBound::of_category(std::span<const std::int32_t> category) const noexcept {
  double bound = -total_price_;
  double scale = total_price_;
  for (std::size_t job = 0; job < category.size(); ++job) {
    const double own = of_job(job, category[job]);
    bound += own;
    scale += own;
  }
  return bound - kBoundRounding * scale;
}

/// The bound where every worker costs `shift` more, if each job takes the number of workers from
/// `from` to `to` that is best at that; it is left in `best_`, and the sum of all is returned.
std::int64_t PriceBound::shifted(double shift, std::span<const std::int32_t> from,
                                 std::span<const std::int32_t> to) {
  const double more = shift * model_->num_workers();
  if (stop_ != nullptr) stop_->count(least_.size());
  double bound = -total_price_ - more;
  double scale = total_price_ + std::max(more, -more);
  std::int64_t workers = 0;
  for (std::size_t job = 0; job < model_->num_jobs(); ++job) {
    double least = kInfinity;
    const double* blocks = least_.data() + blocks_begin_[job];
    const std::int32_t low = model_->minimum()[job];
    for (std::int32_t n = from[job]; n <= to[job];) {
      const std::int32_t block = (n - low) / kBlock;
      const std::int32_t last = std::min(low + block * kBlock + kBlock - 1, to[job]);
      if (blocks[block] + std::min(shift * n, shift * last) >= least) {
        n = last + 1;
        continue;
      }
      for (; n <= last; ++n) {
        const double own = of_job(job, n) + shift * n;
        if (own < least) {
          least = own;
          best_[job] = n;
        }
      }
    }
    workers += best_[job];
    bound += least;
    scale += std::max(least, -least);
  }
  if (bound - kBoundRounding * scale > of_all_) {
    of_all_ = bound - kBoundRounding * scale;
    shift_ = shift;
  }
  return workers;
}

/// The best shift of all prices: at a higher one, no job takes more workers.
double PriceBound::of_all(std::int32_t rounds) {
  const auto all = static_cast<std::int64_t>(model_->num_workers());
  const auto least = model_->least();
  const auto most = model_->most();
  best_.assign(least.begin(), least.end());
  // Prices below 0 would reward workers that may as well stay idle.
  const double lowest = -*std::min_element(price_.begin(), price_.end());
  of_all_ = 0.0;
  shift_ = 0.0;
  double start = lowest;
  double least_step = total_price_;
  for (std::size_t job = 0; job < least.size(); ++job) least_step += of_job(job, least[job]);
  least_step *= kLeastStep / static_cast<double>(all);
  double step = std::max(total_price_ / static_cast<double>(all), least_step);
  bool is_refined = false;
  for (std::int32_t round = 0; round < rounds && !is_refined; ++round) {
    is_refined = true;
    double low = start;
    double high = low;
    most_at_.assign(most.begin(), most.end());
    least_at_.assign(least.begin(), least.end());
    // A shift at which too many workers are taken, and one at which they are not.
    bool is_much = shifted(low, least, most) > all;
    for (int i = 0; i < kShifts && !is_much && low > lowest; ++i) {
      high = low;
      least_at_ = best_;
      low = i + 1 < kShifts ? std::max(lowest, low - step) : lowest;
      is_much = shifted(low, least_at_, most) > all;
      step *= 2.0;
    }
    if (is_much) {
      most_at_ = best_;
      for (int i = 0; i < kShifts && high <= low; ++i) {
        const double next = low + step;
        step *= 2.0;
        if (shifted(next, least, most_at_) <= all) {
          high = next;
          least_at_ = best_;
        } else {
          low = next;
          most_at_ = best_;
        }
      }
      const double close = kShiftTolerance * (high - lowest);
      for (int i = 0; i < kShifts && high - low > close; ++i) {
        const double middle = 0.5 * (low + high);
        if (shifted(middle, least_at_, most_at_) > all) {
          low = middle;
          most_at_ = best_;
        } else {
          high = middle;
          least_at_ = best_;
        }
      }
    } else {
      least_at_ = best_;
      most_at_ = best_;
    }
    best_ = least_at_;
    start = low;
    step = std::max(1e-3 * (high - lowest), least_step);
    for (std::size_t job = 0; job < model_->num_jobs(); ++job) {
      for (const std::int32_t workers : {least_at_[job], most_at_[job]}) {
        if (is_refined_[cell(job, workers)] != 0) continue;
        refine(job, workers);
        is_refined = false;
      }
    }
  }
  return of_all_;
}

}  // namespace gpusched
