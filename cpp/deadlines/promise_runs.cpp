#include "deadlines/promise_runs.hpp"

namespace gpusched {

PromiseRuns::PromiseRuns(std::size_t num_types, std::span<const Promise> promises) {
  struct Change {
    std::int64_t slot;
    int gpus;
  };
  std::vector<std::vector<Change>> changes(num_types);
  for (const Promise& promise : promises) {
    auto& own = changes[static_cast<std::size_t>(promise.type)];
    own.push_back({promise.begin, promise.gpus});
    own.push_back({promise.end, -promise.gpus});
  }
  begins_.resize(num_types);
  gpus_.resize(num_types);
  for (std::size_t type = 0; type < num_types; ++type) {
    auto& own = changes[type];
    std::sort(own.begin(), own.end(),
              [](const Change& a, const Change& b) { return a.slot < b.slot; });
    begins_[type].push_back(std::numeric_limits<std::int64_t>::min());
    gpus_[type].push_back(0);
    for (const Change& change : own) {
      const int now = gpus_[type].back() + change.gpus;
      if (begins_[type].back() == change.slot) {
        gpus_[type].back() = now;
      } else {
        begins_[type].push_back(change.slot);
        gpus_[type].push_back(now);
      }
    }
  }
}

}  // namespace gpusched
