#include "market/exact_market.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "base/infinity.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kMaxWorkers = 64;
constexpr std::size_t kMaxCategories = 2'000'000;  // more: the bound of prices says too little

constexpr int kRounds = 24, kFits = 60;  // cleared markets at a branch, steps that fit them
constexpr std::size_t kMostCycles = 100'000;
constexpr double kMarketRounding = 1e-14;  // of sums over jobs and workers

}  // namespace

const ExactMarket::Result& ExactMarket::solve(const MatchingProblem& problem,
                                              const MatchingMarket::Options& market,
                                              const Options& options, const RunControl& control) {
  if (market.goal.beta != 1.0) fail_input("beta: must be 1 for the exact optimum");
  options_ = options;
  control_ = &control;
  model_.load(problem, market.goal);
  if (!model_.is_plain() || model_.has_previous()) {
    fail_input(
        "jobs: the exact optimum does not support an equal split, memory limits or "
        "previous workers");
  }
  jobs_ = model_.num_jobs(), workers_ = static_cast<std::size_t>(model_.num_workers());
  if (workers_ > kMaxWorkers) {
    fail_input("capacity: the exact optimum supports at most " + std::to_string(kMaxWorkers) +
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

/// Gives a worker to a job, and lets the job pass other workers on to the previous owner.
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

/// The bound of Frank and Wolfe: cleared markets at estimates that fit all markets so far.
double ExactMarket::bound_node(std::size_t depth, bool& is_settled) {
  Node& node = nodes_[depth];
  vertices_.clear();
  weights_.clear();
  owners_.clear();
  double best = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    value_.assign((jobs_ + 1) * workers_, 0.0);
    double tangents = fixed_s_;
    for (std::size_t job = 0; job < jobs_; ++job) {
      const double slope = model_.work(job) / (estimate_[job] * estimate_[job]);
      tangents += 2.0 * model_.work(job) / estimate_[job];
      for (std::size_t worker = 0; worker < workers_; ++worker) {
        value_[job * workers_ + worker] = slope * rate(job, worker);
      }
    }
    if (!seat(node)) {
      is_settled = true;  // there is no decision below this node
      return kInfinity;
    }
    const double error = clear(node);
    double cleared = 0.0;
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      cleared += value_[static_cast<std::size_t>(node.owner[worker]) * workers_ + worker];
    }
    const double bound = tangents - cleared - error - kMarketRounding * (tangents + cleared);
    best = std::max(best, bound);
    consider(node);
    if (best >= enough()) return best;
    fix(node, enough() - bound + error);
    keep_vertex(node);
    fit_estimate();
  }
  return best;
}

/// Moves workers away from forbidden jobs; false if that is not possible for all.
bool ExactMarket::seat(Node& node) {
  const auto is_wrong = [&](std::size_t worker) {
    const auto owner = static_cast<std::size_t>(node.owner[worker]);
    return node.is_allowed[owner * workers_ + worker] == 0;
  };
  for (;;) {
    std::size_t worker = 0;
    while (worker < workers_ && !is_wrong(worker)) ++worker;
    if (worker == workers_) return true;
    measure(node, false);
    if (!find_cycle(0.0)) return false;  // of small whole numbers: no rounding
    pass_around(node);
  }
}

/// Clears the market. Returns by how much it may be worth less than the best one, as sums are
/// rounded; infinity if that is not known.
double ExactMarket::clear(Node& node) {
  const auto size = static_cast<double>(jobs_ + 1);
  double greatest = 0.0;
  for (const double value : value_) greatest = std::max(greatest, value);
  // Bound on the rounding of a path over all jobs.
  const double tolerance = size * size * std::numeric_limits<double>::epsilon() * greatest;
  for (std::size_t i = 0; i < kMostCycles; ++i) {
    control_->check();
    measure(node, true);
    if (!find_cycle(tolerance)) return static_cast<double>(workers_) * tolerance;
    double saved = 0.0;
    for (std::size_t at = 0; at < cycle_.size(); ++at) {
      saved += cost_[cycle_[(at + 1) % cycle_.size()] * (jobs_ + 1) + cycle_[at]];
    }
    if (!(saved < 0.0)) break;
    pass_around(node);
  }
  return kInfinity;
}

/// Computes the cost of passing a worker on, from job to job; not by value: -1 if it is forbidden.
void ExactMarket::measure(const Node& node, bool by_value) {
  const std::size_t size = jobs_ + 1;
  cost_.assign(size * size, kInfinity);
  passed_.assign(size * size, -1);
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    const auto from = static_cast<std::size_t>(node.owner[worker]);
    const double wrong = node.is_allowed[from * workers_ + worker] == 0 ? -1.0 : 0.0;
    for (std::size_t to = 0; to < size; ++to) {
      if (to == from || node.is_allowed[to * workers_ + worker] == 0) continue;
      const double cost =
          by_value ? value_[from * workers_ + worker] - value_[to * workers_ + worker] : wrong;
      if (cost < cost_[from * size + to]) {
        cost_[from * size + to] = cost;
        passed_[from * size + to] = static_cast<std::int32_t>(worker);
      }
    }
  }
}

