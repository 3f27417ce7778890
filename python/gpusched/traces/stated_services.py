"""On which GPU types the services of a trace were stated, where its source tells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.wording import plural
from gpusched.model.profiles import filled_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusched.model.cluster import Cluster
    from gpusched.traces.workload import Trace

_MARK: Final = "services on "
_STATED: Final = re.compile(rf"{_MARK}([^\s;,)/]+(?:/[^\s;,)/]+)*)")
_CLOSE: Final = 1e-9


def stated_on(gpu_types: Sequence[str]) -> str:
    """Return the part of a trace's source that tells on which types services are run times.

    Of several each job's service is the run time on the one on which it is the fastest.
    """
    return f"{_MARK}{'/'.join(gpu_types)}"


def misread_services(trace: Trace, cluster: Cluster) -> list[str]:
    """Say how much other work jobs do where services count on the fastest type of the cluster.

    Parameters
    ----------
    trace
        With profiles that have throughputs.
    cluster
        Its types are those on which a service is taken for a run time.
    """
    found = _STATED.search(trace.source)
    if found is None or trace.profile is None or trace.profiles is None:
        return []
    stated, here = found[1].split("/"), list(cluster.gpu_types)
    times = np.ones(len(trace))
    kinds, of_job = np.unique(
        np.column_stack([trace.profile, trace.gpus]), axis=0, return_inverse=True
    )
    for kind, (profile, gpus) in enumerate(kinds.tolist()):
        table = filled_table(trace.profiles[profile].throughput, [gpus])
        meant = max((table[name][gpus] for name in stated if name in table), default=0.0)
        taken = max((table[name][gpus] for name in here if name in table), default=0.0)
        if meant > 0 and taken > 0:
            times[of_job.reshape(-1) == kind] = taken / meant
    off = np.abs(times - 1) > _CLOSE
    if not off.any():
        return []
    return [
        f"services were stated on {found[1]}, and are taken for run times on the fastest of "
        f"{'/'.join(here)}: {plural(int(off.sum()), 'job')} of {len(trace):,} have up to "
        f"{float(times.max()):.2f} and down to {float(times.min()):.2f} times the work that was "
        f"meant; state them on the types of the cluster (of the format gavel: gpu_type="
        f"{','.join(here).lower()})"
    ]
