#include "base/flags.hpp"

#include <cstddef>
#include <string>

#include "base/check.hpp"

namespace gpusched {
namespace {

constexpr std::array<FlagText, kNumFlags> kTexts{{
    {Flag::preemptive, "preemptive", "May preempt running jobs.", "order scheduler",
     "order scheduler"},
    {Flag::non_preemptive, "non-preemptive",
     "Never preempts: declared by a scheduler written in Python and checked by audits.",
     "scheduler", "scheduler"},
    {Flag::strict, "strict", "By default, a job that does not fit blocks those behind it.", "order",
     "order"},
    {Flag::skip, "skip", "By default, skips jobs that do not fit.", "order", "order"},
    {Flag::clairvoyant, "clairvoyant",
     "Uses predicted run times; with predictor `oracle`, the true ones.", "order scheduler",
     "order scheduler"},
    {Flag::estimate, "estimate", "Uses the run-time estimates of users.", "order scheduler",
     "order scheduler"},
    {Flag::deadlines, "deadlines", "Uses deadlines; jobs without one come last.", "order scheduler",
     "order scheduler"},
    {Flag::elastic, "elastic",
     "Can change the number of GPUs of a job; both the policy and the speed must be elastic.",
     "scheduler speed", "scheduler"},
    {Flag::random, "random", "Makes random choices from the seed of the run.",
     "order scheduler placement", "order scheduler placement"},
    {Flag::places, "places", "Chooses GPUs itself and ignores the placement of the run.",
     "scheduler", ""},
    {Flag::offline, "offline",
     "Can plan a batch of jobs before any starts; in a run it plans each job at its arrival.",
     "scheduler", ""},
    {Flag::pooled, "pooled", "Treats the cluster as one pool of GPUs, without servers or types.",
     "placement", ""},
    {Flag::demands, "demands", "Supports CPU and memory requests and `gpus_per_node`.", "placement",
     ""},
    {Flag::shares, "shares", "Supports jobs that share a GPU.", "placement speed", ""},
    {Flag::scatters, "scatters",
     "On an empty cluster, places any job for which there are enough whole GPUs, on any servers.",
     "placement", "placement"},
    {Flag::consolidates, "consolidates",
     "Places a job on the fewest servers possible in the cluster, or lets it wait: on one "
     "server, or on several of the largest and one for the remainder.",
     "placement", "placement"},
    {Flag::steady, "steady", "Run times do not depend on the GPUs that a job gets.", "speed", ""},
    {Flag::linkless, "linkless", "Iterations never wait for a link, whatever the contention.",
     "speed", ""},
    {Flag::profiles, "profiles", "Needs profiles of the jobs' iterations and gradients.", "speed",
     ""},
    {Flag::graphs, "graphs", "Needs graphs of the jobs' stages.", "speed", ""},
    {Flag::throughputs, "throughputs", "Needs throughputs measured by number of GPUs.", "speed",
     ""},
    {Flag::samples, "samples", "Needs samples per second by GPU type, and global batches.", "speed",
     ""},
    {Flag::uncontended, "uncontended", "Jobs do not share links.", "contention", ""},
    {Flag::interacting, "interacting",
     "A job's share of a link depends on the other jobs that use it.", "contention", ""},
    {Flag::outages, "outages",
     "Supports outages of servers; `2d-las` only with `inside=submit` and without `promote`.",
     "order scheduler", ""},
    {Flag::priorities, "priorities", "Orders jobs by their priority before its own rule.",
     "order scheduler", "scheduler"},
    {Flag::approximate, "approximate", "By default, differs from its source as described.",
     "order scheduler", "order scheduler"},
}};

constexpr bool stand_in_order() {
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    if (static_cast<std::size_t>(kTexts[i].flag) != i) return false;
  }
  return true;
}
static_assert(stand_in_order());

}  // namespace

const std::array<FlagText, kNumFlags>& flag_texts() { return kTexts; }

Flag flag_of(std::string_view name) {
  for (const FlagText& text : kTexts) {
    if (text.name == name) return text.flag;
  }
  std::string message = "flag '" + std::string(name) + "' is unknown; known flags:";
  for (const FlagText& text : kTexts) message += std::string(" ") + text.name;
  fail_input(message);
}

std::vector<std::string_view> names_of(Flags flags) {
  std::vector<std::string_view> names;
  for (const FlagText& text : kTexts) {
    if (flags.has(text.flag)) names.emplace_back(text.name);
  }
  return names;
}

}  // namespace gpusched
