#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/run_control.hpp"

namespace gpusched {

/// A thread that asks runs to stop when their time is over.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  /// No thread and no limit if `limit` is zero.
  explicit Watchdog(std::chrono::duration<double> limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Watches one run for as long as it lives.
  class Watch {
   public:
    Watch(Watchdog& dog, RunControl& control);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Watchdog& dog_;
    RunControl& control_;
  };

 private:
  void run();

  std::chrono::duration<double> limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RunControl*, Clock::time_point> ends_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace gpusched
