"""Rules of what a run says of itself: which names, jobs, cluster, seed and version it was of."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import Final

from gpusched.audit.evidence import Case
from gpusched.specs.fingerprints import fingerprint

_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)(\w*)")
_SEEDS: Final = 2**64
_FACTS: Final = ("name", "source", "num_jobs", "first_submit_us", "sha256")
_facts_of = attrgetter(*_FACTS)


def check(case: Case) -> None:
    """Check the specification against the jobs, the cluster and the names that there are."""
    spec, trace, problems = case.spec, case.trace, case.problems
    problems += [f"no such run: {fault}" for fault in case.flags.faults]
    if not 0 <= spec.seed < _SEEDS:
        problems.append(f"no such run: seed {spec.seed} is not below 2^64")
    if spec.cluster != case.cluster:
        problems.append("another cluster: the specification has other servers than the result")
    first_submit_us = int(trace.submit_us[0])
    truth = (trace.name, trace.source, case.num_jobs, first_submit_us, fingerprint(trace))
    claimed = _facts_of(spec.trace)
    if claimed != truth:
        problems += [
            f"other jobs: {name} is {said!r}, of these jobs {value!r}"
            for name, said, value in zip(_FACTS, claimed, truth, strict=True)
            if said != value
        ]
    _check_version(case)


def _check_version(case: Case) -> None:
    """The version is one that these rules are of, or an earlier one, which is noted."""
    claimed, known = case.spec.version, case.flags.version
    if not known or claimed == known:
        return
    parts, own = _VERSION.fullmatch(claimed), _VERSION.fullmatch(known)
    if parts is None or own is None:
        case.problems.append(f"no such version: {claimed!r}, the rules are those of {known}")
        return
    if [*map(int, parts.groups()[:3])] > [*map(int, own.groups()[:3])]:
        case.problems.append(f"no such version: {claimed} is to come, this is {known}")
    else:
        case.notes.append(f"version {claimed}: the rules are those of {known}")
