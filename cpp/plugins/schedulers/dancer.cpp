#include <string>
#include <utility>
#include <vector>

#include "base/parameters.hpp"
#include "base/registry.hpp"
#include "deadlines/admission.hpp"
#include "deadlines/intra_slot.hpp"
#include "deadlines/job_ledger.hpp"
#include "deadlines/slot_boundary.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {
namespace {

Freedom freedom(const std::string& name) {
  return {.in_number = name == "both" || name == "number",
          .in_type = name == "both" || name == "type"};
}

void apply_dancer_preset(Parameters& parameters) {
  const std::string& preset = parameters.text("preset");
  if (preset == "count-only") parameters.preset("elastic", std::string("number"));
  if (preset == "type-only") parameters.preset("elastic", std::string("type"));
  if (preset == "constant-price") parameters.preset("prices", std::string("constant"));
  if (preset != "theory") return;
  parameters.preset("prices", std::string("theory"));
  parameters.preset("replan", false);
  parameters.preset("fill", false);
  parameters.preset("retry", false);
  parameters.preset("exchange", false);
  parameters.preset("whole_slots", true);
}

/// Promises GPUs by number and type, slot by slot, to jobs that pay for them with the value of
/// their deadlines; the others run on what is left.
///
/// A job is decided on when it arrives, and starts at once where its plan begins with the present
/// slot and its GPUs can be had, if need be from jobs that keep their promises without them; all
/// else changes at the boundaries of slots.
class Dancer final : public Scheduler {
 public:
  explicit Dancer(const Parameters& parameters)
      : book_({.slot = parameters.seconds("slot_s"),
               .prices = price_rule_of(parameters.text("prices")),
               .supply = parameters.number("supply"),
               .market_decay = parameters.number("decay"),
               .quanta = static_cast<int>(parameters.integer("quanta")),
               .segments = static_cast<int>(parameters.integer("segments")),
               .whole_slots = parameters.flag("whole_slots")},
              freedom(parameters.text("elastic"))),
        within_(book_, parameters.flag("fill")),
        admission_(book_, within_, parameters.flag("exchange")),
        boundary_(book_, admission_,
                  {.replans = parameters.flag("replan"),
                   .fills = parameters.flag("fill"),
                   .retries = parameters.flag("retry"),
                   .num_replans = parameters.integer("replans"),
                   .num_retries = parameters.integer("retries")}) {}

  static std::vector<ParameterInfo> parameters() {
    return {
        {.name = "preset",
         .fallback = std::string("full"),
         .help = "sets the defaults of other parameters; count-only: each job stays on its "
                 "fastest GPU type; type-only: each job keeps its number of GPUs; "
                 "constant-price: prices=constant; theory: prices=theory in whole slots, "
                 "without replan, fill and retry",
         .choices = {"full", "count-only", "type-only", "constant-price", "theory"}},
        {.name = "slot_s",
         .fallback = 300.0,
         .help = "seconds of a slot: GPUs change at slot boundaries",
         .minimum = 1,
         .maximum = 1e6},
        {.name = "prices",
         .fallback = std::string("market"),
         .help = "range in which prices grow as GPUs are reserved: 'density': bounds on the "
                 "value of a GPU slot to the jobs so far; 'market': the same, but at least the "
                 "price at which recent jobs would just have been served; 'theory': the bounds "
                 "of the competitive ratio; 'constant': always the lower bound of 'density'",
         .choices = {"market", "density", "theory", "constant"}},
        {.name = "supply",
         .fallback = 0.5,
         .help = "with prices=market: the fraction of the GPUs that recent jobs would just have "
                 "filled; below 1, because urgent jobs use more than the minimum GPU time",
         .minimum = 0.01,
         .maximum = 10},
        {.name = "decay",
         .fallback = 0.98,
         .help = "with prices=market: the weight of the previous slot's jobs relative to this "
                 "slot's",
         .minimum = 0,
         .maximum = 1},
        {.name = "elastic",
         .fallback = std::string("both"),
         .help = "what of its GPUs a job may change: their number and type, one of them, or "
                 "neither",
         .choices = {"both", "number", "type", "none"}},
        {.name = "replan", .fallback = true, .help = "look for cheaper plans for admitted jobs"},
        {.name = "replans",
         .fallback = std::int64_t{4},
         .help = "number of admitted jobs to replan per slot (round robin)",
         .minimum = 0,
         .maximum = 1e6},
        {.name = "fill",
         .fallback = true,
         .help = "give GPUs left idle in a slot to jobs that can use them"},
        {.name = "retry",
         .fallback = true,
         .help = "reconsider jobs that were not admitted while their deadlines can be met"},
        {.name = "retries",
         .fallback = std::int64_t{16},
         .help = "number of jobs to reconsider per slot (round robin)",
         .minimum = 0,
         .maximum = 1e6},
        {.name = "exchange",
         .fallback = true,
         .help = "a job without room in the current slot takes GPUs of jobs that meet their "
                 "deadlines without them"},
        {.name = "whole_slots", .fallback = false, .help = "plans begin and end with whole slots"},
        {.name = "quanta",
         .fallback = std::int64_t{640},
         .help = "maximum number of parts into which a job's work is divided for planning",
         .minimum = 1,
         .maximum = 1e5},
        {.name = "segments",
         .fallback = std::int64_t{32},
         .help = "maximum number of parts into which the time to its deadline is divided",
         .minimum = 1,
         .maximum = 1e4}};
  }

  void begin(const Setup& setup) override {
    book_.begin(setup);
    within_.begin(setup.placement);
    admission_.begin();
    boundary_.begin(setup);
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    book_.turn_to(state.now());
    book_.forget(instant.finished);
    admission_.receive(state, instant.arrived, actions);
    if (!book_.has_jobs_to_plan()) {
      if (state.num_running() == 0) within_.start_on_several_types(state, actions);
      return;
    }
    if (book_.is_border) {
      boundary_.pass(state, actions);
    } else {
      within_.start_waiting(state, actions);
    }
    actions.wake(next_multiple(state.now(), book_.options.slot));
  }

  [[nodiscard]] bool withdraw(const State& /*state*/, JobId job) override {
    book_.forget({&job, 1});
    return true;
  }

  [[nodiscard]] std::vector<Decision> decisions() const override { return book_.decisions; }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    if (book_.num_broken == 0) return {};
    return {"dancer: " + std::to_string(book_.num_broken) +
            " admitted jobs missed their deadlines"};
  }

 private:
  DancerLedger book_;
  IntraSlot within_;
  Admission admission_;
  SlotBoundary boundary_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Dancer, .name = "dancer",
    .summary =
        "Admits jobs with a value above the price of their GPUs; changes number and type of GPUs.",
    .source =
        "Zhang, Luo, Sun, Yu, Li, IEEE TCC 13(2), 2025: the abstract; the mathematics is ours.",
    .differs =
        "The defaults have no competitive ratio, unlike the paper's rule; preset=theory has "
        "one, in whole slots, without reconsidering, exchanges and GPUs beyond the plans.",
    .flags = {Flag::preemptive, Flag::clairvoyant, Flag::elastic, Flag::deadlines},
    .preemption =
        {.at_arrivals = true,
         .period = "slot_s",
         .reason = "A job that arrives may take GPUs of others; everything else changes at slot "
                   "boundaries, and in between only idle GPUs are given out."},
    .parameters = Dancer::parameters(), .adjust = apply_dancer_preset)

}  // namespace gpusched
