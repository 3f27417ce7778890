#pragma once

#include <string_view>

namespace gpusched {

/// At which instants a policy may take GPUs back. As a job that is started is not preempted in the
/// same decision, at each of them every job is preempted at most once, and at most all that run.
/// Where nothing of it is set nobody is preempted.
struct PreemptionBound {
  bool at_arrivals = false;
  bool at_finishes = false;
  /// The parameter at whose multiples, in seconds from time 0; if it is 0 at arrivals and finishes.
  std::string_view period = "";
  /// The parameter, a list, for each entry of which every job may once ask for an instant.
  std::string_view per_entry = "";
  /// The parameter for whose seconds a job has run, since it was started, when it is preempted; if
  /// nothing else is set, at any instant.
  std::string_view least_run = "";
  /// In a pool, if all jobs ask for one GPU: no more preemptions than jobs have arrived, all of
  /// them at arrivals. With the parameters as they are by default, and predictions that are true.
  bool one_per_arrival = false;
  /// Why this holds, in a sentence.
  std::string_view reason = "";
};

/// Of orders in which time puts no job that waits before one that runs.
inline constexpr std::string_view kNeverOvertaken =
    "The key of a job that runs does not grow, so that only one that arrives comes before it.";

}  // namespace gpusched
