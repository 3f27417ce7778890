"""What Weng et al. (ATC 2023) publish of their filling experiment."""

from __future__ import annotations

from typing import Final

from gpusched.papers.common.published import Claim, Credit, Published

LARGEST_REDUCTION: Final = 0.49
MORE_GPUS: Final = 290
ALLOCATED: Final = {
    "fgd": 0.95391,
    "best-fit": 0.93076,
    "gpu-packing": 0.92002,
    "gpu-clustering": 0.91878,
    "dot-product": 0.90849,
    "random": 0.87470,
}
"""GPUs allocated when 130 % had arrived, over 6,212: the default list, mean over ten seeds of the
results recorded in the authors' repository (hkust-adsl/kubernetes-scheduler-simulator,
experiments/analysis/expected_results/analysis_allo_discrete.csv)."""
NUM_GPUS: Final = 6212
NUM_SEEDS: Final = 10
_OTHER_RULE: Final = (
    "Our dot-product is that of Tetris, the greatest product of what is asked and what is free; "
    "the authors' program takes the least."
)
_UNNAMED: Final = (
    "The abstract does not say which of the baselines; in the recorded results it is dot-product, "
    "which has another rule here."
)


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
                f"allocated-{placement}",
                f"GPUs allocated under {placement} at 130 %, default list",
                "recorded results",
                "artefact",
                value,
                unit="%",
                better="higher",
                runs=NUM_SEEDS,
                lacks=_OTHER_RULE if placement == "dot-product" else "",
            )
            for placement, value in ALLOCATED.items()
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
                lacks=_OTHER_RULE if placement == "dot-product" else "",
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
                lacks=_OTHER_RULE if placement == "dot-product" else "",
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
            "steps",
            "a growth of fragmentation is scored in whole per cent of a logistic function",
            "the authors' program, fgd_score.go",
            "artefact",
            is_setting=True,
        ),
        Claim(
            "dot-product-rule",
            "dot-product prefers the least product",
            "the authors' program, dot_product_score.go",
            "artefact",
            is_setting=True,
        ),
    ),
    credits=(
        Credit("fgd", "the measure of fragmentation, and its steepest descent", "abstract"),
        Credit("gpu-clustering", "a baseline of that name", "artefact"),
    ),
    named=("ATC 2023",),
)
