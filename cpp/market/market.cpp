#include "market/market.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

// Epsilon of the auction, in parts of the greatest valuation.
constexpr double kEpsilon = 1e-7;

}  // namespace

void MarketClearing::begin(const MarketModel& model, Clearing clearing) {
  model_ = &model;
  clearing_ = clearing;
  class_of_worker_.clear();
  if (clearing == Clearing::transportation) return;
  for (std::size_t type = 0; type < model.num_classes(); ++type) {
    class_of_worker_.insert(class_of_worker_.end(),
                            static_cast<std::size_t>(model.capacity()[type]),
                            static_cast<std::int32_t>(type));
  }
}

/// Values of single workers to the places of each job, as costs, or to each job.
void MarketClearing::spread(std::span<const std::int32_t> category) {
  const std::size_t classes = model_->num_classes();
  const bool is_assignment = clearing_ == Clearing::jonker_volgenant;
  expanded_.clear();
  for (std::size_t job = 0; job < model_->num_jobs(); ++job) {
    const double* own = value_.data() + job * classes;
    const std::int32_t copies = is_assignment ? category[job] : 1;
    for (std::int32_t copy = 0; copy < copies; ++copy) {
      for (const std::int32_t type : class_of_worker_) {
        const double value = own[static_cast<std::size_t>(type)];
        expanded_.push_back(is_assignment ? -value : value);
      }
    }
  }
}

MarketClearing::Result MarketClearing::clear(std::span<const double> value,
                                             std::span<const std::int32_t> category) {
  const std::size_t jobs = model_->num_jobs();
  const std::size_t classes = model_->num_classes();
  double greatest = 0.0;
  for (const double one : value) greatest = std::max(greatest, one);
  // So bad that it is chosen only where nothing else is left.
  const double never = -2.0 * greatest * (model_->num_workers() + 1);
  value_.assign(value.begin(), value.end());
  for (std::size_t job = 0; job < jobs; ++job) {
    for (std::size_t type = 0; type < classes; ++type) {
      if (!(model_->rate(job, type) > 0.0)) value_[job * classes + type] = never;
    }
  }
  Result found;
  counts_.assign(jobs * classes, 0);
  price_.assign(classes, 0.0);
  if (clearing_ == Clearing::transportation) {
    const auto& made =
        transportation_.solve(value_, category, model_->capacity(), Transportation::Supply::exactly,
                              Transportation::Start::warm);
    std::copy(made.flow.begin(), made.flow.end(), counts_.begin());
    std::copy(made.price.begin(), made.price.end(), price_.begin());
    found.most = made.value;
  } else if (clearing_ == Clearing::jonker_volgenant) {
    spread(category);
    std::int32_t places = 0;
    for (const std::int32_t workers : category) places += workers;
    const auto& made =
        assignment_.solve(expanded_, places, static_cast<int>(class_of_worker_.size()));
    std::size_t place = 0;
    for (std::size_t job = 0; job < jobs; ++job) {
      for (std::int32_t i = 0; i < category[job]; ++i) {
        const auto worker = static_cast<std::size_t>(made.column_of_row[place++]);
        ++counts_[job * classes + static_cast<std::size_t>(class_of_worker_[worker])];
      }
    }
    for (std::size_t worker = 0; worker < class_of_worker_.size(); ++worker) {
      double& price = price_[static_cast<std::size_t>(class_of_worker_[worker])];
      price = std::max(price, -made.column_dual[worker]);
    }
    found.most = -made.cost;
  } else {
    spread(category);
    const auto workers = static_cast<int>(class_of_worker_.size());
    const double epsilon = kEpsilon * greatest;
    const auto& made = auction_.solve(expanded_, category, workers, epsilon);
    for (std::size_t worker = 0; worker < class_of_worker_.size(); ++worker) {
      const auto type = static_cast<std::size_t>(class_of_worker_[worker]);
      price_[type] = std::max(price_[type], made.price[worker]);
      if (made.owner[worker] < 0) continue;
      ++counts_[static_cast<std::size_t>(made.owner[worker]) * classes + type];
    }
    found.most = made.value + made.epsilon * workers;
  }
  for (std::size_t job = 0; job < jobs; ++job) {
    for (std::size_t type = 0; type < classes; ++type) {
      if (!(model_->rate(job, type) > 0.0)) counts_[job * classes + type] = 0;
    }
  }
  found.counts = counts_;
  found.price = price_;
  return found;
}

void Market::begin(const MarketModel& model, const Options& options) {
  model_ = &model;
  options_ = options;
  clearing_.begin(model, options.clearing);
}

/// The slope of total completion time: seconds saved by one more worker.
void Market::value_workers() {
  const std::size_t classes = model_->num_classes();
  value_.resize(model_->num_jobs() * classes);
  for (std::size_t job = 0; job < model_->num_jobs(); ++job) {
    const double sum = estimate_[job];
    const double slope =
        options_.valuation == Valuation::raw ? 1.0 : model_->work(job) / (sum * sum);
    for (std::size_t type = 0; type < classes; ++type) {
      value_[job * classes + type] = slope * model_->rate(job, type);
    }
  }
}

