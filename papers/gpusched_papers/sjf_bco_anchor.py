"""Two measured run times that fix the degradation of the contention model (Wang et al. 2020).

Wang, Shi, Wang, Chu, "Communication contention aware scheduling of multiple deep learning training
jobs" (arXiv 2002.10105): on servers of four GPUs with 10 GbE, a ring of four workers takes 295 s
alone, and four such rings over the same servers take 675 s each. In the model an iteration is
``ring x f(a, p) + rest``; the two times give ``f(a, 4)``, and ``f(a, p) = p + a (p - 1)`` gives
the degradation ``a``, once it is known what part of an iteration is the ring. The paper's model and
batch are not taken over; ours are the profiles of the zoo.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

import gpusched as gs
from gpusched.models import JobProfile, zoo
from gpusched.reporting.text_table import Table, table
from gpusched_papers.study import simulate

ALONE_S: Final = 295.0
TOGETHER_S: Final = 675.0
NUM_RINGS: Final = 4
WIDTH: Final = 4
GPU_TYPE: Final = "V100"
OVERHEAD_S: Final = 5e-4
REDUCTION_BYTES_PER_S: Final = 3e11
CLUSTER: Final = gs.Cluster.uniform(4, 4, GPU_TYPE, nic_gbps=10, intra_gbps=100)
REFERENCE: Final = ("resnet50", 64)
LARGEST_RING_SHARE: Final = (TOGETHER_S / ALONE_S - 1) / (NUM_RINGS - 1)
"""From ``1 + share (f - 1) = 675 / 295`` with ``f = 4``."""
_OTHERS: Final = (
    ("resnet50", 128),
    ("resnet152", 64),
    ("inception-v3", 64),
    ("resnet50", 32),
    ("vgg16", 64),
)
_BYTES_PER_S: Final = {"nic": 10e9 / 8, "intra": 100e9 / 8}


@dataclass(frozen=True)
class Anchor:
    """One profile that is made to fit.

    Attributes
    ----------
    ring_share
        Part of an iteration that the ring takes alone on its links.
    degradation
        ``a``; negative if four rings that share a link evenly would be slower than measured.
    alone_s, together_s
        The same, as simulated; NaN if there is no ``a >= 0``.
    """

    model: str
    ring_share: float
    degradation: float
    alone_s: float
    together_s: float


def solve(profile: JobProfile, batch: int) -> Anchor:
    """Find the degradation that gives both times with this model, and simulate it."""
    name = f"{profile.name}, batch {batch}"
    profile = msgspec.structs.replace(profile, name=name, batch=float(batch))
    ring_s, rest_s = _iteration_parts(profile, _BYTES_PER_S["nic"], span=WIDTH)
    factor = (TOGETHER_S / ALONE_S * (ring_s + rest_s) - rest_s) / ring_s
    degradation = (factor - NUM_RINGS) / (NUM_RINGS - 1)
    share = ring_s / (ring_s + rest_s)
    if degradation < 0:
        return Anchor(name, share, degradation, math.nan, math.nan)
    iterations = ALONE_S / (ring_s + rest_s)
    service_s = iterations * sum(_iteration_parts(profile, _BYTES_PER_S["intra"], span=1))
    alone_s, together_s = (
        _simulated_s(profile, service_s, num_rings, degradation) for num_rings in (1, NUM_RINGS)
    )
    return Anchor(name, share, degradation, alone_s, together_s)


def anchors() -> tuple[Anchor, ...]:
    """Solve for the reference and for some other models and batches."""
    models = zoo()
    return tuple(solve(models[name], batch) for name, batch in (REFERENCE, *_OTHERS))


def anchor_table(solved: tuple[Anchor, ...]) -> Table:
    """What each model would make of the two measured times."""
    return table(
        f"Degradation a from two measured times: {ALONE_S:g} s alone, {TOGETHER_S:g} s as one of "
        f"{NUM_RINGS} rings",
        ("model", "ring, part of an iteration", "a", "simulated alone", "simulated together"),
        (
            (
                anchor.model,
                f"{anchor.ring_share:.1%}",
                f"{anchor.degradation:.3f}" if anchor.degradation >= 0 else "none",
                _seconds(anchor.alone_s),
                _seconds(anchor.together_s),
            )
            for anchor in solved
        ),
        (
            f"{CLUSTER} with 10 GbE; compute times of a {GPU_TYPE} from the zoo. Where the ring "
            f"takes more than {LARGEST_RING_SHARE:.1%} of an iteration, four rings that share "
            "evenly (a = 0) would already be slower than measured.",
        ),
    )


def _iteration_parts(profile: JobProfile, bytes_per_s: float, span: int) -> tuple[float, float]:
    """Seconds on the links, and all other seconds, of an iteration without contention."""
    moved = profile.gradient_bytes * (WIDTH - 1) / WIDTH
    rest_s = moved / REDUCTION_BYTES_PER_S + OVERHEAD_S * span + profile.compute_s(GPU_TYPE)
    return 2 * moved / bytes_per_s, rest_s


def _simulated_s(
    profile: JobProfile, service_s: float, num_rings: int, degradation: float
) -> float:
    """Run time of the slowest of equal rings over all servers, in the core."""
    trace = gs.Trace.from_columns(
        submit_s=np.zeros(num_rings),
        service_s=np.full(num_rings, service_s),
        gpus=np.full(num_rings, WIDTH),
        profile=np.zeros(num_rings, dtype=np.int32),
        profiles=(profile,),
        name="anchor",
    )
    result = simulate(
        trace,
        CLUSTER,
        policy="fifo",
        placement="spread",
        speed=f"ring:overhead_s={OVERHEAD_S!r},reduction_bytes_per_s={REDUCTION_BYTES_PER_S!r}",
        contention=f"shared:degradation={degradation!r}",
    )
    return float(result.summary()["makespan_s"])


def _seconds(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f} s"
