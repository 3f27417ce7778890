#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "market/market_jobs.hpp"

namespace gpusched {

/// The weight of a second of each of the `chosen` jobs, which are in order of remaining GPU time.
/// With speedups k^p, the optimal shares of n jobs for the sum of completion times depend only on
/// their order (Berg, Vesilo, Harchol-Balter, heSRPT, 2020; there focus = 1 / (1 - p)), and a
/// market that minimises the sum of seconds x weight divides GPUs that way if weight x work is the
/// square of the share. At own widths nothing is divided: a job's time on average GPUs counts with
/// the square of its share (by GPU time, wide jobs would count less), and waiting jobs are among
/// the n because running jobs delay them. `focus` of 0: all count 1.
/// wait are among the n: what runs delays them as well. `focus` of 0: all count 1.
void weigh(const MatchingJobs& jobs, std::span<const MatchingJobs::Row> chosen, int focus,
           bool keeps_widths, std::vector<double>& weight);

}  // namespace gpusched
