"""The servers of a cluster as columns of an audit, made once for all its runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import AnyArray, Bool, Int64, freeze_columns

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster

# As arrays, which are several times as quick to add as numbers.
_ONE, _ONE_GPU = np.array(1), np.array(1, np.uint64)

UInt64 = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Servers:
    """Read-only columns with a value per server.

    Attributes
    ----------
    gpus
        GPUs of each.
    type
        Index of each one's GPU type among the cluster's.
    all_gpus
        The mask of all GPUs of each, with a 0 before the first server and behind the last one.
    """

    gpus: Int64
    type: Int64
    all_gpus: UInt64

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, cluster: Cluster) -> Servers:
        """Read them from the description of the cluster."""
        gpus = cluster.server_gpus.astype(np.int64)
        masks = [0, *((1 << size) - 1 for size in gpus.tolist()), 0]
        return cls(gpus, cluster.server_type.astype(np.int64), np.array(masks, np.uint64))

    def lack(self, server: Int64, mask: AnyArray) -> Bool:
        """Return whether each mask is not one of GPUs, at least one, of a server that there is."""
        all_gpus = self.all_gpus.take(server + _ONE, mode="clip")
        # The GPUs of a server are the lowest bits, and one less than 0 is more than any mask.
        lack: Bool = mask - _ONE_GPU >= all_gpus
        return lack
