#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "market/market_jobs.hpp"

namespace gpusched {

/// What a second of each of the `chosen` counts, which are in order of the GPU time left. With speedups k^p the shares of n
/// jobs that are best for the sum of completion times depend on the jobs' order alone (Berg, Vesilo,
/// Harchol-Balter, heSRPT, 2020; there focus = 1 / (1 - p)), and a market that minimises the sum of
/// seconds x weight divides GPUs so where weight x work is the square of the share. At own widths
/// nothing is divided, and the square of the share is what the job's time counts, in times of its
/// gang on average GPUs (by GPU time, wide gangs would count less by their width), and the jobs that
/// wait are among the n: what runs delays them as well. `focus` of 0: all count 1.
void weigh(const MatchingJobs& jobs, std::span<const MatchingJobs::Row> chosen, int focus,
           bool keeps_widths, std::vector<double>& weight);

}  // namespace gpusched
