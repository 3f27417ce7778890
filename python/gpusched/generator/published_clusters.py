"""What the synthetic workloads are calibrated to: one declaration per cluster.

Run times, widths and outcomes marked *published* are the aggregates of GPU jobs in the summary that
comes with the Acme trace (Hu et al., NSDI 2024, CC-BY-4.0). Those marked *counted* were counted
from the public trace files. The rest (shape of the tail, users, queues, recurrence) is this
generator's own choice, of the order that the papers report; it moves none of the targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DAY_S: Final = 86_400.0


@dataclass(frozen=True)
class Profile:
    """A cluster's workload in numbers.

    Attributes
    ----------
    source
        Where the targets come from.
    mean_s, median_s
        Run time in seconds: targets.
    mean_gpus
        Mean width in whole GPUs: a target.
    widths
        Relative frequency of each width; tilted by a power of the width to meet ``mean_gpus``.
    statuses
        Share of each outcome; the rest is ``"unknown"``. Empty: none is published.
    floor_s, cap_s
        Least and greatest run time, seconds.
    tail_share, body_sigma, tail_sigma
        Run times above the floor are a mixture of two lognormals: the share of the second, and
        the standard deviations of their logarithms. Their medians are solved for.
    num_users, num_queues
        Users follow a Zipf law; each user submits to one queue.
    jobs_per_group
        Mean number of runs of a recurring job.
    """

    source: str
    mean_s: float
    median_s: float
    mean_gpus: float
    widths: Mapping[int, float]
    statuses: Mapping[str, float]
    floor_s: float
    cap_s: float
    tail_share: float
    body_sigma: float
    tail_sigma: float
    num_users: int
    num_queues: int
    jobs_per_group: float = 20.0


PROFILES: Final[Mapping[str, Profile]] = {
    "philly": Profile(
        source="Microsoft Philly, 112,956 GPU jobs: published; widths and cap: counted",
        mean_s=18_006,
        median_s=874,
        mean_gpus=1.93,
        widths={
            1: 0.93297, 2: 0.02189, 4: 0.0226, 8: 0.01913, 12: 0.00009, 16: 0.00234, 24: 0.00009,
            32: 0.00075, 64: 0.00008, 128: 0.00004,
        },
        statuses={"ok": 0.604, "killed": 0.090, "failed": 0.305},
        floor_s=1,
        cap_s=2_750_674,
        tail_share=0.12,
        body_sigma=1.7,
        tail_sigma=1.4,
        num_users=319,
        num_queues=15,
    ),
    "helios": Profile(
        source="SenseTime Helios, 1,580,464 GPU jobs: published",
        mean_s=6_652,
        median_s=206,
        mean_gpus=3.72,
        widths={
            1: 0.60, 2: 0.08, 4: 0.10, 8: 0.16, 16: 0.03, 32: 0.02, 64: 0.008, 128: 0.0015,
            256: 0.0004, 512: 0.00008, 1024: 0.000015, 2048: 0.000005,
        },
        statuses={"ok": 0.624, "killed": 0.221, "failed": 0.155},
        floor_s=1,
        cap_s=50 * DAY_S,
        tail_share=0.15,
        body_sigma=1.8,
        tail_sigma=1.5,
        num_users=1_000,
        num_queues=100,
    ),
    "itp": Profile(
        source="Microsoft ITP, 16,669 jobs of six clusters: counted",
        mean_s=19_426.084,
        median_s=7_667,
        mean_gpus=3.08441,
        widths={
            1: 0.73262, 2: 0.0183, 4: 0.03036, 8: 0.19755, 16: 0.01182, 32: 0.00546, 64: 0.0039,
        },
        statuses={},
        floor_s=600,
        cap_s=1_114_383,
        tail_share=0.2,
        body_sigma=1.3,
        tail_sigma=1.3,
        num_users=200,
        num_queues=6,
    ),
    "acme": Profile(
        source="Shanghai AI Laboratory Acme, cluster Seren, 663,813 GPU jobs: published",
        mean_s=1_414,
        median_s=122,
        mean_gpus=5.68,
        widths={
            1: 0.55, 2: 0.09, 4: 0.09, 8: 0.22, 16: 0.025, 32: 0.012, 64: 0.006, 128: 0.002,
            256: 0.0006, 512: 0.0002, 1024: 0.00002,
        },
        statuses={"ok": 0.497, "killed": 0.075, "failed": 0.429},
        floor_s=1,
        cap_s=30 * DAY_S,
        tail_share=0.12,
        body_sigma=1.3,
        tail_sigma=1.6,
        num_users=150,
        num_queues=10,
    ),
    "pai": Profile(
        # Published is a mean of 0.68 GPUs, shares of one device included. In whole GPUs the same
        # widths make 1.13 if the jobs of up to one GPU (95 %) hold 0.526 of it on average:
        # 0.95 x 0.526 + 0.03 x 2 + 0.01 x 4 + 0.01 x 8 = 0.68.
        source="Alibaba PAI, 1,037,085 GPU jobs: published; shares rounded up to whole GPUs",
        mean_s=4_787,
        median_s=481,
        mean_gpus=1.13,
        widths={1: 0.95, 2: 0.03, 4: 0.01, 8: 0.01},
        statuses={},
        floor_s=1,
        cap_s=30 * DAY_S,
        tail_share=0.12,
        body_sigma=1.5,
        tail_sigma=1.4,
        num_users=1_300,
        num_queues=20,
        jobs_per_group=50.0,
    ),
}  # fmt: skip

# Relative arrival rates, the generator's own: quiet nights, full days, about half at weekends.
HOURS: Final = (
    0.6, 0.5, 0.45, 0.4, 0.4, 0.45, 0.55, 0.7, 0.9, 1.2, 1.4, 1.5,
    1.3, 1.3, 1.5, 1.55, 1.5, 1.45, 1.3, 1.2, 1.2, 1.15, 1.0, 0.8,
)  # fmt: skip
WEEKDAYS: Final = (1.15, 1.15, 1.15, 1.15, 1.1, 0.7, 0.6)
