#pragma once

#include "model/cluster.hpp"
#include "model/job_table.hpp"

namespace gpusched {

struct PluginInfo;

/// Throws InvalidInput that names the speed and the column unless the jobs have all columns that it
/// needs, those that it reads are as long as the cluster's GPU types ask, and none lacks a figure
/// for a GPU type that a job may use.
void require_columns(const PluginInfo& speed, const JobTable& jobs, const Cluster& cluster);

}  // namespace gpusched
