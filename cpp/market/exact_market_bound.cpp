#include <algorithm>
#include <limits>

#include "base/infinity.hpp"
#include "market/exact_market.hpp"

namespace gpusched {
namespace {

constexpr int kRounds = 24, kFits = 60;  // cleared markets at a branch, steps that fit them
constexpr std::size_t kMostCycles = 100'000;
constexpr double kMarketRounding = 1e-14;  // of sums over jobs and workers

}  // namespace

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

/// Moves workers away from where they must not be; false if there is no way for all of them.
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
  // What a way over all jobs is rounded by at most.
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

/// What passing a worker on costs, from job to job; not by value: -1 where it must not stay.
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
