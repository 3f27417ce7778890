"""ElasticFlow, 2023 (Gu et al., ASPLOS 2023): jobs with a model, a batch size and a deadline.

As published with the traces (``submission_time``, ``deadline``) and with the simulator
(``submit_time``, ``ddl``, perhaps ``best_effort``).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.delimited_text import read_table
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.workload import Trace

PUBLISHED: Final = (
    "job_id", "submission_time", "num_iteration", "model_name", "deadline", "batch_size",
    "num_gpu", "duration",
)  # fmt: skip
SIMULATED: Final = (
    "job_id", "submit_time", "iteration", "model_name", "ddl", "batch_size", "num_gpu", "duration",
)  # fmt: skip
BEST_EFFORT: Final = "best_effort"


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read such a trace; the model becomes the group, and a job of best effort has no deadline."""
    columns = PUBLISHED if PUBLISHED[1] in source.header else SIMULATED
    table = read_table(source, columns)
    screen, text = table.screen(), table.columns
    submit, due = columns[1], columns[4]
    deadlines = parse.numbers(screen, "deadline_s", due, text[due], may_miss=True)
    if BEST_EFFORT in text:
        effort = parse.numbers(screen, BEST_EFFORT, BEST_EFFORT, text[BEST_EFFORT])
        screen.require((effort == 0) | (effort == 1), BEST_EFFORT, "must be 0 or 1")
        deadlines = np.where(effort == 1, np.nan, deadlines)
    attributes = assemble(
        screen,
        {
            "submit_s": parse.numbers(screen, "submit_s", submit, text[submit]),
            "service_s": parse.numbers(screen, "service_s", "duration", text["duration"]),
            "gpus": parse.numbers(screen, "gpus", "num_gpu", text["num_gpu"]),
            "deadline_s": deadlines,
        },
        ids=parse.identifiers(screen, "job_id", text["job_id"]),
        labels={"group": Labels.of(text["model_name"].to_list())},
        on_bad=on_bad,
        name=source.name,
        source=str(source),
        rebase=True,
    )
    return Trace(**attributes)


def _recognises(source: Source) -> bool:
    header = set(source.header)
    return set(PUBLISHED) <= header or set(SIMULATED) <= header


register_trace_format(
    TraceFormat(
        name="elasticflow",
        summary="ElasticFlow, 2023: models and deadlines (CSV).",
        source="Gu et al., ASPLOS 2023.",
        detection="its header",
        recognises=_recognises,
        read=read,
        excerpt=text_file(
            "elasticflow.csv",
            ",".join(PUBLISHED),
            "a,1000,500,bert,5000,64,4,3600",
            "b,1010,200,resnet50,1100,256,1,60",
        ),
    )
)
