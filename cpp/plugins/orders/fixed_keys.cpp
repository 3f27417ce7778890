#include "base/registry.hpp"
#include "base/rng.hpp"
#include "seams/order.hpp"

namespace gpusched {
namespace fixed_keys {

// The key of each order, by its name. None changes while a job waits.
double fifo(const QueueView& view, JobId job) { return queue_key(view.state(), job); }
double random(const QueueView& view, JobId job) {
  return to_unit(draw(view.seed(), Stream::order, job, 0));
}
double sgf(const QueueView& view, JobId job) { return static_cast<double>(view.gpus(job)); }
double sjf(const QueueView& view, JobId job) { return key_of(view.predicted(job)); }
double spjf(const QueueView& view, JobId job) { return view.predicted_duration(job); }
double spwf(const QueueView& view, JobId job) { return sgf(view, job) * spjf(view, job); }
double swf(const QueueView& view, JobId job) { return sgf(view, job) * sjf(view, job); }
double wspt(const QueueView& view, JobId job) { return sjf(view, job) / view.weight(job); }

}  // namespace fixed_keys

template <double (*kKey)(const QueueView&, JobId)>
struct FixedKey {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const { return kKey(view, job); }
};

template <double (*kKey)(const QueueView&, JobId)>
using FixedKeyOrder = KeyOrder<FixedKey<kKey>>;

GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::fifo>, .name = "fifo",
                  .summary = "First come, first served; strict order (head-of-line blocking).",
                  .source = "Common practice (Slurm without backfill, YARN FIFO).",
                  .flags = {Flag::strict})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::random>, .name = "random",
                  .summary = "Random order (seeded); a baseline.", .source = "Baseline.",
                  .flags = {Flag::skip, Flag::random})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::sgf>, .name = "sgf",
                  .summary = "Smallest job first, by number of GPUs.",
                  .source = "Called sjf in the Tiresias simulator (NSDI 2019).",
                  .flags = {Flag::skip})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::sjf>, .name = "sjf",
                  .summary = "Shortest job first, by predicted run time.",
                  .source = "Conway, Maxwell, Miller, Theory of Scheduling, 1967.",
                  .flags = {Flag::skip, Flag::clairvoyant})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::spjf>, .name = "spjf",
                  .summary = "Shortest predicted job first; strict order.",
                  .source = "Baseline named by Luo et al., INFOCOM 2025; the rule is ours.",
                  .flags = {Flag::strict, Flag::clairvoyant})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::spwf>, .name = "spwf",
                  .summary = "Smallest predicted GPU time first; strict order.",
                  .source = "Baseline named by Luo et al., INFOCOM 2025; the rule is ours.",
                  .flags = {Flag::strict, Flag::clairvoyant})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::swf>, .name = "swf",
                  .summary = "Smallest GPU time first: GPUs times predicted run time.",
                  .source = "The oracle of QSSF: Hu et al., Helios, SC 2021.",
                  .flags = {Flag::skip, Flag::clairvoyant})
GPUSCHED_REGISTER(
    Order, FixedKeyOrder<fixed_keys::wspt>, .name = "wspt",
    .summary = "Weighted shortest processing time first: predicted run time over weight.",
    .source = "Smith, Naval Research Logistics Quarterly 3, 1956.",
    .flags = {Flag::skip, Flag::clairvoyant})

}  // namespace gpusched
