"""
The native core of gpusched.
"""
from __future__ import annotations
import collections.abc
import inspect
import numpy
import numpy.typing
import typing
_testing: typing.Any
__all__: list[str] = ['Actions', 'Allocation', 'Assignment', 'Cluster', 'DeadlinePlans', 'ExactMatching', 'FreeGpus', 'GangPlan', 'InvariantError', 'JOB_COLUMNS', 'JobColumn', 'JobTable', 'LeaseLine', 'LogLimitError', 'MatchingDecision', 'MatchingMarket', 'MatchingProblem', 'Order', 'Part', 'Placement', 'REJECT_REASONS', 'Request', 'Run', 'RunControl', 'RunDescription', 'RunMeasures', 'Schedule', 'Scheduler', 'Snapshot', 'State', 'Stopped', 'Transportation', 'VectorEnvironment', 'assign', 'auction', 'busy_times', 'can_place', 'cluster_series', 'decided', 'exact_matching', 'fill', 'flags', 'group_times', 'iteration_limits', 'least_costs', 'least_run_bytes', 'list_parameters', 'list_preemption', 'longest_job', 'mean_busy_time', 'plan_deadlines', 'plan_gangs', 'priced_times', 'registry', 'run_measures', 'schedule_measures', 'snapshot_of', 'split_batch', 'split_whole_batch', 'squashed_srpt', 'time_order', 'total_work', 'until_start', 'wide_gangs']
class InvariantError(RuntimeError):
    """
    A policy or a placement requested something impossible, or the engine violated an
    invariant. The message names the time, the job and the digest of the schedule so far.
    """
class Stopped(RuntimeError):
    """
    The run was stopped through its RunControl.
    """
class LogLimitError(ValueError):
    """
    The log of a run has more than max_intervals intervals. The message names the time, the
    job of the last one and the limit. If :func:`gpusched.simulate` raises it, the attribute
    ``result`` is the :class:`gpusched.Result` up to then, with running jobs unfinished.
    """
class Cluster:
    """
    GPUs and GPU type of each server, and the network between them.
    """
    def __init__(self, server_gpus: numpy.typing.NDArray[numpy.int32], server_type: numpy.typing.NDArray[numpy.int32], *, nic_bytes_per_s: numpy.typing.NDArray[numpy.float64] | None = None, intra_bytes_per_s: numpy.typing.NDArray[numpy.float64] | None = None, server_domain: numpy.typing.NDArray[numpy.int32] | None = None, domain_parent: numpy.typing.NDArray[numpy.int32] | None = None, uplink_bytes_per_s: numpy.typing.NDArray[numpy.float64] | None = None, cpu_milli: numpy.typing.NDArray[numpy.int64] | None = None, memory_mib: numpy.typing.NDArray[numpy.int64] | None = None, part_of: numpy.typing.NDArray[numpy.int32] | None = None) -> None:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
    @property
    def num_gpus(self) -> int:
        ...
    @property
    def num_servers(self) -> int:
        ...
class JobTable:
    """
    Jobs as borrowed columns, sorted by submit. `public_columns` has the attributes visible to
    Python plug-ins.
    """
    def __init__(self, submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], *, predicted_us: numpy.typing.NDArray[numpy.int64] | None = None, estimate_us: numpy.typing.NDArray[numpy.int64] | None = None, checkpoint_us: numpy.typing.NDArray[numpy.int64] | None = None, restart_us: numpy.typing.NDArray[numpy.int64] | None = None, weight: numpy.typing.NDArray[numpy.float64] | None = None, type_set: numpy.typing.NDArray[numpy.int32] | None = None, type_masks: numpy.typing.NDArray[numpy.uint64] | None = None, profile: numpy.typing.NDArray[numpy.int32] | None = None, gradient_bytes: numpy.typing.NDArray[numpy.float64] | None = None, compute_s: numpy.typing.NDArray[numpy.float64] | None = None, graph: numpy.typing.NDArray[numpy.int32] | None = None, graph_begin: numpy.typing.NDArray[numpy.int32] | None = None, replicas: numpy.typing.NDArray[numpy.int32] | None = None, stage_compute_s: numpy.typing.NDArray[numpy.float64] | None = None, activation_bytes: numpy.typing.NDArray[numpy.float64] | None = None, parameter_bytes: numpy.typing.NDArray[numpy.float64] | None = None, deadline_us: numpy.typing.NDArray[numpy.int64] | None = None, value: numpy.typing.NDArray[numpy.float64] | None = None, min_gpus: numpy.typing.NDArray[numpy.int32] | None = None, max_gpus: numpy.typing.NDArray[numpy.int32] | None = None, demand: numpy.typing.NDArray[numpy.int32] | None = None, demand_share_milli: numpy.typing.NDArray[numpy.int32] | None = None, demand_cpu_milli: numpy.typing.NDArray[numpy.int64] | None = None, demand_memory_mib: numpy.typing.NDArray[numpy.int64] | None = None, table_counts: numpy.typing.NDArray[numpy.int32] | None = None, throughput: numpy.typing.NDArray[numpy.float64] | None = None, spread_throughput: numpy.typing.NDArray[numpy.float64] | None = None, samples_per_s: numpy.typing.NDArray[numpy.float64] | None = None, max_samples: numpy.typing.NDArray[numpy.int64] | None = None, global_batch: numpy.typing.NDArray[numpy.int64] | None = None, gpus_per_node: numpy.typing.NDArray[numpy.int32] | None = None, time_limit_us: numpy.typing.NDArray[numpy.int64] | None = None, checkpoint_every_us: numpy.typing.NDArray[numpy.int64] | None = None, checkpoint_write_us: numpy.typing.NDArray[numpy.int64] | None = None, max_requeues: numpy.typing.NDArray[numpy.int32] | None = None, eligible_us: numpy.typing.NDArray[numpy.int64] | None = None, cancel_at_us: numpy.typing.NDArray[numpy.int64] | None = None, exit_failed: numpy.typing.NDArray[numpy.int32] | None = None, dependency_begin: numpy.typing.NDArray[numpy.int64] | None = None, dependency_target: numpy.typing.NDArray[numpy.int64] | None = None, dependency_kind: numpy.typing.NDArray[numpy.int32] | None = None, dependency_delay_us: numpy.typing.NDArray[numpy.int64] | None = None, dependency_any: numpy.typing.NDArray[numpy.int32] | None = None, array: numpy.typing.NDArray[numpy.int32] | None = None, array_limit: numpy.typing.NDArray[numpy.int32] | None = None, precedence: numpy.typing.NDArray[numpy.int32] | None = None, stated_us: numpy.typing.NDArray[numpy.int64] | None = None, requeue_back: numpy.typing.NDArray[numpy.int32] | None = None, public_columns: typing.Any = None) -> None:
        ...
    def __len__(self) -> int:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
