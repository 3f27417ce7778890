"""Measure the cost of ``import gpusched`` beyond ``import numpy``."""

from __future__ import annotations

import statistics
import subprocess
import sys

from bench.table import Bar, Section

LIMIT_MS = 40.0
METHOD = (
    "Fresh processes: `import numpy`, then `import gpusched`, then the first use of "
    "`gs.simulate`, `gs.Cluster` and `gs.generate`, each timed inside the process. "
    "Median (least), after one process that fills the file cache and writes the byte code."
)
COLUMNS = ("import", "ms")
PROGRAM = """
import time
begin = time.perf_counter()
import numpy
middle = time.perf_counter()
import gpusched
end = time.perf_counter()
gpusched.simulate, gpusched.Cluster, gpusched.generate
used = time.perf_counter()
print(middle - begin, end - middle, used - end)
"""


def section(repeats: int) -> Section:
    """Measure in ``repeats`` processes."""
    out = Section("Import", METHOD, COLUMNS)
    _import()
    found = [_import() for _ in range(repeats)]
    labels = ("numpy", "gpusched after numpy", "what a run needs, on first use")
    for at, label in enumerate(labels):
        samples = [1e3 * sample[at] for sample in found]
        out.rows.append((label, f"{statistics.median(samples):.1f} ({min(samples):.1f})"))
    beyond = statistics.median(1e3 * sample[1] for sample in found)
    out.bars.append(Bar("import gpusched above import numpy", beyond, LIMIT_MS, "ms"))
    return out


def _import() -> tuple[float, ...]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True
    )
    return tuple(map(float, done.stdout.split()))
