#include <string>

#include "base/registry.hpp"
#include "seams/order.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

GPUSCHED_ALIAS(
    Scheduler, .name = "a-srpt-by-work",
    .summary = "A-SRPT, its queue by virtual work and its waits by the cost of a placement.",
    .source = "Ours, from a-srpt (Luo et al., INFOCOM 2025).", .target = "a-srpt",
    .values = {{"queue", std::string("work")}, {"wait", std::string("loss")}, {"tau", 4.0}})
GPUSCHED_ALIAS(Order, .name = "fifo-skip",
               .summary = "First come, first served; skips jobs that do not fit.",
               .source = "Tiresias fjf (NSDI 2019); Kueue BestEffortFIFO.", .target = "fifo",
               .values = {{"scan", std::string("skip")}})
GPUSCHED_ALIAS(Order, .name = "qssf",
               .summary = "Quasi-shortest service first: least predicted GPU time; strict order.",
               .source = "Hu et al., Helios, SC 2021.", .target = "swf",
               .values = {{"scan", std::string("strict")}})
GPUSCHED_ALIAS(Order, .name = "wcs-duration",
               .summary = "Shortest predicted job first; skips jobs that do not fit.",
               .source = "Baseline named by Luo et al., INFOCOM 2025; the rule is ours.",
               .target = "spjf", .values = {{"scan", std::string("skip")}})
GPUSCHED_ALIAS(Order, .name = "wcs-subtime",
               .summary = "First come, first served; skips jobs that do not fit.",
               .source = "Baseline named by Luo et al., INFOCOM 2025; the rule is ours.",
               .target = "fifo", .values = {{"scan", std::string("skip")}})
GPUSCHED_ALIAS(Order, .name = "wcs-workload",
               .summary = "Smallest predicted GPU time first; skips jobs that do not fit.",
               .source = "Baseline named by Luo et al., INFOCOM 2025; the rule is ours.",
               .target = "spwf", .values = {{"scan", std::string("skip")}})

}  // namespace gpusched
