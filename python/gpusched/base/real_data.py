"""Locate published traces and measurements, and explain how to obtain missing ones.

They are not part of gpusched: a folder that the user names by an option, or in GPUSCHED_DATA, has
a subfolder for each of :data:`PUBLISHED`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

VARIABLE: Final = "GPUSCHED_DATA"


@dataclass(frozen=True)
class Published:
    """A published data set.

    ``contents``: description of the data.
    ``source``: the publication, and the authors' location of the data.
    ``files``: layout of its folder.
    """

    contents: str
    source: str
    files: str


PUBLISHED: Final = {
    "itp": Published(
        "jobs of Microsoft's ITP clusters, 2021",
        "Gu et al., ElasticFlow, ASPLOS 2023; in the repository of its artifact",
        "clusterNN.csv: job_id,submission_time,duration,num_gpu",
    ),
    "philly": Published(
        "jobs of Microsoft's Philly clusters, 2017",
        "Jeon et al., ATC 2019; Microsoft's philly-traces, here as one CSV",
        "philly.csv: timestamp,duration,num_gpus,gpu_time,cluster",
    ),
    "openb": Published(
        "nodes and pods of Alibaba's GPU-sharing cluster, 2023",
        "Weng et al., FGD, ATC 2023; Alibaba's clusterdata, cluster-trace-gpu-v2023",
        "openb_node_list_all_node.csv and openb_pod_list_*.csv",
    ),
    "gavel": Published(
        "measured throughputs on K80, P100 and V100, and traces",
        "Narayanan et al., Gavel, OSDI 2020; in the repository of Gavel",
        "simulation_throughputs.json, oracle_throughputs.json and traces/*.trace",
    ),
    "pollux": Published(
        "step times of six models on servers of four T4",
        "Qiao et al., Pollux, OSDI 2021; in the repository of its artifact",
        "a folder per application with placements.csv and scalability.csv",
    ),
    "pai": Published(
        "the machines of Alibaba PAI, 2020",
        "Weng et al., NSDI 2022; Alibaba's clusterdata, cluster-trace-gpu-v2020",
        "pai_machine_spec.tar.gz",
    ),
    "lingjun": Published(
        "hosts and switches of Alibaba Lingjun, 2023",
        "Cao et al., Crux, SIGCOMM 2024; Alibaba's alibaba-lingjun-dataset-2023",
        "topo.csv: ip,DSW,PSW,ASW",
    ),
    "swf": Published(
        "the log of RICC, 2010",
        "Parallel Workloads Archive",
        "RICC-2010-first20000.swf.gz",
    ),
}


def data_folder() -> Path | None:
    """Return the folder of real data: that of :func:`data_at`, or ``$GPUSCHED_DATA``."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


@contextmanager
def data_at(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Use this folder of real data, also in new processes; None: no change."""
    if folder is None:
        yield
        return
    if not Path(folder).is_dir():
        raise ValueError(f"data: folder {os.fspath(folder)} not found")
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = os.fspath(Path(folder).resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def find_data(name: str) -> Path | None:
    """Return a file or folder of the real data, such as ``philly/philly.csv``, or None."""
    folder = data_folder()
    path = None if folder is None else folder / name
    return path if path is not None and path.exists() else None


def need_data(name: str, user: str) -> Path:
    """Return a file or folder of the real data.

    Raises ValueError if it is missing; the message has its contents, source and layout, and how to
    name the folder.

    ``name``: as for :func:`find_data`; begins with one of :data:`PUBLISHED`.
    ``user``: what needs it, for the message.
    """
    path = find_data(name)
    if path is not None:
        return path
    about, folder = PUBLISHED[name.partition("/")[0]], data_folder()
    missing = f"needs {name}" if folder is None else f"no {folder / name}"
    raise ValueError(
        f"{user}: {missing}: {about.contents} ({about.source}). Put the files into a folder "
        f"{name.partition('/')[0]}/ ({about.files}), and set --data or {VARIABLE} to its parent "
        "folder"
    )
