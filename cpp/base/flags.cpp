#include "base/flags.hpp"

#include <cstddef>
#include <string>

#include "base/check.hpp"

namespace gpusched {
namespace {

constexpr std::array<FlagText, kNumFlags> kTexts{{
    {Flag::preemptive, "preemptive", "May take GPUs back from jobs that run.", "order scheduler",
     "order scheduler"},
    {Flag::non_preemptive, "non-preemptive",
     "Never takes GPUs back: a promise of a scheduler written in Python, to which audits hold it.",
     "scheduler", "scheduler"},
    {Flag::strict, "strict", "A job that does not fit blocks those behind it: the default scan.",
     "order", "order"},
    {Flag::skip, "skip", "A job that does not fit is passed over: the default scan.", "order",
     "order"},
    {Flag::clairvoyant, "clairvoyant",
     "Needs predictions: decides by how long jobs run, and under an oracle by the truth.",
     "order scheduler", "order scheduler"},
    {Flag::estimate, "estimate", "Decides by the estimates that users gave.", "order scheduler",
     "order scheduler"},
    {Flag::deadlines, "deadlines", "Decides by deadlines; jobs without one come last.",
     "order scheduler", "order scheduler"},
    {Flag::elastic, "elastic",
     "Jobs may run at other widths than their own, if both the policy and the speed say so.",
     "scheduler speed", "scheduler"},
    {Flag::random, "random", "Draws by the seed of the run.", "order scheduler placement",
     "order scheduler placement"},
    {Flag::places, "places", "Chooses GPUs itself, whatever the placement of the run.", "scheduler",
     ""},
    {Flag::offline, "offline",
     "Can plan a batch of jobs before any of them starts; in a run it plans them as they come.",
     "scheduler", ""},
    {Flag::pooled, "pooled", "Takes the cluster for one pool of GPUs without servers or types.",
     "placement", ""},
    {Flag::demands, "demands",
     "Knows jobs that ask for CPU or memory beside GPUs, or for so many GPUs of each server.",
     "placement", ""},
    {Flag::shares, "shares", "Knows jobs that share a GPU.", "placement speed", ""},
    {Flag::scatters, "scatters",
     "Whole GPUs that are enough will do on an empty cluster, whatever servers they are of.",
     "placement", "placement"},
    {Flag::consolidates, "consolidates",
     "A gang takes as few servers as the cluster has for it, or waits: one, or several of the "
     "largest and one for what is left over.",
     "placement", "placement"},
    {Flag::steady, "steady", "Jobs run for their service, wherever they are.", "speed", ""},
    {Flag::linkless, "linkless", "Iterations wait for no link, whatever the contention.", "speed",
     ""},
    {Flag::profiles, "profiles", "Needs profiles of the jobs' iterations and gradients.", "speed",
     ""},
    {Flag::graphs, "graphs", "Needs graphs of the jobs' stages.", "speed", ""},
    {Flag::throughputs, "throughputs", "Needs throughputs measured at numbers of GPUs.", "speed",
     ""},
    {Flag::samples, "samples", "Needs samples per second of each GPU type, and global batches.",
     "speed", ""},
    {Flag::uncontended, "uncontended", "Each job has all links to itself.", "contention", ""},
    {Flag::interacting, "interacting", "What a job gets of a link depends on who else uses it.",
     "contention", ""},
    {Flag::approximate, "approximate", "By default it departs from its source, and it says how.",
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
  std::string message = "flag '" + std::string(name) + "' is unknown; there are";
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
