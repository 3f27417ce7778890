"""The pinned digests still hold, and every registered name has one."""

from collections import defaultdict

from tests.each import each
from tests.golden import digests
from tests.golden.workload import NUM_GPUS, cluster, trace

PINNED = digests.read()
RUNS = digests.runs()


@each("label", sorted(RUNS))
def test_the_digest_is_the_pinned_one(label):
    now = digests.digest(*RUNS[label])
    assert now == PINNED.get(label, now), (
        f"the schedule of {label} changed; if that is meant, run `python -m tests.golden`, "
        "review the diff and list the change in CHANGELOG"
    )


def test_every_registered_name_has_a_golden_digest():
    missing = sorted(RUNS.keys() - PINNED.keys())
    assert not missing, f"without a golden digest: {missing}; run `python -m tests.golden`"


def test_every_pinned_digest_belongs_to_a_registered_name():
    gone = sorted(PINNED.keys() - RUNS.keys())
    assert not gone, f"pinned, but no longer registered: {gone}; run `python -m tests.golden`"


def test_the_workload_tells_every_two_runs_apart():
    labels = defaultdict(list)
    for label, digest in sorted(PINNED.items()):
        labels[digest].append(label)
    alike = [together for together in labels.values() if len(together) > 1]
    assert sorted(alike) == [  # what is the same by definition
        ["demands consolidated with easy", "demands consolidated-relaxed with easy"],
        ["demands consolidated with fifo", "demands consolidated-relaxed with fifo"],
        ["demands consolidated with srtf", "demands consolidated-relaxed with srtf"],
        ["placement consolidated with fifo", "policy fifo"],
        ["placement consolidated with srtf", "policy srtf"],
        ["policy a-srpt-p", "policy srsf"],  # no restart here is dear enough to tell them apart
        ["policy ada-srsf", "policy swf", "policy wcs-workload"],  # without links and graphs
        ["policy fifo-skip", "policy wcs-subtime", "variant fifo:scan=skip"],
        ["policy qssf", "policy spwf"],
        ["policy sjf", "policy wcs-duration"],
    ]


def test_the_workload_is_the_one_that_was_pinned():
    jobs = trace(is_typed=True)
    assert len(jobs) == 160
    assert jobs.submit_us[-1] == 7_806 * 10**6
    assert jobs.service_us.sum() == 69_749 * 10**6
    assert (jobs.gpus.sum(), jobs.gpus.max()) == (1_657, 60)
    assert cluster().num_gpus == NUM_GPUS


def test_a_change_is_told_by_name():
    old = {"policy a": "1" * 64, "policy b": "2" * 64, "policy c": "3" * 64}
    new = {"policy b": "2" * 64, "policy c": "4" * 64, "policy d": "5" * 64}
    assert digests.differences(old, new) == [
        "- policy a: " + "1" * 12,
        "! policy c: " + "3" * 12 + " -> " + "4" * 12,
        "+ policy d: " + "5" * 12,
    ]
    assert digests.differences(new, new) == []
