#include "solvers/graph_cut.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace gpusched {
namespace {

void check(const CutGraph& graph, std::span<const std::int32_t> quotas) {
  const std::size_t num_stages = graph.replicas.size();
  if (num_stages == 0 || graph.allreduce_weights.size() != num_stages ||
      graph.pipeline_weights.size() + 1 != num_stages) {
    throw std::invalid_argument(
        "graph cut: must have a weight for each stage and each pair of neighbours");
  }
  const auto is_positive = [](std::int32_t count) { return count >= 1; };
  if (!std::all_of(graph.replicas.begin(), graph.replicas.end(), is_positive) ||
      !std::all_of(quotas.begin(), quotas.end(), is_positive)) {
    throw std::invalid_argument("graph cut: replicas and quotas must be at least 1");
  }
  const std::int64_t none = 0;
  if (std::accumulate(graph.replicas.begin(), graph.replicas.end(), none) !=
      std::accumulate(quotas.begin(), quotas.end(), none)) {
    throw std::invalid_argument("graph cut: the quotas must add up to all replicas");
  }
}

}  // namespace

/// Weight from one vertex of a stage to `counts` vertices of each stage, of which `own` are itself.
double GraphCut::weight(const CutGraph& graph, std::size_t stage,
                        std::span<const std::int32_t> counts, int own) const noexcept {
  double sum = graph.allreduce_weights[stage] * (counts[stage] - own);
  if (stage > 0) sum += graph.pipeline_weights[stage - 1] * counts[stage - 1];
  if (stage + 1 < num_stages_) sum += graph.pipeline_weights[stage] * counts[stage + 1];
  return sum;
}

void GraphCut::assign(std::size_t stage, std::span<std::int32_t> inside) noexcept {
  --left_[stage];
  ++inside[stage];
}

void GraphCut::seed(const CutGraph& graph, std::span<std::int32_t> inside) {
  double heaviest = 0;
  std::size_t from = num_stages_;
  std::size_t to = num_stages_;
  for (std::size_t stage = 0; stage < num_stages_; ++stage) {
    if (left_[stage] >= 2 && graph.allreduce_weights[stage] > heaviest) {
      heaviest = graph.allreduce_weights[stage];
      from = to = stage;
    }
    if (stage + 1 < num_stages_ && left_[stage] >= 1 && left_[stage + 1] >= 1 &&
        graph.pipeline_weights[stage] > heaviest) {
      heaviest = graph.pipeline_weights[stage];
      from = stage;
      to = stage + 1;
    }
  }
  if (from == num_stages_) return;
  assign(from, inside);
  assign(to, inside);
}

void GraphCut::grow(const CutGraph& graph, std::span<const std::int32_t> quotas,
                    std::vector<std::int32_t>& ranks) {
  check(graph, quotas);
  num_stages_ = graph.replicas.size();
  left_.assign(graph.replicas.begin(), graph.replicas.end());
  counts_.assign(quotas.size() * num_stages_, 0);
  incident_.resize(num_stages_);
  for (std::size_t stage = 0; stage < num_stages_; ++stage) {
    incident_[stage] = weight(graph, stage, graph.replicas, 1);
  }
  for (std::size_t server = 0; server < quotas.size(); ++server) {
    const std::span<std::int32_t> inside(&count(server, 0), num_stages_);
    int rest = quotas[server];
    if (rest >= 2) seed(graph, inside);
    rest -= std::accumulate(inside.begin(), inside.end(), 0);
    for (; rest > 0; --rest) {
      std::size_t chosen = num_stages_;
      double heaviest = 0;
      for (std::size_t stage = 0; stage < num_stages_; ++stage) {
        if (left_[stage] == 0) continue;
        const double into = weight(graph, stage, inside, 0);
        if (chosen == num_stages_ || into > heaviest ||
            (into == heaviest && incident_[stage] < incident_[chosen])) {
          chosen = stage;
          heaviest = into;
        }
      }
      assign(chosen, inside);
    }
  }
  deal(graph.replicas, ranks);
}

