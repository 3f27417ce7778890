#include "market/exact_market.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/infinity.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kMaxWorkers = 64;
constexpr std::size_t kMaxCategories = 2'000'000;  // more: the bound of prices says too little

}  // namespace

const ExactMarket::Result& ExactMarket::solve(const MatchingProblem& problem,
                                              const MatchingMarket::Options& market,
                                              const Options& options, const RunControl& control) {
  if (market.goal.beta != 1.0) fail_input("beta: the exact optimum is that of beta = 1");
  options_ = options;
  control_ = &control;
  model_.load(problem, market.goal);
  if (!model_.is_plain() || model_.has_previous()) {
    fail_input("jobs: the exact optimum knows no equal split, limit of memory or previous workers");
  }
  jobs_ = model_.num_jobs(), workers_ = static_cast<std::size_t>(model_.num_workers());
  if (workers_ > kMaxWorkers) {
    fail_input("capacity: the exact optimum is for at most " + std::to_string(kMaxWorkers) +
               " workers, not " + std::to_string(workers_));
  }
  ControlCheck stop(control);
  market_.listen_to(&stop);
  const MatchingMarket::Decision& start = market_.solve(problem, market);
  market_.listen_to(nullptr);
  const std::size_t classes = model_.num_classes();
  class_of_worker_.clear();
  for (std::size_t type = 0; type < classes; ++type) {
    class_of_worker_.insert(class_of_worker_.end(),
                            static_cast<std::size_t>(model_.capacity()[type]),
                            static_cast<std::int32_t>(type));
  }
  rate_.assign((jobs_ + 1) * workers_, 0.0);
  result_.counts.assign(jobs_ * classes, 0);
  for (std::size_t job = 0; job < jobs_; ++job) {
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      const auto type = static_cast<std::size_t>(class_of_worker_[worker]);
      rate_[job * workers_ + worker] = model_.rate(job, type);
    }
    const auto row = static_cast<std::size_t>(model_.chosen()[job]) * classes;
    std::copy_n(start.counts.begin() + static_cast<std::ptrdiff_t>(row), classes,
                result_.counts.begin() + static_cast<std::ptrdiff_t>(job * classes));
  }
  exchange_.start(model_, result_.counts);
  best_s_ = exchange_.sums().seconds;
  estimate_.resize(jobs_);
  for (std::size_t job = 0; job < jobs_; ++job) estimate_[job] = exchange_.sum_of_rates(job);
  bound_.begin(model_, start.price, estimate_);
  result_.num_searched = result_.num_branched = result_.num_steps = 0;

  // rest_[job, n]: the jobs from this one on hold at most n workers together.
  rest_.assign((jobs_ + 1) * (workers_ + 1), kInfinity);
  std::fill_n(rest_.end() - static_cast<std::ptrdiff_t>(workers_ + 1), workers_ + 1, 0.0);
  for (std::size_t job = jobs_; job > 0;) {
    --job;
    for (std::int32_t n = model_.least()[job]; n <= model_.most()[job]; ++n) {
      bound_.refine(job, n);
      const double own = bound_.of_job(job, n);
      for (std::size_t left = static_cast<std::size_t>(n); left <= workers_; ++left) {
        double& rest = rest_[job * (workers_ + 1) + left];
        const std::size_t after = left - static_cast<std::size_t>(n);
        rest = std::min(rest, own + rest_[(job + 1) * (workers_ + 1) + after]);
      }
    }
  }
  category_.resize(jobs_);
  categories_.clear();
  candidates_.clear();
  list_categories(0, static_cast<std::int32_t>(workers_), -bound_.price());
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return a.bound < b.bound || (a.bound == b.bound && a.first < b.first);
  });
  proven_s_ = kInfinity;
  for (const Candidate& candidate : candidates_) {
    if (candidate.bound >= enough()) break;
    ++result_.num_searched;
    search({categories_.data() + candidate.first, jobs_}, candidate.bound);
  }
  const auto jobs = static_cast<double>(jobs_);
  exchange_.start(model_, result_.counts);
  result_.job_s.resize(jobs_);
  for (std::size_t job = 0; job < jobs_; ++job) result_.job_s[job] = exchange_.seconds(job);
  result_.mean_s = best_s_ / jobs;
  result_.is_optimal = proven_s_ >= enough();
  result_.lower_bound_s = std::min(proven_s_, enough()) / jobs;
  return result_;
}

/// Lists the categories that the prices leave, each with its bound.
void ExactMarket::list_categories(std::size_t job, std::int32_t left, double bound) {
  control_->check();
  if (job == jobs_) {
    if (candidates_.size() == kMaxCategories) fail_input("jobs: too many for the exact optimum");
    candidates_.push_back({bound, categories_.size()});
    categories_.insert(categories_.end(), category_.begin(), category_.end());
    return;
  }
  for (std::int32_t n = model_.least()[job]; n <= std::min(model_.most()[job], left); ++n) {
    const double own = bound + bound_.of_job(job, n);
    const auto after = static_cast<std::size_t>(left - n);
    if (own + rest_[(job + 1) * (workers_ + 1) + after] >= enough()) continue;
    category_[job] = n;
    list_categories(job + 1, left - n, own);
  }
}

