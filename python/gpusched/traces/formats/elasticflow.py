"""ElasticFlow, 2023 (Gu et al., ASPLOS 2023): jobs with a model, a batch size and a deadline.

As published with the traces (``submission_time``, ``deadline``) and with the simulator
(``submit_time``, ``ddl``, perhaps ``best_effort``).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.intake.text_schema import ReadColumns, TextColumn, TextSchema
from gpusched.traces.workload import Trace

BEST_EFFORT: Final = "best_effort"


def _schema(submit: str, iterations: str, deadline: str) -> TextSchema:
    """The model becomes the group."""
    return TextSchema(
        (
            TextColumn(deadline, "deadline_s", may_miss=True),
            TextColumn(BEST_EFFORT, BEST_EFFORT, "flag", is_part=True, is_required=False),
            TextColumn(submit, "submit_s"),
            TextColumn("duration", "service_s"),
            TextColumn("num_gpu", "gpus"),
            TextColumn("job_id", "id", "id"),
            TextColumn("model_name", "group", "label"),
        ),
        names=(
            "job_id", submit, iterations, "model_name", deadline, "batch_size", "num_gpu",
            "duration",
        ),
    )  # fmt: skip


PUBLISHED: Final = _schema("submission_time", "num_iteration", "deadline")
SIMULATED: Final = _schema("submit_time", "iteration", "ddl")


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read an ElasticFlow trace; best-effort jobs get no deadline."""
    schema = PUBLISHED if "submission_time" in source.header else SIMULATED
    return schema.read(source, on_bad=on_bad, derive=_without_deadline)


def _without_deadline(read: ReadColumns) -> None:
    if BEST_EFFORT in read.values:
        is_effort = read.values[BEST_EFFORT] == 1
        read.numeric["deadline_s"] = np.where(is_effort, np.nan, read.numeric["deadline_s"])


def _recognises(source: Source) -> bool:
    return PUBLISHED.recognises(source) or SIMULATED.recognises(source)


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
            ",".join(PUBLISHED.names),
            "a,1000,500,bert,5000,64,4,3600",
            "b,1010,200,resnet50,1100,256,1,60",
        ),
    )
)