void Market::consider(std::span<const std::int32_t> counts) {
  const std::size_t classes = model_->num_classes();
  for (std::size_t job = 0; job < model_->num_jobs(); ++job) {
    std::int32_t workers = 0;
    for (std::size_t type = 0; type < classes; ++type) workers += counts[job * classes + type];
    if (workers < model_->minimum()[job]) return;
  }
  exchange_.start(*model_, counts);
  if (exchange_.score() < result_.score) {
    result_.score = exchange_.score();
    result_.counts.assign(counts.begin(), counts.end());
  }
}

/// Whole workers near the fractions that the rounds averaged to: what is whole in them, then one
/// each in the order of the parts left over. Ties go to the lower job, then to the lower class.
void Market::round_fractions(std::span<const std::int32_t> category) {
  const std::size_t jobs = model_->num_jobs();
  const std::size_t classes = model_->num_classes();
  rounded_.assign(jobs * classes, 0);
  places_.assign(category.begin(), category.end());
  free_.assign(model_->capacity().begin(), model_->capacity().end());
  parts_.clear();
  for (std::size_t job = 0; job < jobs; ++job) {
    for (std::size_t type = 0; type < classes; ++type) {
      const std::size_t cell = job * classes + type;
      // Sums of steps may fall short of a whole by their rounding.
      const auto whole =
          std::min({static_cast<std::int32_t>(fraction_[cell] + 1e-9), places_[job], free_[type]});
      rounded_[cell] = whole;
      places_[job] -= whole;
      free_[type] -= whole;
      if (fraction_[cell] - whole > 1e-9) {
        parts_.push_back({fraction_[cell] - whole, static_cast<std::int32_t>(cell)});
      }
    }
  }
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
    return a.fraction > b.fraction || (a.fraction == b.fraction && a.cell < b.cell);
  });
  const auto fill = [&](std::size_t job, std::size_t type, std::int32_t most) {
    const std::int32_t more = std::min({places_[job], free_[type], most});
    if (more <= 0 || !(model_->rate(job, type) > 0.0)) return;
    rounded_[job * classes + type] += more;
    places_[job] -= more;
    free_[type] -= more;
  };
  for (const Part& part : parts_) {
    const auto cell = static_cast<std::size_t>(part.cell);
    fill(cell / classes, cell % classes, 1);
  }
  for (std::size_t job = 0; job < jobs; ++job) {
    for (std::size_t type = 0; type < classes && places_[job] > 0; ++type) {
      fill(job, type, places_[job]);
    }
  }
  consider(rounded_);
}

const Market::Result& Market::solve(std::span<const std::int32_t> category, double incumbent) {
  const std::size_t jobs = model_->num_jobs();
  const std::size_t classes = model_->num_classes();
  result_.score = kInfinity;
  result_.lower_bound = 0.0;
  result_.rounds = 0;
  result_.counts.assign(jobs * classes, 0);
  result_.price.assign(classes, 0.0);
  estimate_.resize(jobs);
  double fixed = 0.0;
  for (std::size_t job = 0; job < jobs; ++job) {
    estimate_[job] = category[job] * model_->mean_rate(job);
    fixed += model_->fixed_s(job, category[job]);
  }
  best_estimate_ = estimate_;
  fraction_.assign(jobs * classes, 0.0);
  const std::int32_t rounds = options_.valuation == Valuation::iterated ? options_.rounds : 1;
  for (std::int32_t round = 0; round < rounds; ++round) {
    value_workers();
    const MarketClearing::Result cleared = clearing_.clear(value_, category);
    ++result_.rounds;
    if (options_.valuation != Valuation::raw) {
      double seconds = fixed - cleared.most;
      for (std::size_t job = 0; job < jobs; ++job) {
        seconds += 2.0 * model_->work(job) / estimate_[job];
      }
      const double bound = model_->least_score(seconds / static_cast<double>(jobs));
      if (bound > result_.lower_bound || round == 0) {
        result_.lower_bound = std::max(bound, 0.0);
        std::copy(cleared.price.begin(), cleared.price.end(), result_.price.begin());
        best_estimate_ = estimate_;
      }
    } else {
      std::copy(cleared.price.begin(), cleared.price.end(), result_.price.begin());
    }
    consider(cleared.counts);
    if (result_.lower_bound >= incumbent ||
        result_.score - result_.lower_bound <= options_.tolerance * result_.score) {
      return result_;
    }
    if (round + 1 == rounds) break;
    const double step = 2.0 / (round + 2);
    for (std::size_t job = 0; job < jobs; ++job) {
      double sum = 0.0;
      for (std::size_t type = 0; type < classes; ++type) {
        const std::size_t cell = job * classes + type;
        fraction_[cell] += step * (cleared.counts[cell] - fraction_[cell]);
        sum += fraction_[cell] * model_->rate(job, type);
      }
      // Without any worker that it can use, a job's slope has no end.
      estimate_[job] = std::max(sum, 1e-3 * model_->mean_rate(job));
    }
  }
  if (rounds > 1) round_fractions(category);
  if (options_.polish && result_.score < kInfinity) {
    exchange_.start(*model_, result_.counts);
    exchange_.polish();
    result_.score = exchange_.score();
    result_.counts.assign(exchange_.counts().begin(), exchange_.counts().end());
  }
  return result_;
}

}  // namespace gpusched
