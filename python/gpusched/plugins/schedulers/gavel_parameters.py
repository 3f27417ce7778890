"""Parameters of policy ``gavel``: their ranges, and what they set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gpusched.plugins.schedulers.gavel_keepers import KEEPERS
from gpusched.plugins.schedulers.gavel_programs import PROGRAMS

PARAMETERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "objective": {
        "choices": [*PROGRAMS, *KEEPERS],
        "help": "max-min: the least share of throughput; water-filling: then the next least, and "
        "so on; ftf: the worst finish-time fairness; makespan; throughput; cost: throughput over "
        "the price of its GPUs; deadlines: the same once deadlines have what they need; isolated: "
        "an equal share of each type; allox: jobs of one GPU, by matching, each keeps its GPU; "
        "fifo: each job one type, by arrival, as long as there is room",
        "flags": {
            "ftf": ("clairvoyant",),
            "makespan": ("clairvoyant",),
            "deadlines": ("clairvoyant", "deadlines"),
            "allox": ("clairvoyant",),
        },
    },
    "round_s": {"minimum": 1.0, "maximum": 1e9, "help": "seconds of a round"},
    "rounds": {
        "choices": ["clock", "artefact"],
        "help": "clock: at multiples of round_s, and idle GPUs are filled in between; artefact: "
        "as in the authors' simulator, one after the other, types in turn, nobody starts within",
    },
    "reset_s": {
        "minimum": 0.0,
        "maximum": 1e9,
        "help": "seconds for which a solution is followed at least, though jobs come and leave "
        "(the authors' simulator: 1920)",
    },
    "counts": {
        "choices": ["service", "iterations"],
        "help": "what throughput and cost sum up: service, 1 per second for each job on its "
        "best type, or iterations, as the authors' simulator does",
    },
    "aware": {
        "help": "false: the program takes all types for equally fast, as the first of the cluster",
    },
    "ties": {
        "choices": ["throughput", "any"],
        "help": "of equally good answers of a program the one with the most throughput, or any "
        "(as in the authors' simulator)",
    },
    "prices": {
        "minimum": 1e-6,
        "maximum": 1e9,
        "help": "of cost and deadlines: the price of a GPU of each type of the cluster, in its "
        "order; the last holds for all further types",
    },
}

PREEMPTION: Final[Mapping[str, str]] = {
    "period": "round_s",
    "reason": "Rounds begin at multiples of their length, as long as rounds=clock; within one what "
    "is idle is given out.",
}