void ExactMarket::search(std::span<const std::int32_t> category, double price_bound) {
  nodes_.resize(workers_ + 2);
  Node& root = nodes_[0];
  root.is_allowed.assign((jobs_ + 1) * workers_, 1);
  root.is_forced.assign(workers_, 0);
  root.owner.assign(workers_, static_cast<std::int32_t>(jobs_));
  fixed_s_ = 0.0;
  std::size_t next = 0;
  for (std::size_t job = 0; job < jobs_; ++job) {
    fixed_s_ += model_.fixed_s(job, category[job]);
    estimate_[job] = category[job] * model_.mean_rate(job);
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      if (!(rate(job, worker) > 0.0)) root.is_allowed[job * workers_ + worker] = 0;
    }
    for (std::int32_t i = 0; i < category[job]; ++i) {
      root.owner[next++] = static_cast<std::int32_t>(job);
    }
  }
  const std::int64_t before = result_.num_steps;
  const double proven = std::max(branch(0), price_bound);
  if (result_.num_steps > before + 1) ++result_.num_branched;
  proven_s_ = std::min(proven_s_, proven);
}

/// A bound on all decisions below a node; its best ones are considered on the way.
double ExactMarket::branch(std::size_t depth) {
  control_->check();
  ++result_.num_steps;
  bool is_settled = false;
  const double bound = bound_node(depth, is_settled);
  if (is_settled || bound >= enough()) return bound;
  const std::size_t worker = most_divided(nodes_[depth]);
  // The jobs that would have it, those that have most of it first.
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t job = 0; job <= jobs_; ++job) {
    if (nodes_[depth].is_allowed[job * workers_ + worker] == 0) continue;
    order.emplace_back(-part_of(job, worker), job);
  }
  std::sort(order.begin(), order.end());
  if (order.size() < 2) return kInfinity;  // one decision is left, and it was considered
  if (result_.num_steps >= options_.max_steps) return bound;
  double least = kInfinity;
  for (const auto& [part, job] : order) {
    Node& child = nodes_[depth + 1];
    child = nodes_[depth];
    if (force(child, job, worker)) least = std::min(least, branch(depth + 1));
    // Another worker of its class that the job had instead would change nothing.
    Node& node = nodes_[depth];
    for (std::size_t other = 0; other < workers_; ++other) {
      const bool is_alike = class_of_worker_[other] == class_of_worker_[worker];
      if (is_alike && node.is_forced[other] == 0) node.is_allowed[job * workers_ + other] = 0;
    }
  }
  return std::max(bound, least);
}

/// Gives a worker to a job and lets the job pass others on to whom it came from.
bool ExactMarket::force(Node& node, std::size_t job, std::size_t worker) {
  node.is_forced[worker] = 1;
  for (std::size_t other = 0; other <= jobs_; ++other) {
    if (other != job) node.is_allowed[other * workers_ + worker] = 0;
  }
  const auto from = static_cast<std::size_t>(node.owner[worker]);
  if (from == job) return true;
  node.owner[worker] = static_cast<std::int32_t>(job);
  measure(node, false);
  const std::size_t size = jobs_ + 1;
  // Fewest steps from `job` to `from`; seat() and clear() make it good.
  via_.assign(size, -1);
  std::vector<std::size_t> queue{job};
  via_[job] = static_cast<std::int32_t>(job);
  for (std::size_t next = 0; next < queue.size() && via_[from] < 0; ++next) {
    for (std::size_t to = 0; to < size; ++to) {
      if (via_[to] >= 0 || cost_[queue[next] * size + to] == kInfinity) continue;
      via_[to] = static_cast<std::int32_t>(queue[next]);
      queue.push_back(to);
    }
  }
  if (via_[from] < 0) return false;
  for (std::size_t at = from; at != job;) {
    const auto before = static_cast<std::size_t>(via_[at]);
    node.owner[static_cast<std::size_t>(passed_[before * size + at])] =
        static_cast<std::int32_t>(at);
    at = before;
  }
  return true;
}

/// Takes a decision of whole workers as the best one, if it is.
void ExactMarket::consider(const Node& node) {
  const std::size_t classes = model_.num_classes();
  counts_.assign(jobs_ * classes, 0);
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    const auto owner = static_cast<std::size_t>(node.owner[worker]);
    if (owner == jobs_) continue;
    ++counts_[owner * classes + static_cast<std::size_t>(class_of_worker_[worker])];
  }
  exchange_.start(model_, counts_);
  if (!(exchange_.sums().seconds < best_s_)) return;
  exchange_.resize();
  best_s_ = exchange_.sums().seconds;
  result_.counts.assign(exchange_.counts().begin(),
                        exchange_.counts().begin() + static_cast<std::ptrdiff_t>(jobs_ * classes));
}

}  // namespace gpusched
