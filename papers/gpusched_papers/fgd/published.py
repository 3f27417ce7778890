"""What Weng et al. (ATC 2023) publish of their filling experiment."""

from __future__ import annotations

from typing import Final

from gpusched_papers.common.published import Claim, Credit, Published
from gpusched_papers.fgd.recorded_results import RECORDED

LARGEST_REDUCTION: Final = 0.49
MORE_GPUS: Final = 290
ALLOCATED: Final = RECORDED["default"]
NUM_GPUS: Final = 6212
NUM_SEEDS: Final = 10
_UNNAMED: Final = (
    "The abstract does not say which of the baselines, nor on which list; in the recorded results "
    "of the default list it is dot-product."
)


def allocated_key(placement: str, workload: str) -> str:
    """Return the key of the claim on a placement's recorded result on a list of pods."""
    return f"allocated-{placement}" + ("" if workload == "default" else f"-{workload}")


def less_left(placement: str) -> float:
    """By how much less FGD leaves unallocated than another, of the recorded results: a ratio."""
    return (ALLOCATED["fgd"] - ALLOCATED[placement]) / (1 - ALLOCATED[placement])


def more_gpus(placement: str) -> float:
    """How many GPUs more FGD allocates than another, of the recorded results."""
    return (ALLOCATED["fgd"] - ALLOCATED[placement]) * NUM_GPUS


PUBLISHED: Final = Published(
    claims=(
        Claim(
            "largest-reduction",
            "GPUs that FGD leaves unallocated below those of packing-based schedulers, at most",
            "abstract",
            "abstract",
            LARGEST_REDUCTION,
            unit="%",
            lacks=_UNNAMED,
        ),
        Claim(
            "more-gpus",
            "GPUs more in use under FGD, at most",
            "abstract",
            "abstract",
            MORE_GPUS,
            unit="GPUs",
            lacks=_UNNAMED,
        ),
        *(
            Claim(
                allocated_key(placement, name),
                f"GPUs allocated under {placement} at 130 %, {name} list",
                "recorded results",
                "artefact",
                value,
                unit="%",
                better="higher",
                runs=NUM_SEEDS,
            )
            for name, means in RECORDED.items()
            for placement, value in means.items()
        ),
        *(
            Claim(
                f"less-left-{placement}",
                f"GPUs that FGD leaves at 130 % below those that {placement} leaves",
                "recorded results",
                "derived",
                less_left(placement),
                unit="%",
                better="higher",
                runs=NUM_SEEDS,
            )
            for placement in ALLOCATED
            if placement != "fgd"
        ),
        *(
            Claim(
                f"more-gpus-{placement}",
                f"GPUs more in use at 130 % under FGD than under {placement}",
                "recorded results",
                "derived",
                more_gpus(placement),
                unit="GPUs",
                better="higher",
                runs=NUM_SEEDS,
            )
            for placement in ALLOCATED
            if placement != "fgd"
        ),
        Claim(
            "cluster",
            "more than 6,200 GPUs: 6,212 in the recorded results",
            "abstract, recorded results",
            "artefact",
            NUM_GPUS,
            unit="GPUs",
            is_setting=True,
        ),
        Claim(
            "arrivals",
            "the list once in a random order, then draws from it with replacement",
            "the authors' program",
            "artefact",
            is_setting=True,
        ),
        Claim(
            "ties",
            "scores are whole per cent; of equals the first in a random order of the servers",
            "the authors' program",
            "artefact",
            is_setting=True,
        ),
        Claim(
            "steps",
            "the growth of fragmentation for the most frequent 95 % of the requests is scored by a "
            "logistic function",
            "the authors' program, fgd_score.go",
            "artefact",
            is_setting=True,
        ),
        Claim(
            "two-resources",
            "of CPU and GPUs, dot-product prefers the least product and best-fit the least rest",
            "the authors' program, dot_product_score.go, best_fit_score.go",
            "artefact",
            is_setting=True,
        ),
    ),
    credits=(
        Credit("fgd", "the measure of fragmentation, and its steepest descent", "abstract"),
        *(
            Credit(name, "scores and ties under `artefact`", "artefact", ("artefact",))
            for name in ALLOCATED
            if name != "random"
        ),
    ),
    named=("ATC 2023",),
)

_OTHER_KEYS: Final = {
    allocated_key(placement, name)
    for name, means in RECORDED.items()
    if name != "default"
    for placement in means
}
OF_DEFAULT_LIST: Final = tuple(claim for claim in PUBLISHED.results if claim.key not in _OTHER_KEYS)
"""The results that are not of another list."""
