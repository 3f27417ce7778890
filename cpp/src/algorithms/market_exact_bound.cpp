#include <algorithm>

#include "gpusched/market_exact.hpp"

namespace gpusched {
namespace {

constexpr int kRounds = 24, kFits = 60;  // cleared markets at a branch, steps that fit them

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
    clear(node);
    double cleared = 0.0;
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      const auto owner = static_cast<std::size_t>(node.owner[worker]);
      if (node.is_allowed[owner * workers_ + worker] == 0) {
        is_settled = true;  // nobody's way: there is no decision below this node
        return kNever;
      }
      cleared += value_[owner * workers_ + worker];
    }
    best = std::max(best, tangents - cleared);
    consider(node);
    if (best >= enough()) return best;
    fix(node, enough() - (tangents - cleared));
    keep_vertex(node);
    fit_estimate();
  }
  return best;
}

void ExactMarket::clear(Node& node) {
  const std::size_t size = jobs_ + 1;
  std::vector<std::size_t> cycle;
  for (;;) {
    measure(node);
    std::size_t end = 0;
    if (!relax_all(end)) return;
    // Backwards along the way found until a job comes twice.
    cycle.clear();
    std::size_t at = end;
    for (std::size_t i = 0; i <= size; ++i) {
      cycle.push_back(at);
      at = static_cast<std::size_t>(via_[end * size + at]);
      const auto seen = std::find(cycle.begin(), cycle.end(), at);
      if (seen != cycle.end()) {
        cycle.erase(cycle.begin(), seen);
        break;
      }
    }
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::size_t to = cycle[i];
      const std::size_t from = cycle[(i + 1) % cycle.size()];
      node.owner[static_cast<std::size_t>(passed_[from * size + to])] =
          static_cast<std::int32_t>(to);
    }
  }
}

/// What passing a worker on costs, from job to job.
void ExactMarket::measure(const Node& node) {
  const std::size_t size = jobs_ + 1;
  cost_.assign(size * size, kNever);
  passed_.assign(size * size, -1);
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    const auto from = static_cast<std::size_t>(node.owner[worker]);
    const bool is_wrong = node.is_allowed[from * workers_ + worker] == 0;
    for (std::size_t to = 0; to < size; ++to) {
      if (to == from || node.is_allowed[to * workers_ + worker] == 0) continue;
      // A worker where it must not be goes first, whatever that costs.
      const double cost =
          value_.empty() ? 0.0
                         : value_[from * workers_ + worker] - value_[to * workers_ + worker] -
                               (is_wrong ? 4.0 * best_s_ : 0.0);
      if (cost < cost_[from * size + to]) {
        cost_[from * size + to] = cost;
        passed_[from * size + to] = static_cast<std::int32_t>(worker);
      }
    }
  }
}

/// Shortest ways between all jobs (Floyd, Warshall); true with a job on a cycle that saves.
bool ExactMarket::relax_all(std::size_t& cycle_end) {
  const std::size_t size = jobs_ + 1;
  distance_ = cost_;
  via_.resize(size * size);
  for (std::size_t from = 0; from < size; ++from) {
    for (std::size_t to = 0; to < size; ++to) {
      via_[from * size + to] = static_cast<std::int32_t>(from);
    }
    distance_[from * size + from] = 0.0;
  }
  for (std::size_t middle = 0; middle < size; ++middle) {
    for (std::size_t from = 0; from < size; ++from) {
      const double first = distance_[from * size + middle];
      if (first == kNever) continue;
      for (std::size_t to = 0; to < size; ++to) {
        const double length = first + distance_[middle * size + to];
        double& known = distance_[from * size + to];
        if (length < known - 1e-13 * best_s_) {
          known = length;
          via_[from * size + to] = via_[middle * size + to];
          if (from == to) {
            cycle_end = from;
            return true;
          }
        }
      }
    }
  }
  return false;
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
    double gain = kNever;
    double loss = -kNever;
    for (std::size_t vertex = 0; vertex < size; ++vertex) {
      double slope = 0.0;
      for (std::size_t job = 0; job < jobs_; ++job) {
        slope -= model_.work(job) / (estimate_[job] * estimate_[job]) *
                 vertices_[vertex * jobs_ + job];
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
  double least = kNever;
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
