"""A run that is open: stepped, looked at, forked, changed in its course."""

from __future__ import annotations

import copy
import operator
import os
from dataclasses import replace

import numpy as np

from gpusched import _core
from gpusched.base.ticks import US_PER_S
from gpusched.engine.run_course import Change
from gpusched.engine.saved_run import store
from gpusched.engine.seams import Chosen, copied, policy_seam
from gpusched.engine.stepped_run import SteppedRun
from gpusched.plugins.policy import Policy
from gpusched.traces.workload import Trace


class Simulation(SteppedRun):
    """A run that one goes through oneself: :func:`simulate` is this, run to its end.

    A run is a sequence of *instants*: all that happens at one time, and one decision. Between two
    of them it stands still, and can be looked at, forked and changed. However it is brought to its
    end, by steps, in parts or as a fork, its digest is that of :func:`simulate`.

    One thread at a time uses it, and a second one is refused with a ValueError; Python policies and
    callbacks are called in the thread of the call. A method does what it says, or raises and leaves
    the run as it was. Those that bring it further leave it where they came to: Ctrl-C ends a call
    within a second; as that may be amid a decision the run cannot go on then, and :meth:`result`
    still tells what was done. So it is after an error of a policy.

    Parameters
    ----------
    trace, cluster, policy, placement, predictor, speed, contention, seed, verify, max_intervals
        As of :func:`simulate`.

    Attributes
    ----------
    cluster
        The servers.

    Raises
    ------
    ValueError, TypeError
        As :func:`simulate`.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> run = gs.Simulation(trace, cluster, policy="srtf")
    >>> run.run_until(3600)
    >>> run.now, run.state.num_finished < 100
    (3600.0, True)
    >>> run.fork().run()
    >>> run.run()
    >>> run.result().digest == gs.simulate(trace, cluster, policy="srtf").digest
    True
    """

    def fork(self) -> Simulation:
        """Return a run that has come as far, and goes on by itself: what the one does, the other
        does not see.

        Trace and cluster are shared, all else is copied; Python policies and placements by
        :func:`copy.deepcopy`. Callbacks stay with this run.

        Returns
        -------
        Simulation
            Another run, at the same time.

        Raises
        ------
        ValueError
            If the predictor learns in the course of the run, as it writes what it predicts into
            columns that both would read; or as :meth:`step`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(1)
        >>> other = run.fork()
        >>> other.run()
        >>> run.now, other.now
        (1.0, 69.0)
        """
        self._check_replayed("it cannot be forked; take one that was trained before")
        with self._call(looks=True):
            made = copy.copy(self)
            made._belong_to_nobody()
            made._ready = ready = self._ready.with_seams(
                copied(self._ready.policy), copied(self._ready.placement)
            )
            made._run = self._run.fork(ready.jobs, ready.servers, ready.description())
        return made

    def submit(self, jobs: Trace) -> None:
        """Submit more jobs, at the times that they state on the clock of the run.

        They come into :attr:`trace` at their places by submit time, behind jobs of the same time;
        rows of jobs that have arrived stay what they are, later ones move. The run goes on as if
        they had been there from the beginning. That is made so by doing the run again up to now
        when it next goes on: it takes as long as the run has, once for all jobs submitted in
        between. Callbacks hear nothing of it, and Python policies and placements are copies, by
        :func:`copy.deepcopy`, as they were when they were given.

        Returns
        -------
        None
            The run stands where it stood, with more to come.

        Raises
        ------
        ValueError
            If a job is submitted at an instant that is over, an id is taken, the trace has profiles
            or graphs, the predictor learns in the course of the run, or the policy decided
            otherwise if it had known of the jobs (it looks ahead).
        TypeError
            If ``jobs`` is no :class:`Trace`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.submit(gs.Trace.from_columns([7], [1], [1], id=[9]))
        >>> len(run.trace)
        4
        """
        if not isinstance(jobs, Trace):
            raise TypeError(f"jobs: expected a Trace, not {jobs!r}")
        self._check_replayed("jobs cannot be submitted")
        with self._call():
            self._submit(jobs)

    def _submit(self, jobs: Trace) -> None:
        first_us = self._next_tick()
        early = np.flatnonzero(jobs.submit_us < first_us)
        if len(early):
            raise ValueError(
                f"jobs: row {early[0]} is submitted at {jobs.submit_us[early[0]] / US_PER_S:g} s, "
                f"and the run is at {self.now:g} s"
            )
        course = replace(self._course, first=self._course.first.joined(jobs))
        ready, run, _ = course.replayed(self._run.num_instants)
        if run.glimpse().digest != self._run.glimpse().digest:
            raise ValueError(
                f"policy: {self._ready.spec.policy} looks ahead: it would have "
                "decided otherwise had it known of the jobs"
            )
        run.listen(bool(self._listeners))
        self._course, self._ready, self._run = course, ready, run

    def cancel(self, job: int) -> None:
        """Take back a job: if it waits it never starts, if it runs it ends now and frees its GPUs.

        The policy decides anew at the first instant that is not over: now, or a microsecond after
        the instant that was just handled. The job counts as unfinished.

        Returns
        -------
        None
            The run stands where it stood; the next step knows of it.

        Raises
        ------
        ValueError
            If the job neither waits nor runs, or it waits and the policy is a scheduler written in
            Python that has no ``withdraw`` or refuses.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(1)
        >>> run.cancel(0)
        >>> run.run()
        >>> run.result().jobs.finish_s.tolist()
        [nan, 10.0, 14.0]
        """
        with self._call():
            self._change(job=operator.index(job))

    def set(self, *, policy: str | Policy | _core.Order | _core.Scheduler) -> None:
        """Have another policy decide from the first instant that is not over.

        It knows nothing of what was before: every job that runs is preempted then, and all jobs
        that wait arrive anew; it may start them at once. A job that starts again pays its restart
        cost. Jobs that the new policy can never start are rejected then. What the policy before
        remembered (queues, promises, its own clock) is lost, with its warnings.

        Returns
        -------
        None
            The run stands where it stood; the next step has the new policy.

        Raises
        ------
        ValueError, TypeError
            As of :func:`simulate`, and where the one policy reads the trace's estimates and the
            other does not. What a scheduler written in Python raises as it begins the next step
            raises, which ends the run.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(1)
        >>> run.set(policy="sjf")
        >>> run.run()
        >>> run.result().jobs.finish_s.tolist()
        [73.0, 10.0, 14.0]
        """
        chosen = policy_seam(policy)
        has_estimates = self.trace.estimate_us is not None
        with self._call():
            if has_estimates and chosen.has("estimate") != self._ready.policy.has("estimate"):
                raise ValueError(
                    f"policy: {chosen.label} and {self._ready.policy.label} do not both read "
                    "estimates; change between policies that do, or that do not"
                )
            self._change(policy=chosen)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a file, with which :func:`resume` goes on, in another process as well.

        The file holds how the run began (jobs, cluster, all that was chosen), what was done to it
        since, and a digest of what it has come to; not callbacks. A policy, a placement or a
        predictor that was given as an object of Python is pickled as it was then; its class must
        be importable where the run is resumed. What was given by name is found by its name there.
        The file tells users, groups and run times to anyone who reads it.

        Parameters
        ----------
        path
            Replaced only once the new file is complete.

        Returns
        -------
        None
            The run stands where it stood, and can go on.

        Raises
        ------
        TypeError
            If an object of Python cannot be copied or pickled; the message names it.
        OSError
            If the file cannot be written.
        ValueError
            As :meth:`step`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(1)
        >>> run.save("run.saved")
        >>> gs.resume("run.saved").now
        1.0
        """
        with self._call(looks=True):
            store(path, self._course, self._run, self._online, self._clock_us, self._wall_s)

    def _change(self, *, job: int | None = None, policy: Chosen | None = None) -> None:
        change = Change(self._run.num_instants, self._next_tick(), job, policy)
        course = replace(self._course, changes=(*self._course.changes, change.untouched()))
        self._ready = change.apply(self._run, self._ready)
        self._course = course

    def _next_tick(self) -> int:
        """The first tick that is not over."""
        has_begun = self._run.num_instants > 0
        return self._clock_us + (has_begun and self._clock_us == self._run.now_us)