class JobColumn:
    """
    A column of the job table; an item of JOB_COLUMNS.
    """
    def __reduce__(self) -> typing.NoReturn:
        ...
    def __repr__(self) -> str:
        ...
    @property
    def dtype(self) -> str:
        """
        NumPy dtype; no other is accepted.
        """
    @property
    def is_required(self) -> bool:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def per(self) -> str:
        """
        Dimensions of the column, row-major (last varies fastest).
        """
    @property
    def rule(self) -> str:
        """
        Allowed values.
        """
    @property
    def text(self) -> str:
        """
        Meaning of the column.
        """
    @property
    def unit(self) -> str:
        ...
class Allocation:
    """
    GPUs of a job: (server, mask) pairs, none in a pool.
    """
    def __init__(self, gpus: typing.SupportsInt | typing.SupportsIndex, pieces: collections.abc.Sequence[tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]] = [], ranks: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = []) -> None:
        ...
    def __reduce__(self) -> tuple[type, tuple[int, list[tuple[int, int]], list[int]]]:
        ...
    @property
    def gpus(self) -> int:
        ...
    @property
    def pieces(self) -> list[tuple[int, int]]:
        ...
    @property
    def ranks(self) -> list[int]:
        """
        The worker of each GPU; empty if they are in order.
        """
class Part:
    """
    GPUs of one type of the cluster.
    """
    @typing.overload
    def __init__(self, type: typing.SupportsInt | typing.SupportsIndex, gpus: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @typing.overload
    def __init__(self, arg0: tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]) -> None:
        ...
    def __reduce__(self) -> tuple[type, tuple[int, int]]:
        ...
    @property
    def gpus(self) -> int:
        ...
    @property
    def type(self) -> int:
        ...
class Request:
    """
    A job that requests GPUs.
    """
    def __init__(self, job: typing.SupportsInt | typing.SupportsIndex, gpus: typing.SupportsInt | typing.SupportsIndex, types: typing.SupportsInt | typing.SupportsIndex = 18446744073709551615, preemptions: typing.SupportsInt | typing.SupportsIndex = 0, gpus_per_node: typing.SupportsInt | typing.SupportsIndex = 0) -> None:
        ...
    def __reduce__(self) -> tuple[type, tuple[int, int, int, int, int]]:
        ...
    @property
    def gpus(self) -> int:
        ...
    @property
    def gpus_per_node(self) -> int:
        """
        GPUs on each of its servers; 0: any.
        """
    @property
    def job(self) -> int:
        ...
    @property
    def preemptions(self) -> int:
        ...
    @property
    def types(self) -> int:
        """
        One bit per allowed GPU type.
        """
