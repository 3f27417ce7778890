#include "base/registry.hpp"
#include "base/rng.hpp"
#include "seams/order.hpp"

namespace gpusched {
namespace fixed_keys {

// The key of each order, by its name. None changes after arrival.
double fifo(const QueueView& view, JobId job) { return key_of(view.submit(job)); }
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
                  .summary = "First come, first served; the head of the line blocks.",
                  .source = "Common practice (Slurm without backfill, YARN FIFO).",
                  .flags = {Flag::strict})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::random>, .name = "random",
                  .summary = "Jobs in the order of seeded lots: the baseline that knows nothing.",
                  .source = "Baseline.", .flags = {Flag::skip, Flag::random})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::sgf>, .name = "sgf",
                  .summary = "Smallest gang first, by number of GPUs.",
                  .source = "Called sjf in the Tiresias simulator (NSDI 2019).",
                  .flags = {Flag::skip})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::sjf>, .name = "sjf",
                  .summary = "Shortest job first, by predicted service.",
                  .source = "Conway, Maxwell, Miller, Theory of Scheduling, 1967.",
                  .flags = {Flag::skip, Flag::clairvoyant})
GPUSCHED_REGISTER(
    Order, FixedKeyOrder<fixed_keys::spjf>, .name = "spjf",
    .summary = "Shortest predicted job first; one that does not fit blocks the others.",
    .source = "Told to be a baseline of Luo et al., INFOCOM 2025; the rule is ours.",
    .flags = {Flag::strict, Flag::clairvoyant})
GPUSCHED_REGISTER(
    Order, FixedKeyOrder<fixed_keys::spwf>, .name = "spwf",
    .summary = "Smallest predicted workload first; one that does not fit blocks the others.",
    .source = "Told to be a baseline of Luo et al., INFOCOM 2025; the rule is ours.",
    .flags = {Flag::strict, Flag::clairvoyant})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::swf>, .name = "swf",
                  .summary = "Smallest work first: GPUs times predicted service.",
                  .source = "The oracle of QSSF: Hu et al., Helios, SC 2021.",
                  .flags = {Flag::skip, Flag::clairvoyant})
GPUSCHED_REGISTER(Order, FixedKeyOrder<fixed_keys::wspt>, .name = "wspt",
                  .summary = "Weighted shortest processing time: predicted service over weight.",
                  .source = "Smith, Naval Research Logistics Quarterly 3, 1956.",
                  .flags = {Flag::skip, Flag::clairvoyant})

}  // namespace gpusched
