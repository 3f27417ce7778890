"""The comparison that the tests of the report look at."""

import pytest

import gpusched as gs
from gpusched.reporting.page import asset
from gpusched.reporting.report import render_report
from gpusched.studies.comparison import Comparison, compare


@pytest.fixture(scope="package")
def comparison() -> Comparison:
    """Three policies, one of them clairvoyant, on jobs that have users, some of 9 GPUs and more."""
    cluster = gs.Cluster.uniform(4, 8)
    trace = gs.generate("philly", 3_000, load=1.1, cluster=cluster, seed=3, model=1)
    return compare(trace, cluster, ["fifo", "srtf", "2d-las:preset=lucid"])


@pytest.fixture(scope="package")
def page(comparison: Comparison) -> str:
    """Its report, without the script of the charts."""
    return render_report(comparison, ["the moon is assumed"]).replace(asset("vega.js"), "")


@pytest.fixture(scope="package")
def many(comparison: Comparison) -> Comparison:
    """Twelve policies, each thrice as the same results."""
    labels = list(comparison.results) * 4
    results = {f"{label} {index}": comparison.results[label] for index, label in enumerate(labels)}
    return Comparison(comparison.trace, comparison.cluster, results)