void GraphCut::deal(std::span<const std::int32_t> replicas, std::vector<std::int32_t>& ranks) {
  next_.resize(num_stages_);
  std::exclusive_scan(replicas.begin(), replicas.end(), next_.begin(), 0);
  ranks.clear();
  for (std::size_t cell = 0; cell < counts_.size(); ++cell) {
    std::int32_t& vertex = next_[cell % num_stages_];
    for (int i = 0; i < counts_[cell]; ++i) ranks.push_back(vertex++);
  }
}

/// Whether a pair of servers like `a` and `b` was gone through since the last exchange was kept.
bool GraphCut::is_repetition(std::span<const std::int32_t> kinds, std::size_t a,
                             std::size_t b) const noexcept {
  const auto row = [&](std::size_t server) {
    return counts_.begin() + static_cast<std::ptrdiff_t>(server * num_stages_);
  };
  const auto is_like = [&](std::size_t one, std::size_t other) {
    return kinds[one] == kinds[other] && std::equal(row(one), row(one + 1), row(other));
  };
  for (std::size_t other = b; --other > a;) {
    if (a == last_a_ && other <= last_b_) break;
    if (is_like(other, b)) return true;
  }
  for (std::size_t other = a; other > 0;) {
    --other;
    if (other < last_a_ || (other == last_a_ && b <= last_b_)) break;
    if (is_like(other, a)) return true;
  }
  return false;
}

double GraphCut::improve(std::span<const std::int32_t> replicas,
                         std::span<const std::int32_t> quotas, std::span<const std::int32_t> kinds,
                         const Cost& cost, std::vector<std::int32_t>& ranks) {
  num_stages_ = replicas.size();
  next_.resize(num_stages_);
  std::inclusive_scan(replicas.begin(), replicas.end(), next_.begin());
  counts_.assign(quotas.size() * num_stages_, 0);
  auto rank = ranks.cbegin();
  for (std::size_t server = 0; server < quotas.size(); ++server) {
    for (int i = 0; i < quotas[server]; ++i) {
      const auto stage = std::upper_bound(next_.begin(), next_.end(), *rank++) - next_.begin();
      ++count(server, static_cast<std::size_t>(stage));
    }
  }

  const auto exchange = [&](std::size_t a, std::size_t b, std::size_t s, std::size_t t) {
    --count(a, s);
    ++count(a, t);
    --count(b, t);
    ++count(b, s);
  };
  deal(replicas, ranks);
  double best = cost(ranks);
  bool is_better = true;
  const auto try_pair = [&](std::size_t a, std::size_t b, std::int64_t trials) {
    const bool is_known = is_repetition(kinds, a, b);
    for (std::size_t s = 0; s < num_stages_; ++s) {
      for (std::size_t t = 0; t < num_stages_; ++t) {
        if (s == t || count(a, s) == 0 || count(b, t) == 0 || trials == 0) continue;
        --trials;
        if (is_known) continue;
        exchange(a, b, s, t);
        deal(replicas, ranks);
        const double after = cost(ranks);
        if (after < best) {
          best = after;
          is_better = true;
          last_a_ = a;
          last_b_ = b;
        } else {
          exchange(a, b, t, s);
        }
      }
    }
    return trials;
  };
  const auto num_vertices = static_cast<std::int64_t>(ranks.size());
  std::int64_t trials = num_vertices * num_vertices;
  while (is_better && trials > 0) {
    is_better = false;
    last_a_ = last_b_ = 0;  // no pair
    for (std::size_t a = 0; a < quotas.size(); ++a) {
      for (std::size_t b = a + 1; b < quotas.size(); ++b) trials = try_pair(a, b, trials);
    }
  }
  deal(replicas, ranks);
  return best;
}

}  // namespace gpusched
