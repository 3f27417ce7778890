"""A saved run, open again."""

from __future__ import annotations

import os

from gpusched.base.files import naming
from gpusched.engine.open_run import Simulation
from gpusched.engine.saved_run import check_reached, restored


def resume(
    path: str | os.PathLike[str], *, trust_python: bool = False, max_bytes: int | None = None
) -> Simulation:
    """Return the run that :meth:`Simulation.save` wrote, as far as it had come.

    The run is done again up to there, which takes as long as it had taken, and is compared with
    what was saved: it goes on to the same digest as the run that was saved, or an error says that
    it cannot. No callbacks are called for what is done again.

    Parameters
    ----------
    trust_python
        Whether to load objects of Python that the file holds. *To load them can run any code that
        whoever wrote the file put in*: ask for it only for files whose writer you trust.
    max_bytes
        A longer file is refused before it is read; default: 4 GiB.

    Returns
    -------
    Simulation
        At the time of the one that was saved, with its jobs and its changes.

    Raises
    ------
    ValueError
        If the file is no saved run, was cut short or changed, is of another version of gpusched,
        holds objects of Python that are not trusted or have other code here, or if the run comes to
        something else than what was saved; the message names the file.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> run = gs.Simulation(trace, cluster, policy="srtf")
    >>> run.run_until(3600)
    >>> run.save("monday.run")
    >>> later = gs.resume("monday.run")
    >>> later.run()
    >>> later.result().digest == gs.simulate(trace, cluster, policy="srtf").digest
    True
    """
    header, course = restored(path, trust_python=trust_python, max_bytes=max_bytes)
    with naming(path):
        ready, run, online = course.replayed(header.num_instants)
        check_reached(header, run, online)
    made = Simulation.__new__(Simulation)
    made._stand(course, ready, run, online)
    made._clock_us, made._wall_s = header.clock_us, header.wall_s
    return made
