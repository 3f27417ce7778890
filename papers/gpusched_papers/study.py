"""How papers are run."""

from gpusched_papers.common.by_seed import BySeed as BySeed
from gpusched_papers.common.reproduction import Interrupted as Interrupted
from gpusched_papers.common.reproduction import Progress as Progress
from gpusched_papers.common.seed_means import mean as mean
from gpusched_papers.common.seed_means import reduction as reduction
from gpusched_papers.common.stages import run_stage as run_stage
from gpusched_papers.common.stages import running as running
from gpusched_papers.common.written_files import write_rows as write_rows
