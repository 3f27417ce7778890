"""How long a schedule takes to write as a timeline: a million slices, by server and by GPU."""

from __future__ import annotations

import tempfile
from pathlib import Path

import gpusched as gs
from bench.measure import interleave, processor_s, wall_s
from bench.table import Bar, Section

SERVERS = 64
LIMIT_S = 5.0
METHOD = (
    "`Result.to_perfetto` of a run of `fifo-skip` on 64 servers of 8 GPUs, jobs like those of "
    "Philly at load 0.9, a track for each server and for each GPU. Wall time and processor time "
    "of all threads, medians of repetitions (least)."
)


def section(jobs: int, repeats: int) -> Section:
    """Report both kinds of tracks, with the bar for as many slices as there are."""
    cluster = gs.Cluster.uniform(servers=SERVERS, gpus=8)
    trace = gs.generate("philly", jobs, load=0.9, cluster=cluster, seed=1, model=1)
    result = gs.simulate(trace, cluster, policy="fifo-skip")
    masks = result.intervals["mask"]
    num_slices = {"server": len(masks), "gpu": sum(int(mask).bit_count() for mask in masks)}
    columns = ("tracks", "slices", "MB", "s", "processor s", "million slices/s")
    out = Section("Exporting", METHOD, columns)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "timeline.json"
        for tracks, slices in num_slices.items():

            def write(tracks: str = tracks) -> None:
                result.to_perfetto(path, tracks)

            (wall,) = interleave([lambda write=write: wall_s(write)], repeats)
            (processor,) = interleave([lambda write=write: processor_s(write)], repeats)
            out.rows.append(
                (
                    tracks,
                    f"{slices:,}",
                    f"{path.stat().st_size / 1e6:,.0f}",
                    f"{wall.median:.2f} ({wall.least:.2f})",
                    f"{processor.median:.2f} ({processor.least:.2f})",
                    f"{slices / processor.median / 1e6:.1f}",
                )
            )
            what = f"processor time of a million slices, by {tracks}"
            out.bars.append(Bar(what, processor.median * 1e6 / slices, LIMIT_S, "s"))
    return out
