#include "elastic/waiting_line.hpp"

#include <algorithm>
#include <bit>

namespace gpusched {
namespace {

void write_least(const ElasticJobs::Job& job, LeastGpus& need) {
  need.together = 0;
  need.parts.clear();
  for (const Configuration& known : job.configurations) {
    // By type, then by width.
    const bool is_wider = !need.parts.empty() && need.parts.back().type == known.type;
    if (!is_wider) need.parts.push_back({known.type, known.gpus});
  }
  for (const int type : job.mixed_types) need.together |= TypeMask{1} << type;
}

}  // namespace

int LeastGpus::narrowest() const noexcept { return std::ranges::min(parts, {}, &Part::gpus).gpus; }

bool LeastGpus::is_left(const ElasticJobs& jobs) const noexcept {
  if (together == 0) {
    return std::ranges::any_of(parts,
                               [&](const Part& part) { return part.gpus <= jobs.left(part.type); });
  }
  std::int64_t left = 0;
  for (TypeMask rest = together; rest != 0; rest &= rest - 1) {
    left += jobs.left(std::countr_zero(rest));
  }
  return parts.front().gpus <= left;
}

void WaitingLine::append(ElasticJobs::Job& job, std::int64_t key) {
  write_least(job, need_);
  job.line = lines_.line_of(need_);
  job.line_key = key;
  job.is_waiting = true;
  lines_.add(job.line, {key, job.id, &job});
}

void WaitingLine::remove(ElasticJobs::Job& job) {
  job.is_waiting = false;
  lines_.erase(job.line, {job.line_key, job.id, nullptr});
}

}  // namespace gpusched
