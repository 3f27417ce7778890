#include <string>

#include "base/registry.hpp"
#include "seams/order.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

GPUSCHED_ALIAS(
    Scheduler, .name = "a-srpt-by-work",
    .summary = "A-SRPT, its queue by virtual work; gangs wait for what a placement would cost.",
    .source = "Ours, from a-srpt (Luo et al., INFOCOM 2025).", .target = "a-srpt",
    .values = {{"queue", std::string("work")}, {"wait", std::string("loss")}, {"tau", 4.0}})
GPUSCHED_ALIAS(Order, .name = "fifo-skip",
               .summary = "First come, first served; what does not fit is passed over.",
               .source = "Tiresias fjf (NSDI 2019); Kueue BestEffortFIFO.", .target = "fifo",
               .values = {{"scan", std::string("skip")}})
GPUSCHED_ALIAS(Order, .name = "qssf",
               .summary = "Quasi-shortest service first: GPUs times predicted service; strict.",
               .source = "Hu et al., Helios, SC 2021.", .target = "swf",
               .values = {{"scan", std::string("strict")}})
GPUSCHED_ALIAS(Order, .name = "wcs-duration",
               .summary = "Work conserving: whatever fits, shortest predicted job first.",
               .source = "Told to be a baseline of Luo et al., INFOCOM 2025; the rule is ours.",
               .target = "spjf", .values = {{"scan", std::string("skip")}})
GPUSCHED_ALIAS(Order, .name = "wcs-subtime",
               .summary = "Work conserving: whatever fits, first come first.",
               .source = "Told to be a baseline of Luo et al., INFOCOM 2025; the rule is ours.",
               .target = "fifo", .values = {{"scan", std::string("skip")}})
GPUSCHED_ALIAS(Order, .name = "wcs-workload",
               .summary = "Work conserving: whatever fits, smallest predicted workload first.",
               .source = "Told to be a baseline of Luo et al., INFOCOM 2025; the rule is ours.",
               .target = "spwf", .values = {{"scan", std::string("skip")}})

}  // namespace gpusched
