"""What the native fuzz target begins with: ``python -m tests.fuzz.native_seeds FOLDER``."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import gpusched as gs
from gpusched import _core
from gpusched.specs.case import unsealed

NUM_JOBS = 12


def write_seeds(folder: Path) -> int:
    """Write the contents of a small case of each native policy; how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    submit_s = np.arange(NUM_JOBS) * 20.0
    service_s = 30.0 + np.arange(NUM_JOBS) * 7 % 50
    trace = gs.Trace.from_columns(
        submit_s=submit_s,
        service_s=service_s,
        gpus=1 + np.arange(NUM_JOBS) % 4,
        deadline_s=submit_s + 4 * service_s,
    )
    cluster = gs.Cluster.uniform(2, 4, nic_gbps=10, intra_gbps=200)
    num_seeds = 0
    with tempfile.TemporaryDirectory() as work:
        case = Path(work) / "case"
        for policy in sorted({info["name"] for info in _core.registry()} & set(gs.policies())):
            try:
                gs.simulate(trace, cluster, policy=policy).save_case(case)
            except ValueError:  # it needs columns that these jobs lack
                continue
            (folder / policy).write_bytes(unsealed(case.read_bytes()))
            num_seeds += 1
    return num_seeds


if __name__ == "__main__":
    print(f"{write_seeds(Path(sys.argv[1]))} seeds")
