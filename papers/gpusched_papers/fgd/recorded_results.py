"""GPUs allocated when 130 % had arrived, as recorded in the authors' repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NAMES: Final = ("fgd", "best-fit", "gpu-packing", "gpu-clustering", "dot-product", "random")

_MEANS: Final = {
    "default": (0.95391, 0.93076, 0.92002, 0.91878, 0.90849, 0.87470),
    "cpu050": (0.95206, 0.93794, 0.93717, 0.93787, 0.93267, 0.91243),
    "cpu100": (0.95354, 0.93443, 0.92715, 0.92643, 0.91955, 0.89113),
    "cpu200": (0.95045, 0.92400, 0.90225, 0.89921, 0.87704, 0.83770),
    "cpu250": (0.93411, 0.91446, 0.88280, 0.87990, 0.83805, 0.80415),
    "gpushare40": (0.94148, 0.91689, 0.90030, 0.90015, 0.89559, 0.86002),
    "gpushare60": (0.91401, 0.89359, 0.87447, 0.87203, 0.87115, 0.83653),
    "gpushare80": (0.89305, 0.87007, 0.84998, 0.84848, 0.84486, 0.81223),
    "gpushare100": (0.86901, 0.85006, 0.82568, 0.82647, 0.82417, 0.79443),
    "gpuspec10": (0.94949, 0.93305, 0.92459, 0.92177, 0.90390, 0.87428),
    "gpuspec20": (0.94837, 0.93297, 0.92936, 0.92245, 0.89967, 0.87240),
    "gpuspec25": (0.94741, 0.93231, 0.92983, 0.92080, 0.89634, 0.86936),
    "gpuspec33": (0.94547, 0.93093, 0.93220, 0.92117, 0.89144, 0.86456),
    "multigpu20": (0.95651, 0.93933, 0.93710, 0.93557, 0.92062, 0.88691),
    "multigpu30": (0.96456, 0.94719, 0.94873, 0.94722, 0.93281, 0.89266),
    "multigpu40": (0.96990, 0.95235, 0.95741, 0.95504, 0.94194, 0.90091),
    "multigpu50": (0.97178, 0.95738, 0.96182, 0.95811, 0.94850, 0.90275),
}

RECORDED: Final[Mapping[str, Mapping[str, float]]] = {
    name: dict(zip(_NAMES, means, strict=True)) for name, means in _MEANS.items()
}
"""By list of pods and placement, over 6,212 GPUs: means over ten seeds, column 130 of
experiments/analysis/expected_results/analysis_allo_discrete.csv in the repository
hkust-adsl/kubernetes-scheduler-simulator."""