class State:
    """
    The part of a run that a scheduler or an order may see.
    """
    def __reduce__(self) -> typing.NoReturn:
        ...
    def attained_us(self, jobs: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> numpy.typing.NDArray[numpy.int64]:
        """
        Return the service received so far, in microseconds.
        """
    def ideal_s(self, jobs: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> numpy.typing.NDArray[numpy.float64]:
        """
        Seconds of an iteration of each job at its own width on the best type; 0 if the speed
        has no iterations.
        """
    def parts_of(self, job: typing.SupportsInt | typing.SupportsIndex) -> list[tuple[int, int]]:
        """
        Return the GPUs of a running job: (type, GPUs), by type; empty if it waits.
        """
    def place(self, job: typing.SupportsInt | typing.SupportsIndex) -> Allocation | None:
        """
        Return the run's placement of this job on the free GPUs, or None.
        """
    def rates(self, jobs: typing.Annotated[numpy.typing.ArrayLike, numpy.int64], type: typing.SupportsInt | typing.SupportsIndex, gpus: typing.SupportsInt | typing.SupportsIndex) -> numpy.typing.NDArray[numpy.float64]:
        """
        Return the progress rate of each job on this many GPUs of one type: 1 at its own width
        on the best type, 0 if it cannot run so.
        """
    def remaining_us(self, jobs: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> numpy.typing.NDArray[numpy.int64]:
        """
        Return the predicted remaining service in microseconds, at least 1.
        """
    def restart_us(self, jobs: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> numpy.typing.NDArray[numpy.int64]:
        """
        Return the checkpoint and restart cost of one resume, in microseconds.
        """
    @property
    def account(self) -> typing.Any:
        """
        Account of each job of the trace: codes and names.
        """
    @property
    def deadline_us(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Deadline of every job of the trace, in microseconds; -1 if it has none.
        """
    @property
    def estimate_us(self) -> typing.Any:
        """
        User's run-time estimate of each job in microseconds; -1 if it has none.
        """
    @property
    def gpus(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        Width of every job of the trace.
        """
    @property
    def group(self) -> typing.Any:
        """
        Group of each job of the trace, for runs of the same work: codes and names.
        """
    @property
    def id(self) -> typing.Any:
        """
        Name of each job in its source.
        """
    @property
    def is_elastic(self) -> bool:
        ...
    @property
    def max_gpus(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        Maximum width of every job of the trace, at most the cluster.
        """
    @property
    def min_gpus(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        Minimum width of every job of the trace; its own if the speed is not elastic.
        """
    @property
    def now_us(self) -> int:
        ...
    @property
    def num_free(self) -> int:
        ...
    @property
    def num_gpus(self) -> int:
        ...
    @property
    def num_types(self) -> int:
        ...
    @property
    def predicted_us(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Predicted service of every job of the trace, in microseconds.
        """
    @property
    def priority(self) -> typing.Any:
        """
        Priority of each job of the trace; 0 if it has none.
        """
    @property
    def queue(self) -> typing.Any:
        """
        Queue of each job of the trace: codes and names.
        """
    @property
    def running(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Running jobs, by id (schedulers only).
        """
    @property
    def seed(self) -> int:
        ...
    @property
    def submit_us(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Submit of every job of the trace, in microseconds; index it with job ids.
        """
    @property
    def type_gpus(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        GPUs of each type of the cluster.
        """
    @property
    def user(self) -> typing.Any:
        """
        User of each job of the trace: codes and names.
        """
    @property
    def value(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Value of meeting the deadline of every job of the trace.
        """
    @property
    def waiting(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Waiting jobs, by id (schedulers only).
        """
    @property
    def weight(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Weight of every job of the trace.
        """
class Order:
    """
    A queue order. Subclass it: set `lifetime` to 'fixed', 'service' or 'clock' and write
    `rank(view, jobs)`, which returns one key per job; the smallest goes first.
    """
    __signature__: typing.ClassVar[inspect.Signature]
    lifetime: typing.ClassVar[str] = 'fixed'
    def __init__(self) -> None:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
class FreeGpus:
    """
    The free GPUs of a run.
    """
    def __reduce__(self) -> typing.NoReturn:
        ...
    def lowest_free(self, server: typing.SupportsInt | typing.SupportsIndex, count: typing.SupportsInt | typing.SupportsIndex) -> int:
        """
        Mask of the lowest free GPUs of a server.
        """
    @property
    def free_gpus(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        Free GPUs of each server.
        """
    @property
    def server_gpus(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        GPUs of each server.
        """
    @property
    def server_type(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        GPU type of each server, as a bit position of `Request.types`.
        """
class Placement:
    """
    A placement of jobs on GPUs. Subclass it and write `place(free, request)`, which returns
    [(server, mask), ...] in server order for the whole job, or None if the job must wait.
    """
    __signature__: typing.ClassVar[inspect.Signature]
    def __init__(self) -> None:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def begin(self, seed: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Prepare for a run with its seed; does nothing unless overridden.
        """
class Actions:
    """
    The actions of a scheduler; every call is checked.
    """
    def __reduce__(self) -> typing.NoReturn:
        ...
    def preempt(self, job: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Preempt a running job: it releases its GPUs and waits.
        """
    def reallocate(self, targets: collections.abc.Iterable[tuple[typing.SupportsInt | typing.SupportsIndex, collections.abc.Sequence[Part]]], *, keep_others: bool = False) -> list[int]:
        """
        Set targets: (job, parts), each part GPUs of one type, by type. Running jobs without a
        target are preempted, or keep their GPUs with `keep_others`; changed ones get new GPUs
        from the run's placement; others may move to make room. Returns the jobs that did not
        fit.
        """
    def resize(self, job: typing.SupportsInt | typing.SupportsIndex, allocation: Allocation) -> None:
        """
        Continue a running job on other GPUs; a width other than its own needs an elastic
        speed.
        """
    def restore(self, job: typing.SupportsInt | typing.SupportsIndex) -> bool:
        """
        Undo suspend if the job's GPUs are still free.
        """
    def start(self, job: typing.SupportsInt | typing.SupportsIndex, allocation: Allocation) -> None:
        """
        A waiting job starts or resumes.
        """
    def suspend(self, job: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Like preempt, but restore can undo it within this decision.
        """
    def wake(self, at_us: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Request a decision at this instant.
        """
class Scheduler:
    """
    A policy that starts, preempts and resizes jobs. Subclass it and write `decide(state,
    finished, arrived, actions)`; `begin(state)` is called before a run, `withdraw(job)` when
    a waiting job is cancelled, and `warnings()`, a list of str for the result, after the run.
    """
    __signature__: typing.ClassVar[inspect.Signature]
    def __init__(self) -> None:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
class Schedule:
    """
    The outcome of a run; arrays are copies with one value per job.
    """
    def __reduce__(self) -> typing.NoReturn:
        ...
    def decisions(self) -> dict[str, typing.Any]:
        """
        Admission decisions of the policy, one per job, as columns. `type` is the scarcest
        GPU type between from_us and until_us, or -1.
        """
    def intervals(self) -> dict[str, numpy.ndarray]:
        """
        Read-only rows (job, start_us, end_us, server, mask), sorted by job, start, server.
        """
    @property
    def counters(self) -> dict[str, int]:
        ...
    @property
    def digest(self) -> str:
        ...
    @property
    def eligible_us(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def failures(self) -> numpy.typing.NDArray[numpy.int32]:
        ...
    @property
    def finish_us(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def held_us(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def lost_us(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def num_jobs(self) -> int:
        ...
    @property
    def num_servers(self) -> numpy.typing.NDArray[numpy.int32]:
        ...
    @property
    def paid_us(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def preemptions(self) -> numpy.typing.NDArray[numpy.int32]:
        ...
    @property
    def reason(self) -> numpy.typing.NDArray[numpy.uint8]:
        ...
    @property
    def resizes(self) -> numpy.typing.NDArray[numpy.int32]:
        ...
    @property
    def start_us(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def status(self) -> numpy.typing.NDArray[numpy.uint8]:
        ...
    @property
    def uncontended_us(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Time that the job would have run without contention; empty under `fixed`.
        """
    @property
    def warnings(self) -> list[str]:
        ...
    @property
    def written_us(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
class RunMeasures:
    """
    Sums over the finished jobs unless stated otherwise; integers are exact. A job's width
    counts a share of a GPU as that share, in thousandths.
    """
    def __reduce__(self) -> typing.NoReturn:
        ...
    def bounded_slowdown_percentile(self, percent: typing.SupportsInt | typing.SupportsIndex) -> float:
        """
        Like the other percentiles.
        """
    def flow_percentile_us(self, percent: typing.SupportsInt | typing.SupportsIndex) -> int:
        """
        Nearest-rank percentile (50, 90, 95, 99 or 100) of the JCT; 0 if none finished.
        """
    def wait_percentile_us(self, percent: typing.SupportsInt | typing.SupportsIndex) -> int:
        """
        The same for the time without GPUs.
        """
    @property
    def accepted_gpu_milli_us(self) -> int:
        """
        Width x service of all jobs that were not rejected.
        """
    @property
    def area(self) -> float:
        """
        GPUs x service, seconds.
        """
    @property
    def area_jct(self) -> float:
        """
        GPUs x service x JCT, seconds squared.
        """
    @property
    def bounded_slowdown(self) -> float:
        ...
    @property
    def delay_us(self) -> int:
        """
        First start - submit.
        """
    @property
    def first_submit_us(self) -> int:
        """
        First submit.
        """
    @property
    def flow_us(self) -> int:
        """
        Finish - submit.
        """
    @property
    def held_gpu_milli_us(self) -> int:
        """
        Width x time with GPUs, of all jobs.
        """
    @property
    def last_finish_us(self) -> int:
        """
        Last finish.
        """
    @property
    def log_jct(self) -> float:
        """
        ln of the JCT in seconds.
        """
    @property
    def num_cancelled(self) -> int:
        ...
    @property
    def num_finished(self) -> int:
        ...
    @property
    def num_preemptions(self) -> int:
        """
        Of all jobs.
        """
    @property
    def num_rejected(self) -> int:
        ...
    @property
    def num_resizes(self) -> int:
        """
        Of all jobs.
        """
    @property
    def num_servers(self) -> int:
        ...
    @property
    def num_tenants(self) -> int:
        """
        Tenants with a finished job.
        """
    @property
    def num_unfinished(self) -> int:
        ...
    @property
    def since_first_us(self) -> int:
        """
        Submit - first submit.
        """
    @property
    def tenant_fairness(self) -> float:
        """
        Jain's index of the tenants' mean bounded slowdowns; 0 without tenants.
        """
    @property
    def useful_gpu_milli_us(self) -> int:
        """
        Width x service.
        """
    @property
    def wait_us(self) -> int:
        """
        Time without GPUs.
        """
    @property
    def weight(self) -> float:
        ...
    @property
    def weighted_jct(self) -> float:
        """
        Weight x JCT, seconds.
        """
class Snapshot:
    """
    A run's initial state with running and waiting jobs; a row per job of the table, and in
    `held_...` per running job and server. Jobs submitted by now_us have arrived. The first
    decision is at first_us (None: at now_us); is_anew: by a policy that has decided nothing.
    """
    def __init__(self, now_us: typing.SupportsInt | typing.SupportsIndex, *, first_us: typing.SupportsInt | typing.SupportsIndex | None = None, is_anew: bool = False, attained_us: numpy.typing.NDArray[numpy.int64], start_us: numpy.typing.NDArray[numpy.int64], cost_us: numpy.typing.NDArray[numpy.int64], preemptions: numpy.typing.NDArray[numpy.int32], added_us: numpy.typing.NDArray[numpy.int64], held_job: numpy.typing.NDArray[numpy.int64], held_server: numpy.typing.NDArray[numpy.int64], held_mask: numpy.typing.NDArray[numpy.uint64]) -> None:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
class RunControl:
    """
    Stops a run from another thread and shows its progress.
    """
    def __init__(self) -> None:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
    def check(self) -> None:
        """
        Raise Stopped if a stop was requested.
        """
    def stop(self) -> None:
        ...
    def watch(self, look: typing.Any) -> None:
        """
        Make the thread of the run handle signals and call `look`, unless it is None, about
        ten times a second; other threads then cannot stop the run. An exception from these
        ends the run. Call before the run.
        """
    @property
    def num_finished(self) -> int:
        ...
class RunDescription:
    """
    The configuration of a run besides its jobs and cluster. A policy is a registered name, an
    Order or a Scheduler; a placement a registered name or a Placement. `policy_flags` say how
    an Order is run, `policy_label` what messages call the policy. `verify` recomputes and
    compares every rate after each instant. Outages are columns: the server, when it goes down
    and comes back (-1: never), and 0 if it fails, 1 if it is drained or 2 if it is maintained;
    then perhaps from when policies know of it.
    `kill_invalid_depend`: a job whose dependencies can never be met is
    cancelled. A run with more than `max_intervals` intervals in its log ends with
    a LogLimitError.
    """
    def __init__(self, *, policy: str | Order | Scheduler, policy_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]] = {}, policy_flags: collections.abc.Sequence[str] = [], policy_label: str = '', placement: str | Placement, placement_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]] = {}, speed: str = 'fixed', speed_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]] = {}, contention: str = 'none', contention_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]] = {}, seed: typing.SupportsInt | typing.SupportsIndex = 0, verify: bool = False, max_intervals: typing.SupportsInt | typing.SupportsIndex = 18446744073709551615, outage_server: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], outage_start_us: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], outage_end_us: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], outage_kind: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], kill_invalid_depend: bool = False, outage_known_us: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = []) -> None:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
class Run:
    """
    A replay of the jobs on the cluster that can be halted between arrivals. The
    GIL is released unless the description holds an object of Python.
    """
    def __init__(self, jobs: JobTable, cluster: Cluster, description: RunDescription, control: RunControl | None = None, snapshot: Snapshot | None = None) -> None:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
    def advance(self, num_jobs: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Handle all instants before the arrival of this job, which must not arrive together
        with the one before it.
        """
    def ask(self, at_us: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Request a decision at at_us, likewise, without any event.
        """
    def cancel(self, job: typing.SupportsInt | typing.SupportsIndex, at_us: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Cancel a waiting or running job; at_us is after the last instant, with none between.
        """
    def finish(self) -> Schedule:
        """
        Run to the end and return the schedule; only once.
        """
    def fork(self, jobs: JobTable, cluster: Cluster, description: RunDescription) -> Run:
        """
        Return an independent copy of the run at this point. Jobs, cluster and description
        must be those of this run, except Python objects, which are copies.
        """
    def glimpse(self) -> Schedule:
        """
        Return the schedule so far of a run that goes on; held GPUs count until now.
        """
    def hand_over(self, description: RunDescription, at_us: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Switch to the policy of the description from at_us on, likewise.
        """
    def hold(self, job: typing.SupportsInt | typing.SupportsIndex, at_us: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Take a waiting job out of the queue, likewise.
        """
    def listen(self, is_listening: bool) -> None:
        """
        Set whether events are recorded for `take_events` from now on.
        """
    def proceed(self, limit_us: typing.SupportsInt | typing.SupportsIndex, most: typing.SupportsInt | typing.SupportsIndex, keeps_finished: bool = False) -> int:
        """
        Handle at most this many instants before the limit; return how many there were.
        """
    def release(self, job: typing.SupportsInt | typing.SupportsIndex, at_us: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Put a job back that `hold` took out, likewise.
        """
    def so_far(self, why: str) -> Schedule:
        """
        Return the schedule until a stop or an error, with why as its warning; only once.
        Jobs that held GPUs then held them until then, and are unfinished.
        """
    def state(self) -> dict[str, typing.Any]:
        """
        Return columns of the waiting and running jobs, their GPUs and the free GPUs.
        """
    def take_events(self) -> list[tuple[str, int]]:
        """
        Return the events since the last call: (what, job), in order.
        """
    def take_finished(self) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]:
        """
        Return the jobs that finished in `advance` since the last call, in order, with times.
        """
    @property
    def is_stopped(self) -> bool:
        """
        Whether the run ended with an error after which `so_far` is available.
        """
    @property
    def next_us(self) -> int | None:
        """
        The next instant, or None.
        """
    @property
    def now_us(self) -> int:
        ...
    @property
    def num_instants(self) -> int:
        ...
class VectorEnvironment:
    """
    Parallel runs (lanes) that halt whenever a job could start and ask which one to start.
    Arrays are read-only views that change with each call. A call during another one is
    refused, and one from outside a `with` block while another thread is in it.
    """
    def __enter__(self) -> None:
        ...
    def __exit__(self, type: typing.Any, value: typing.Any, traceback: typing.Any) -> None:
        ...
    def __init__(self, cluster: Cluster, *, placement: str, placement_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]], num_slots: typing.SupportsInt | typing.SupportsIndex, cost: str, num_lanes: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
    def answer(self, slots: numpy.typing.NDArray[numpy.int64]) -> None:
        """
        Answer every lane whose run is not over: start the job of a slot, or wait.
        """
    def begin(self, lane: typing.SupportsInt | typing.SupportsIndex, jobs: typing.Any, num_feasible: typing.SupportsInt | typing.SupportsIndex, seed: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Begin a run of a JobTable; means are over its jobs that can ever run.
        """
    def now_us(self, lane: typing.SupportsInt | typing.SupportsIndex) -> int:
        """
        The time of a lane.
        """
    def schedule(self, lane: typing.SupportsInt | typing.SupportsIndex) -> Schedule:
        """
        The schedule of a lane so far.
        """
    def waiting(self, lane: typing.SupportsInt | typing.SupportsIndex) -> numpy.typing.NDArray[numpy.int64]:
        """
        The waiting jobs of a lane; the first ones are observed.
        """
    @property
    def allowed(self) -> numpy.typing.NDArray[numpy.uint8]:
        """
        uint8[lanes, slots + 1].
        """
    @property
    def features(self) -> numpy.typing.NDArray[numpy.float32]:
        """
        float32[lanes, features].
        """
    @property
    def is_over(self) -> numpy.typing.NDArray[numpy.uint8]:
        """
        uint8[lanes]: whether the run of the lane is over.
        """
    @property
    def rewards(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64[lanes], of the last answer.
        """
    @property
    def was_allowed(self) -> numpy.typing.NDArray[numpy.uint8]:
        """
        uint8[lanes]: whether the last answer was allowed.
        """
class GangPlan:
    """
    Every job bound to its GPUs under one cap.
    """
    def __reduce__(self) -> typing.NoReturn:
        ...
    @property
    def busy_us(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Time bound to each GPU, server by server; shape (GPUs of the cluster,).
        """
    @property
    def cap_us(self) -> float:
        """
        theta, in whole microseconds.
        """
    @property
    def first(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Job j has the shares [first[j], first[j + 1]); shape (jobs + 1,).
        """
    @property
    def mask(self) -> numpy.typing.NDArray[numpy.uint64]:
        """
        The GPUs of each share, a bit for each.
        """
    @property
    def num_tried(self) -> int:
        """
        Number of caps that were tried.
        """
    @property
    def server(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        The server of each share.
        """
class LeaseLine:
    """
    Plan claims to leases in order, each on the latest leases with room before its end.
    """
    def __init__(self, num_gpus: typing.SupportsInt | typing.SupportsIndex, taken: numpy.typing.NDArray[numpy.int32], gpus: numpy.typing.NDArray[numpy.int64], leases: numpy.typing.NDArray[numpy.int64], until: numpy.typing.NDArray[numpy.int64]) -> None:
        """
        `taken`: unavailable GPUs, by lease; `until`: the first lease that ends too late.
        Leases are counted from the first that may be planned.
        """
    def __reduce__(self) -> typing.NoReturn:
        ...
    def try_join(self, place: typing.SupportsInt | typing.SupportsIndex) -> bool:
        """
        Add the claim if it and all earlier ones get leases; return whether it joined.
        """
class DeadlinePlans:
    """
    Admission decisions on jobs with deadlines.
    """
    def __reduce__(self) -> typing.NoReturn:
        ...
    @property
    def admitted(self) -> numpy.typing.NDArray[numpy.uint8]:
        ...
    @property
    def cost(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def exponent(self) -> float:
        ...
    @property
    def final_price_sum(self) -> float:
        ...
    @property
    def first(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def initial_price_sum(self) -> float:
        ...
    @property
    def payoff_sum(self) -> float:
        ...
    @property
    def ratio(self) -> float:
        ...
    @property
    def reason(self) -> list[str]:
        ...
    @property
    def scarce_begin(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def scarce_end(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def scarce_free(self) -> numpy.typing.NDArray[numpy.int32]:
        ...
    @property
    def scarce_type(self) -> numpy.typing.NDArray[numpy.int32]:
        ...
    @property
    def step_begin(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def step_configuration(self) -> numpy.typing.NDArray[numpy.int32]:
        ...
    @property
    def step_end(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def upper_bound(self) -> float:
        ...
    @property
    def value(self) -> float:
        ...
class Assignment:
    """
    A least-cost assignment that can be changed.
    """
    def __init__(self) -> None:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
    def change_row(self, row: typing.SupportsInt | typing.SupportsIndex, cost: numpy.typing.NDArray[numpy.float64]) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], float]:
        """
        Replace a row of costs and solve again.
        """
    def solve(self, cost: numpy.typing.NDArray[numpy.float64], rows: typing.SupportsInt | typing.SupportsIndex, columns: typing.SupportsInt | typing.SupportsIndex) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], float]:
        """
        As `assign`; do not modify the costs while rows are changed.
        """
    @property
    def shape(self) -> tuple[int, int]:
        """
        Rows and columns of the last solved problem; (0, 0): none.
        """
class Transportation:
    """
    A transportation problem: units of rows to columns with capacities.
    """
    def __init__(self) -> None:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
    def solve(self, value: numpy.typing.NDArray[numpy.float64], supply: numpy.typing.NDArray[numpy.int32], capacity: numpy.typing.NDArray[numpy.int32], is_exact: bool = True, is_warm: bool = False) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], float]:
        """
        Flow by row, row duals, prices, value.
        """
class MatchingProblem:
    """
    Jobs that compete for workers, as columns by job.
    """
    def __init__(self, *, rate: numpy.typing.NDArray[numpy.float64], capacity: numpy.typing.NDArray[numpy.int32], rounds: numpy.typing.NDArray[numpy.float64], samples: numpy.typing.NDArray[numpy.float64], gradient_bytes: numpy.typing.NDArray[numpy.float64] | None = None, bytes_per_s: numpy.typing.NDArray[numpy.float64] | None = None, waiting_s: numpy.typing.NDArray[numpy.float64] | None = None, restart_s: numpy.typing.NDArray[numpy.float64] | None = None, previous: numpy.typing.NDArray[numpy.int32] | None = None, min_workers: numpy.typing.NDArray[numpy.int32] | None = None, max_workers: numpy.typing.NDArray[numpy.int32] | None = None, max_samples: numpy.typing.NDArray[numpy.float64] | None = None) -> None:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
class MatchingDecision:
    """
    The decision of a matching market.
    """
    def __reduce__(self) -> typing.NoReturn:
        ...
    @property
    def counts(self) -> numpy.typing.NDArray[numpy.int32]:
        ...
    @property
    def equal_s(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def fairness(self) -> float:
        ...
    @property
    def is_exhaustive(self) -> bool:
        ...
    @property
    def is_kept(self) -> bool:
        ...
    @property
    def job_s(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def lower_bound_s(self) -> float:
        ...
    @property
    def mean_s(self) -> float:
        ...
    @property
    def num_categories(self) -> float:
        ...
    @property
    def num_pruned(self) -> int:
        ...
    @property
    def num_tried(self) -> int:
        ...
    @property
    def price(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def sampled_score(self) -> float:
        ...
    @property
    def score(self) -> float:
        ...
class MatchingMarket:
    """
    A market that assigns workers to jobs; for one thread at a time.
    """
    def __init__(self) -> None:
        ...
    def __reduce__(self) -> typing.NoReturn:
        ...
    @typing.overload
    def solve(self, problem: MatchingProblem, options: dict[str, typing.Any]) -> MatchingDecision:
        """
        Decide; Ctrl-C interrupts.
        """
    @typing.overload
    def solve(self, problem: MatchingProblem, options: dict[str, typing.Any], control: RunControl) -> MatchingDecision:
        ...
class ExactMatching:
    """
    The optimal decision, with its proof.
    """
    def __reduce__(self) -> typing.NoReturn:
        ...
    @property
    def counts(self) -> numpy.typing.NDArray[numpy.int32]:
        ...
    @property
    def is_optimal(self) -> bool:
        ...
    @property
    def job_s(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def lower_bound_s(self) -> float:
        ...
    @property
    def mean_s(self) -> float:
        ...
    @property
    def num_branched(self) -> int:
        ...
    @property
    def num_searched(self) -> int:
        ...
    @property
    def num_steps(self) -> int:
        ...
def _remade(base: type, own: type, *args: object, **named: object) -> object:
    """
    Make an object of `own`, which derives from an interface, when unpickling or copying.
    """
def assign(cost: numpy.typing.NDArray[numpy.float64], rows: typing.SupportsInt | typing.SupportsIndex, columns: typing.SupportsInt | typing.SupportsIndex) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], float]:
    """
    Solve a least-cost assignment: columns by row (-1: none), row and column duals, cost.
    """
def auction(value: numpy.typing.NDArray[numpy.float64], demand: numpy.typing.NDArray[numpy.int32], items: typing.SupportsInt | typing.SupportsIndex, epsilon: typing.SupportsFloat | typing.SupportsIndex) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], float, float]:
    """
    Owner of each item (-1: none), job duals, prices, value, and the epsilon that rounding
    allowed.
    """
def busy_times(submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], num_gpus: typing.SupportsInt | typing.SupportsIndex, weight: numpy.typing.NDArray[numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
    """
    Mean busy time - submit + service / 2 of each job in half ticks, under mean_busy_time.
    """
def can_place(run: Run, job: typing.SupportsInt | typing.SupportsIndex) -> bool:
    """
    Return whether the placement of a halted run finds GPUs for the job.
    """
def cluster_series(*, submit_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], finish_us: numpy.typing.NDArray[numpy.int64], status: numpy.typing.NDArray[numpy.uint8], job: numpy.typing.NDArray[numpy.int64], start_us: numpy.typing.NDArray[numpy.int64], end_us: numpy.typing.NDArray[numpy.int64], server: numpy.typing.NDArray[numpy.int64], mask: numpy.typing.NDArray[numpy.uint64]) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]:
    """
    Compute the cluster over time from jobs and the rows of an interval log by (job, start):
    the instants, and from each on the allocated GPUs, the waiting jobs, the GPUs that they
    request, and the running jobs.
    """
def decided(run: Run) -> dict[str, typing.Any]:
    """
    Take the next decision of a run: columns of its actions, and jobs that can never run.
    """
def exact_matching(problem: MatchingProblem, options: dict[str, typing.Any], control: RunControl, tolerance: typing.SupportsFloat | typing.SupportsIndex = 1e-09, max_steps: typing.SupportsInt | typing.SupportsIndex = 1000000) -> ExactMatching:
    ...
def fill(requests: JobTable, arrivals: numpy.typing.NDArray[numpy.int64], cluster: Cluster, placement: str | Placement, placement_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]], seed: typing.SupportsInt | typing.SupportsIndex, control: RunControl) -> dict[str, numpy.ndarray]:
    """
    Place requests one by one on an empty cluster; none ever leaves. `arrivals` are rows of
    the requests. The GIL is released unless the placement is Python's.
    """
def flags() -> list[dict[str, str]]:
    """
    Return every flag: its name, its meaning, and the kinds of plug-ins that may have it
    (`python_kinds`: if written in Python), separated by spaces.
    """
def group_times(*, order: numpy.typing.NDArray[numpy.uint32], time_us: numpy.typing.NDArray[numpy.int64], group: numpy.typing.NDArray[numpy.int32], num_groups: typing.SupportsInt | typing.SupportsIndex, percents: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float64], list[numpy.typing.NDArray[numpy.int64]]]:
    """
    Summarise the times of each group of jobs: count, mean (NaN if empty), and for each of the
    ascending percents a column of nearest ranks (-1 if empty). `order` and `time_us` are the
    jobs and their times in ascending order; `group` is -1 if a job does not count.
    """
def iteration_limits(jobs: JobTable, cluster: Cluster, speed: str, speed_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]]) -> dict[str, numpy.typing.NDArray[numpy.float64]]:
    """
    Return seconds per iteration on the empty cluster: a lower bound, on a good placement,
    and the worst. NaN if a job can never run.
    """
def least_costs(jobs: JobTable, cluster: Cluster, speed: str, speed_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]]) -> dict[str, numpy.typing.NDArray[numpy.float64]]:
    """
    Return lower bounds on the run time (`time`) and the GPU time (`gpu_time`) of each job
    over all its configurations, as fractions of those at its own width on the best GPU
    type. 1 if the speed is not elastic.
    """
def least_run_bytes(num_jobs: typing.SupportsInt | typing.SupportsIndex, num_started: typing.SupportsInt | typing.SupportsIndex, is_pooled: bool) -> int:
    """
    Return the minimum bytes of a run, without the columns of its jobs.
    """
def list_parameters(is_preemptive: bool, is_strict: bool) -> list[dict[str, typing.Any]]:
    """
    Return the parameters that the list scheduler adds to an order.
    """
def list_preemption(is_preemptive: bool) -> dict[str, typing.Any]:
    """
    Return when the list scheduler may preempt under an order.
    """
def longest_job(submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64]) -> int:
    """
    The largest (submit + service) minus the first submit, in microseconds.
    """
def mean_busy_time(submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], num_gpus: typing.SupportsInt | typing.SupportsIndex, weight: numpy.typing.NDArray[numpy.float64]) -> tuple[int, float]:
    """
    Sums of (mean busy time - submit + service / 2) in half ticks: exact, and weighted. An empty weight counts every job once.
    """
def plan_deadlines(arrival_us: numpy.typing.NDArray[numpy.int64], deadline_us: numpy.typing.NDArray[numpy.int64], work: numpy.typing.NDArray[numpy.float64], value: numpy.typing.NDArray[numpy.float64], change_us: numpy.typing.NDArray[numpy.int64], first: numpy.typing.NDArray[numpy.int64], type: numpy.typing.NDArray[numpy.int32], gpus: numpy.typing.NDArray[numpy.int32], rate: numpy.typing.NDArray[numpy.float64], type_gpus: numpy.typing.NDArray[numpy.int64], slot_us: typing.SupportsInt | typing.SupportsIndex, prices: str, quanta: typing.SupportsInt | typing.SupportsIndex, segments: typing.SupportsInt | typing.SupportsIndex, whole_slots: bool, knows: bool, control: RunControl) -> DeadlinePlans:
    """
    Decide on every job at its arrival, as `dancer` does, without running any.
    """
def plan_gangs(jobs: JobTable, cluster: Cluster, policy: str, policy_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]], seed: typing.SupportsInt | typing.SupportsIndex, tolerance: typing.SupportsFloat | typing.SupportsIndex, control: RunControl) -> GangPlan:
    """
    Bind all jobs as the policy does if they all arrive at once: under its theta_s, or, if
    that is 0, under the tightest cap that bisection finds.
    """
def priced_times(submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], widths: numpy.typing.NDArray[numpy.int32], edge_us: numpy.typing.NDArray[numpy.int64], price: numpy.typing.NDArray[numpy.float64]) -> tuple[float, numpy.typing.NDArray[numpy.float64]]:
    """
    Bound jobs that run alone and pay for held GPUs by prices over time: the sum of time in
    system and payments in microseconds, and GPUs x microseconds held in each step. Widths and
    prices are listed machine by machine.
    """
def registry() -> list[dict[str, typing.Any]]:
    """
    Return every registered plug-in; an alias has its `target` and the `values` it sets.
    """
def run_measures(*, submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], share_milli: numpy.typing.NDArray[numpy.int32] | None, weight: numpy.typing.NDArray[numpy.float64] | None, tenant: numpy.typing.NDArray[numpy.int32] | None = None, num_tenants: typing.SupportsInt | typing.SupportsIndex = 0, start_us: numpy.typing.NDArray[numpy.int64], finish_us: numpy.typing.NDArray[numpy.int64], held_us: numpy.typing.NDArray[numpy.int64], preemptions: numpy.typing.NDArray[numpy.int32], resizes: numpy.typing.NDArray[numpy.int32], num_servers: numpy.typing.NDArray[numpy.int32], status: numpy.typing.NDArray[numpy.uint8], short_service_us: typing.SupportsInt | typing.SupportsIndex) -> RunMeasures:
    """
    Compute the measures of a run from its columns, one value per job each; None for whole
    GPUs, equal weights or no tenants. Tenants are numbered below `num_tenants`. The slowdown
    counts a service below `short_service_us` as that.
    """
def schedule_measures(schedule: Schedule, *, submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], share_milli: numpy.typing.NDArray[numpy.int32] | None, weight: numpy.typing.NDArray[numpy.float64] | None, tenant: numpy.typing.NDArray[numpy.int32] | None = None, num_tenants: typing.SupportsInt | typing.SupportsIndex = 0, short_service_us: typing.SupportsInt | typing.SupportsIndex) -> RunMeasures:
    """
    The same for a schedule of all the jobs, without its columns.
    """
def snapshot_of(run: Run) -> dict[str, typing.Any]:
    """
    Return the waiting and running jobs of a halted run, columns of a Snapshot of only
    these, and the next decision if nothing finishes or arrives before (2^63 - 1: never).
    """
def split_batch(global_batch: typing.SupportsFloat | typing.SupportsIndex, rates: numpy.typing.NDArray[numpy.float64], max_samples: numpy.typing.NDArray[numpy.float64], is_equal: bool) -> tuple[numpy.typing.NDArray[numpy.float64], bool]:
    """
    Return the samples of each worker, and whether all samples were assigned.
    """
def split_whole_batch(global_batch: typing.SupportsInt | typing.SupportsIndex, rates: numpy.typing.NDArray[numpy.float64], max_samples: numpy.typing.NDArray[numpy.int64], is_equal: bool) -> tuple[numpy.typing.NDArray[numpy.int64], bool]:
    """
    The same in whole samples.
    """
def squashed_srpt(submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], num_gpus: typing.SupportsInt | typing.SupportsIndex) -> int:
    """
    Least total flow on the squashed machine, in ticks of 1 / num_gpus microseconds.
    """
def time_order(time_us: numpy.typing.NDArray[numpy.int64]) -> numpy.typing.NDArray[numpy.uint32]:
    """
    Return the stable ascending order of the times, as indices.
    """
def total_work(submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], num_gpus: typing.SupportsInt | typing.SupportsIndex) -> int:
    """
    The largest sum of a submit and all later work, minus the first submit, in ticks of 1
    / num_gpus microseconds.
    """
def until_start(run: Run, jobs: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> list[tuple[int, list[int]]]:
    """
    Advance until each of the jobs has held GPUs: return its first start in microseconds (-1
    if never) and its servers.
    """
def wide_gangs(submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], num_gpus: typing.SupportsInt | typing.SupportsIndex) -> int:
    """
    The largest sum of a submit and all later services of jobs with more than half of the
    GPUs, minus the first submit, in microseconds.
    """
JOB_COLUMNS: tuple[JobColumn, ...]
REJECT_REASONS: tuple[str, ...] = ('', 'no server has an allowed GPU type', 'needs more GPUs than the cluster has', 'the placement refuses it on an empty cluster', 'the speed knows no configuration for it', 'needs more servers with gpus_per_node GPUs than the cluster has')
__version__: str = '0.1.0'
