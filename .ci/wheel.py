"""Checks a wheel, and the package that was installed from it.

    python .ci/wheel.py WHEEL CHECKOUT

Run it outside of the checkout, in an environment that holds the wheel and its dependencies only.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
import zipfile
from pathlib import Path

import gpusched as gs


def main() -> None:
    wheel, checkout = (Path(argument).resolve() for argument in sys.argv[1:])
    check_contents(wheel, checkout)
    check_versions(checkout)
    assert gs.__file__ is not None
    assert checkout / "python" not in Path(gs.__file__).resolve().parents, gs.__file__
    check_runs()
    print(f"{wheel.name}: contents, version and audits are right")


def check_contents(wheel: Path, checkout: Path) -> None:
    """The wheel holds the package as it stands in the checkout, the extension, and nothing else."""
    members = zipfile.ZipFile(wheel).namelist()  # folders too, where the wheel was repaired
    names = {name for name in members if ".dist-info/" not in name and not name.endswith("/")}
    extension = {name for name in names if re.fullmatch(r"gpusched/_core\.[^/]+\.so", name)}
    assert len(extension) == 1, extension
    package = checkout / "python"
    expected = {
        path.relative_to(package).as_posix()
        for path in package.glob("gpusched/**/*")
        if path.suffix in (".py", ".pyi", ".typed", ".j2", ".html", ".css", ".js")
        or path.parent.name == "excerpts"
    } | {"gpusched/reporting/assets/vega.js"}  # which the build makes
    assert {"gpusched/py.typed", "gpusched/_core.pyi"} <= expected
    assert "gpusched/reporting/assets/page.html.j2" in expected
    assert names - extension == expected, sorted((names - extension) ^ expected)


def check_versions(checkout: Path) -> None:
    """Package, extension, citation and changelog agree."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]
    version = project["version"]
    assert importlib.metadata.version("gpusched-core") == version
    assert gs.__version__ == version, gs.__version__
    assert f"\nversion: {version}\n" in (checkout / "CITATION.cff").read_text()
    changes = re.findall(r"^## (\S+)", (checkout / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert changes[0] == version, changes


def check_runs() -> None:
    """Every policy passes the audit, and a saved result comes back as it was."""
    cluster = gs.Cluster.uniform(servers=8, gpus=8)
    trace = gs.generate("philly", jobs=500, load=0.9, cluster=cluster, seed=1)
    for policy in gs.policies():
        gs.simulate(trace, cluster, policy=policy).audit().raise_if_bad()
    for placement in gs.placements():
        result = gs.simulate(trace, cluster, policy="srtf", placement=placement)
        result.audit().raise_if_bad()
    result.save("result.npz")
    assert gs.load_result("result.npz").digest == result.digest


if __name__ == "__main__":
    main()
