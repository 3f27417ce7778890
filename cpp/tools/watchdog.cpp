#include "watchdog.hpp"

namespace gpusched {

Watchdog::Watchdog(std::chrono::duration<double> limit) : limit_(limit) {
  if (limit_.count() > 0) thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::run() {
  constexpr std::chrono::milliseconds kStep{20};
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    changed_.wait_for(lock, kStep);
    const auto now = Clock::now();
    for (const auto& [control, end] : ends_) {
      if (now >= end) control->stop.store(true, std::memory_order_relaxed);
    }
  }
}

Watchdog::Watch::Watch(Watchdog& dog, RunControl& control) : dog_(dog), control_(control) {
  const auto limit = std::chrono::duration_cast<Clock::duration>(dog_.limit_);
  const std::lock_guard lock(dog_.mutex_);
  if (limit.count() > 0) dog_.ends_[&control_] = Clock::now() + limit;
}

Watchdog::Watch::~Watch() {
  const std::lock_guard lock(dog_.mutex_);
  dog_.ends_.erase(&control_);
}

}  // namespace gpusched
