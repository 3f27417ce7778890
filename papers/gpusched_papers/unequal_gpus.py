"""Unequal GPUs."""

from gpusched_papers.common.unequal_gpus import GENERATED_ITP as GENERATED_ITP
from gpusched_papers.common.unequal_gpus import MAX_GPUS as MAX_GPUS
from gpusched_papers.common.unequal_gpus import Workload as Workload
from gpusched_papers.common.unequal_gpus import absent as absent
from gpusched_papers.common.unequal_gpus import jobs_of as jobs_of
