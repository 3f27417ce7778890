#include "gangs/gpu_binding_scheduler.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "base/infinity.hpp"

namespace gpusched {
namespace {

constexpr double kNoCap = kInfinity;

template <class Visit>
void for_each_gpu(const std::vector<GangShare>& shares, Visit visit) {
  for (const GangShare& share : shares) {
    for (std::uint64_t rest = share.gpus; rest != 0; rest &= rest - 1) {
      visit(share.server, std::countr_zero(rest));
    }
  }
}

}  // namespace

std::vector<ParameterInfo> GpuBindingScheduler::parameters(bool is_by_width) {
  return {
      {.name = "mode",
       .fallback = std::string("idle"),
       .help = "'idle': start on GPUs that are idle now; 'queue': bind to GPUs at arrival, even "
               "if they are busy",
       .choices = {"idle", "queue"}},
      {.name = "start",
       .fallback = std::string("ready"),
       .help = "in mode queue: 'ready': a job starts once all its GPUs are idle; 'in-order': "
               "each GPU runs its jobs in order",
       .choices = {"ready", "in-order"}},
      {.name = "order",
       .fallback = std::string(is_by_width ? "width" : "submit"),
       .help = "which job first: 'width': the smallest; 'submit': the first to arrive",
       .choices = {"width", "submit"}},
      {.name = "theta_s",
       .fallback = 0.0,
       .help = "cap in seconds on the busy time bound to a GPU (0: none)",
       .minimum = 0.0,
       .maximum = 9e9},
      {.name = "u",
       .fallback = 1.15,
       .help = "largest overestimate of run times: predictions are divided by it",
       .minimum = 1.0,
       .maximum = 1e6},
  };
}

GpuBindingScheduler::GpuBindingScheduler(GangRule rule, const Parameters& parameters)
    : rule_(rule),
      is_queue_(parameters.text("mode") == "queue"),
      is_in_order_(parameters.text("start") == "in-order") {
  rule_.is_by_width = parameters.text("order") == "width";
  rule_.estimate_error = parameters.number("u");
  const double cap = static_cast<double>(parameters.seconds("theta_s").count());
  first_cap_ = cap > 0.0 ? cap : kNoCap;
}

void GpuBindingScheduler::begin(const Setup& setup) {
  packer_.emplace(make_packer(setup.state.cluster(), setup.seed));
  control_ = &setup.control;
  raises_.clear();
  num_placed_ = 0;
  reads_truth_ = setup.state.jobs().is_clairvoyant();
  bindings_.clear();
  free_bindings_.clear();
  binding_of_.assign(setup.state.jobs().num_jobs(), 0);
  waiting_.begin(setup.state.classes());
  least_cap_.assign(setup.state.classes().num_classes(), {});
  groups_.clear();
  group_of_.clear();
  candidates_.clear();
  lines_.assign(is_queue_ ? static_cast<std::size_t>(packer_->num_gpus()) : 0, {});
}

void GpuBindingScheduler::decide(const State& state, const Instant& instant, Actions& actions) {
  for (const JobId job : instant.finished) unbind(job);
  if (is_queue_) {
    bind_arrived(state, instant);
    start_candidates(state, actions);
    return;
  }
  for (const JobId job : instant.arrived) {
    const double key = rule_.is_by_width ? static_cast<double>(state.jobs().gpus(job)) : 0.0;
    waiting_.push(state.classes().of(job), {key, job});
  }
  if (waiting_.empty()) return;
  start_idle(state, actions);
  if (state.num_running() == 0 && !waiting_.empty()) start_stalled(state, actions);
}

bool GpuBindingScheduler::withdraw(const State& state, JobId job) {
  std::erase_if(raises_, [&](const Raise& raise) { return raise.job == job; });
  if (!is_queue_) {
    waiting_.remove(state.classes().of(job), job);
    return true;
  }
  const std::uint32_t binding = binding_of_[job];
  packer_->take_back(bindings_[binding].shares, rule_.gang(state.jobs(), job).load);
  if (is_in_order_) {
    leave_lines(binding);
    std::erase(candidates_, binding);
  } else {
    leave_group(binding);
  }
  free_bindings_.push_back(binding);
  return true;
}

std::vector<std::string> GpuBindingScheduler::warnings() const {
  std::vector<std::string> all;
  if (!raises_.empty()) {
    all.push_back("theta_s was raised " + std::to_string(raises_.size()) + " times, finally to " +
                  std::to_string(cap_now() / 1e6) +
                  " s, for jobs that did not fit anywhere under it");
  }
  if (first_cap_ < kNoCap && reads_truth_) {
    all.push_back("the cap theta_s was checked with true run times");
  }
  return all;
}

bool GpuBindingScheduler::place(const State& state, JobId job) {
  const Gang gang = rule_.gang(state.jobs(), job);
  if (!packer_->place(gang, rule_.packing(gang.gpus), rule_.inflation, cap_now(), shares_)) {
    return false;
  }
  ++num_placed_;
  return true;
}

double GpuBindingScheduler::cap_now() const noexcept {
  return raises_.empty() ? first_cap_ : raises_.back().cap;
}

void GpuBindingScheduler::raise_cap(JobId job, double cap) {
  raises_.push_back({job, std::ceil(cap)});
}

std::uint32_t GpuBindingScheduler::bind(JobId job) {
  if (free_bindings_.empty()) {
    free_bindings_.push_back(static_cast<std::uint32_t>(bindings_.size()));
    bindings_.emplace_back();
  }
  const std::uint32_t binding = free_bindings_.back();
  free_bindings_.pop_back();
  bindings_[binding].job = job;
  bindings_[binding].rank = num_placed_;
  bindings_[binding].num_behind = 0;
  std::swap(bindings_[binding].shares, shares_);
  binding_of_[job] = binding;
  return binding;
}

void GpuBindingScheduler::unbind(JobId job) {
  const std::uint32_t binding = binding_of_[job];
  packer_->leave(bindings_[binding].shares);
  if (is_queue_) {
    free_lines(binding);
  } else {
    packer_->show(bindings_[binding].shares);
  }
  free_bindings_.push_back(binding);
}

void GpuBindingScheduler::start(std::uint32_t binding, Actions& actions) {
  const Binding& bound = bindings_[binding];
  allocation_.reset(0);
  for (const GangShare& share : bound.shares) {
    allocation_.pieces.emplace_back(share.server, share.gpus);
    allocation_.gpus += allocation_.pieces.back().gpus;
  }
  actions.start(bound.job, allocation_);
}

// Mode idle.

KeyedJob GpuBindingScheduler::least_fitting(const State& state, ClassId& id) const {
  KeyedJob best = WaitingQueue::kNone;
  for (const auto& group : state.classes().groups()) {
    ClassId at = 0;
    const KeyedJob job =
        waiting_.heads().least(group, {state.occupancy().num_free(group.types)}, at);
    if (job < best) {
      best = job;
      id = at;
    }
  }
  return best;
}

void GpuBindingScheduler::start_idle(const State& state, Actions& actions) {
  refused_.clear();
  ClassId id = 0;
  for (KeyedJob job = least_fitting(state, id); job.job != kNoJob; job = least_fitting(state, id)) {
    control_->check();
    bool is_placed = place(state, job.job);
    if (!is_placed && is_shut_out(state, id, job.job)) {
      raise_cap(job.job, least_cap_[id].busy + rule_.gang(state.jobs(), job.job).load);
      is_placed = place(state, job.job);
    }
    waiting_.pop(id);
    if (!is_placed) {
      refused_.push_back({id, job});
      continue;
    }
    const std::uint32_t binding = bind(job.job);
    packer_->hide(bindings_[binding].shares);
    start(binding, actions);
  }
  for (const Held& held : refused_) waiting_.push(held.id, held.job);
}

bool GpuBindingScheduler::is_shut_out(const State& state, ClassId id, JobId job) {
  const Gang gang = rule_.gang(state.jobs(), job);
  LeastCap& least = least_cap_[id];
  if (least.num_placed != num_placed_) {
    least.busy = packer_->least_busy_ever(gang);
    least.num_placed = num_placed_;
  }
  return least.busy + gang.load > cap_now();
}

void GpuBindingScheduler::start_stalled(const State& state, Actions& actions) {
  // All GPUs are idle, so some cap admits the first job.
  ClassId id = 0;
  const KeyedJob job = least_fitting(state, id);
  const Gang gang = rule_.gang(state.jobs(), job.job);
  raise_cap(job.job, packer_->least_cap(gang, rule_.packing(gang.gpus), rule_.inflation));
  start_idle(state, actions);
}

// Mode queue.

void GpuBindingScheduler::bind_arrived(const State& state, const Instant& instant) {
  arrived_.assign(instant.arrived.begin(), instant.arrived.end());
  rule_.sort(state.jobs(), arrived_);
  for (const JobId job : arrived_) {
    control_->check();
    if (!place(state, job)) {
      const Gang gang = rule_.gang(state.jobs(), job);
      raise_cap(job, packer_->least_cap(gang, rule_.packing(gang.gpus), rule_.inflation));
      if (!place(state, job)) throw InvariantError("a job is refused under its own minimum cap");
    }
    enqueue(bind(job));
  }
}

void GpuBindingScheduler::enqueue(std::uint32_t binding) {
  if (is_in_order_) {
    int num_behind = 0;
    for_each_gpu(bindings_[binding].shares, [&](std::int32_t server, int gpu) {
      Line& waits = line(server, gpu);
      waits.waiting.push_back(binding);
      if (waits.waiting.size() - waits.head > 1) ++num_behind;
    });
    bindings_[binding].num_behind = num_behind;
    if (num_behind == 0) candidates_.push_back(binding);
    return;
  }
  const auto [known, is_new] =
      group_of_.try_emplace(bindings_[binding].shares, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.emplace_back();
  Group& group = groups_[known->second];
  if (group.empty()) candidates_.push_back(known->second);
  group.push_back(binding);
  bindings_[binding].group = known->second;
}

void GpuBindingScheduler::free_lines(std::uint32_t binding) {
  for_each_gpu(bindings_[binding].shares, [&](std::int32_t server, int gpu) {
    Line& waits = line(server, gpu);
    if (!is_in_order_) {
      candidates_.insert(candidates_.end(), waits.waiting.begin(), waits.waiting.end());
      waits.waiting.clear();
      return;
    }
    pass_on(waits);
  });
}

/// The first that waits in line has had its turn: in order, the next one may be a candidate.
void GpuBindingScheduler::pass_on(Line& waits) {
  if (++waits.head == waits.waiting.size()) {
    waits.waiting.clear();
    waits.head = 0;
  } else if (--bindings_[waits.waiting[waits.head]].num_behind == 0) {
    candidates_.push_back(waits.waiting[waits.head]);
  }
}

/// For a binding that waits in order: it is in the lines of all its GPUs.
void GpuBindingScheduler::leave_lines(std::uint32_t binding) {
  for_each_gpu(bindings_[binding].shares, [&](std::int32_t server, int gpu) {
    Line& waits = line(server, gpu);
    const auto first = waits.waiting.begin() + static_cast<std::ptrdiff_t>(waits.head);
    const auto own = std::find(first, waits.waiting.end(), binding);
    if (own == waits.waiting.end()) return;
    if (own == first) {
      pass_on(waits);
    } else {
      waits.waiting.erase(own);
    }
  });
}

/// For a binding in a group, which leaves its line when it is empty.
void GpuBindingScheduler::leave_group(std::uint32_t binding) {
  Group& group = groups_[bindings_[binding].group];
  std::erase(group, binding);
  if (!group.empty()) return;
  for_each_gpu(bindings_[binding].shares, [&](std::int32_t server, int gpu) {
    std::erase(line(server, gpu).waiting, bindings_[binding].group);
  });
}

void GpuBindingScheduler::start_candidates(const State& state, Actions& actions) {
  std::sort(candidates_.begin(), candidates_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return bindings_[first_of(a)].rank < bindings_[first_of(b)].rank;
  });
  for (const std::uint32_t candidate : candidates_) {
    const std::uint32_t binding = first_of(candidate);
    const std::vector<GangShare>& shares = bindings_[binding].shares;
    auto busy = std::ranges::find_if(shares, [&](const GangShare& share) {
      return (share.gpus & ~state.occupancy().free_mask(share.server)) != 0;
    });
    if (busy == shares.end()) {
      start(binding, actions);
      if (is_in_order_) continue;
      groups_[candidate].pop_front();
      if (groups_[candidate].empty()) continue;
      busy = shares.begin();  // that the next one lacks now
    }
    // It looks again when one of the GPUs it lacks is given back.
    const std::uint64_t lacks = busy->gpus & ~state.occupancy().free_mask(busy->server);
    line(busy->server, std::countr_zero(lacks)).waiting.push_back(candidate);
  }
  candidates_.clear();
}

}  // namespace gpusched
