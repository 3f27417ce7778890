#include "placing/capacities.hpp"

namespace gpusched {

Capacities::Capacities(const Cluster& cluster) {
  const auto raise = [](double& most, std::int64_t own) {
    if (own < Cluster::kUnlimited) most = std::max(most, static_cast<double>(own));
  };
  for (ServerId server = 0; server < cluster.num_servers(); ++server) {
    raise(gpu_milli_, std::int64_t{kWholeGpu} * cluster.gpus(server));
    raise(cpu_milli_, cluster.cpu_milli(server));
    raise(memory_mib_, cluster.memory_mib(server));
  }
}

Capacities::Match::Match(const Capacities& capacities, const Occupancy& free,
                         const Ask& ask) noexcept
    : capacities_(capacities),
      free_(free),
      has_cpu_(free.has_demands() && capacities.cpu_milli_ > 0),
      has_memory_(free.has_demands() && capacities.memory_mib_ > 0) {
  const auto part = [](std::int64_t asked, double most) {
    return static_cast<double>(asked) / most;
  };
  gpus_asked_ = part(std::int64_t{ask.demand.share_milli} * ask.workers, capacities.gpu_milli_);
  if (has_cpu_) cpu_asked_ = part(ask.cpu_milli(), capacities.cpu_milli_);
  if (has_memory_) memory_asked_ = part(ask.memory_mib(), capacities.memory_mib_);
}

template <class Term>
double Capacities::mean_of_two(const Occupancy& free, ServerId server, const Ask& ask,
                               Term term) const noexcept {
  const auto of = [&](std::int64_t left, std::int64_t asked, double most) {
    return term(std::min(static_cast<double>(left), most), static_cast<double>(asked), most);
  };
  const double gpu =
      of(free_milli(free, server), std::int64_t{ask.demand.share_milli} * ask.workers, gpu_milli_);
  if (!free.has_demands() || cpu_milli_ == 0) return gpu;
  const std::int64_t asked = ask.cpu_milli();
  return (of(free.free_cpu_milli(server), asked, cpu_milli_) + gpu) / 2;
}

double Capacities::mean_left(const Occupancy& free, ServerId server,
                             const Ask& ask) const noexcept {
  return mean_of_two(free, server, ask,
                     [](double left, double asked, double most) { return (left - asked) / most; });
}

double Capacities::mean_match(const Occupancy& free, ServerId server,
                              const Ask& ask) const noexcept {
  return mean_of_two(free, server, ask, [](double left, double asked, double most) {
    return left / most * (asked / most);
  });
}

}  // namespace gpusched