/// Shortest ways between all jobs (Floyd, Warshall) unless there is a cycle that saves more than
/// the tolerance: then that cycle.
bool ExactMarket::find_cycle(double tolerance) {
  const std::size_t size = jobs_ + 1;
  distance_ = cost_;
  via_.resize(size * size);
  for (std::size_t from = 0; from < size; ++from) {
    for (std::size_t to = 0; to < size; ++to) {
      via_[from * size + to] = static_cast<std::int32_t>(from);
    }
    distance_[from * size + from] = 0.0;
  }
  // Backwards along the way found until a job comes twice.
  const auto close = [&](std::size_t end) {
    cycle_.clear();
    for (std::size_t at = end;;) {
      cycle_.push_back(at);
      at = static_cast<std::size_t>(via_[end * size + at]);
      const auto seen = std::find(cycle_.begin(), cycle_.end(), at);
      if (seen == cycle_.end()) continue;
      cycle_.erase(cycle_.begin(), seen);
      return true;
    }
  };
  for (std::size_t middle = 0; middle < size; ++middle) {
    for (std::size_t from = 0; from < size; ++from) {
      const double first = distance_[from * size + middle];
      if (first == kInfinity) continue;
      for (std::size_t to = 0; to < size; ++to) {
        const double length = first + distance_[middle * size + to];
        double& known = distance_[from * size + to];
        if (length < known - tolerance) {
          known = length;
          via_[from * size + to] = via_[middle * size + to];
          if (from == to) return close(from);
        }
      }
    }
  }
  return false;
}

/// Every job of the cycle gets a worker from the next one.
void ExactMarket::pass_around(Node& node) {
  for (std::size_t i = 0; i < cycle_.size(); ++i) {
    const std::size_t to = cycle_[i];
    const std::size_t from = cycle_[(i + 1) % cycle_.size()];
    node.owner[static_cast<std::size_t>(passed_[from * (jobs_ + 1) + to])] =
        static_cast<std::int32_t>(to);
  }
}

void ExactMarket::keep_vertex(const Node& node) {
  const std::size_t first = vertices_.size();
  vertices_.resize(first + jobs_, 0.0);
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    const auto owner = static_cast<std::size_t>(node.owner[worker]);
    if (owner < jobs_) vertices_[first + owner] += rate(owner, worker);
  }
  weights_.push_back(weights_.empty() ? 1.0 : 0.0);
  owners_.insert(owners_.end(), node.owner.begin(), node.owner.end());
}

/// The mixture of all cleared markets that takes least: weight goes from the worst market in use
/// to the best, as much as pays.
void ExactMarket::fit_estimate() {
  const std::size_t size = weights_.size();
  const auto mix = [&] {
    std::fill(estimate_.begin(), estimate_.end(), 0.0);
    for (std::size_t vertex = 0; vertex < size; ++vertex) {
      for (std::size_t job = 0; job < jobs_; ++job) {
        estimate_[job] += weights_[vertex] * vertices_[vertex * jobs_ + job];
      }
    }
  };
  mix();
  for (int fit = 0; fit < kFits; ++fit) {
    std::size_t best = 0;
    std::size_t worst = size;
    double gain = kInfinity;
    double loss = -kInfinity;
    for (std::size_t vertex = 0; vertex < size; ++vertex) {
      double slope = 0.0;
      for (std::size_t job = 0; job < jobs_; ++job) {
        slope -=
            model_.work(job) / (estimate_[job] * estimate_[job]) * vertices_[vertex * jobs_ + job];
      }
      if (slope < gain) {
        gain = slope;
        best = vertex;
      }
      if (weights_[vertex] > 0.0 && slope > loss) {
        loss = slope;
        worst = vertex;
      }
    }
    if (!(loss - gain > 1e-10 * best_s_)) break;
    // Newton's steps on the line between the two.
    double step = 0.0;
    for (int i = 0; i < 4; ++i) {
      double first = 0.0;
      double second = 0.0;
      for (std::size_t job = 0; job < jobs_; ++job) {
        const double along = vertices_[best * jobs_ + job] - vertices_[worst * jobs_ + job];
        const double at = std::max(estimate_[job] + step * along, 1e-6 * estimate_[job]);
        first -= model_.work(job) * along / (at * at);
        second += 2.0 * model_.work(job) * along * along / (at * at * at);
      }
      if (!(second > 0.0)) break;
      step = std::clamp(step - first / second, 0.0, weights_[worst]);
    }
    weights_[best] += step;
    weights_[worst] = step == weights_[worst] ? 0.0 : weights_[worst] - step;
    mix();
    if (step == 0.0) break;
  }
}

/// Forbids what costs more than the bound leaves: a worker to a job, and one passed on from there
/// along the shortest way back.
void ExactMarket::fix(Node& node, double slack) {
  const std::size_t size = jobs_ + 1;
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    const auto from = static_cast<std::size_t>(node.owner[worker]);
    for (std::size_t to = 0; to < size; ++to) {
      std::uint8_t& is_allowed = node.is_allowed[to * workers_ + worker];
      if (to == from || is_allowed == 0) continue;
      const double cost = value_[from * workers_ + worker] - value_[to * workers_ + worker] +
                          distance_[to * size + from];
      if (cost > slack) is_allowed = 0;
    }
  }
}

/// How much of a worker a job has in the mixture.
double ExactMarket::part_of(std::size_t job, std::size_t worker) const {
  double part = 0.0;
  for (std::size_t vertex = 0; vertex < weights_.size(); ++vertex) {
    if (owners_[vertex * workers_ + worker] == static_cast<std::int32_t>(job)) {
      part += weights_[vertex];
    }
  }
  return part;
}

/// The worker that the mixture divides most among those that have a choice.
std::size_t ExactMarket::most_divided(const Node& node) {
  std::size_t chosen = 0;
  double least = kInfinity;
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    double most = 0.0;
    int choices = 0;
    for (std::size_t job = 0; job <= jobs_; ++job) {
      most = std::max(most, part_of(job, worker));
      choices += node.is_allowed[job * workers_ + worker];
    }
    if (choices > 1 && most < least) {
      least = most;
      chosen = worker;
    }
  }
  return chosen;
}

}  // namespace gpusched
