"""
The native core of gpusched.
"""
from __future__ import annotations
import collections.abc
import numpy
import numpy.typing
import typing
__all__: list[str] = ['Actions', 'Allocation', 'Cluster', 'FreeGpus', 'GangPlan', 'InvariantError', 'JobTable', 'Order', 'Placement', 'REJECT_REASONS', 'Request', 'Run', 'RunControl', 'Schedule', 'Scheduler', 'State', 'Stopped', 'iteration_limits', 'list_parameters', 'mean_busy_time', 'plan_gangs', 'registry', 'squashed_srpt']
class InvariantError(RuntimeError):
    """
    A policy or a placement asked for something impossible, or the engine broke a rule of its
    own. The message names the time, the job and the digest of the schedule so far.
    """
class Stopped(RuntimeError):
    """
    The run was stopped through its RunControl.
    """
class JobTable:
    """
    Jobs as borrowed columns, sorted by submit.
    """
    def __init__(self, submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], *, predicted_us: numpy.typing.NDArray[numpy.int64] | None = None, estimate_us: numpy.typing.NDArray[numpy.int64] | None = None, checkpoint_us: numpy.typing.NDArray[numpy.int64] | None = None, restart_us: numpy.typing.NDArray[numpy.int64] | None = None, weight: numpy.typing.NDArray[numpy.float64] | None = None, type_set: numpy.typing.NDArray[numpy.int32] | None = None, type_masks: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], profile: numpy.typing.NDArray[numpy.int32] | None = None, gradient_bytes: numpy.typing.NDArray[numpy.float64] | None = None, compute_s: numpy.typing.NDArray[numpy.float64] | None = None, graph: numpy.typing.NDArray[numpy.int32] | None = None, graph_begin: numpy.typing.NDArray[numpy.int32] | None = None, replicas: numpy.typing.NDArray[numpy.int32] | None = None, stage_compute_s: numpy.typing.NDArray[numpy.float64] | None = None, activation_bytes: numpy.typing.NDArray[numpy.float64] | None = None, parameter_bytes: numpy.typing.NDArray[numpy.float64] | None = None) -> None:
        ...
    def __len__(self) -> int:
        ...
class Cluster:
    """
    GPUs and GPU type of each server, and what connects them.
    """
    def __init__(self, server_gpus: numpy.typing.NDArray[numpy.int32], server_type: numpy.typing.NDArray[numpy.int32], *, nic_bytes_per_s: numpy.typing.NDArray[numpy.float64] | None = None, intra_bytes_per_s: numpy.typing.NDArray[numpy.float64] | None = None, server_domain: numpy.typing.NDArray[numpy.int32] | None = None, domain_parent: numpy.typing.NDArray[numpy.int32] | None = None, uplink_bytes_per_s: numpy.typing.NDArray[numpy.float64] | None = None) -> None:
        ...
    @property
    def num_gpus(self) -> int:
        ...
    @property
    def num_servers(self) -> int:
        ...
class Allocation:
    """
    GPUs of a gang: (server, mask) pairs, none in a pool.
    """
    def __init__(self, gpus: typing.SupportsInt | typing.SupportsIndex, pieces: collections.abc.Sequence[tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]] = []) -> None:
        ...
    @property
    def gpus(self) -> int:
        ...
    @property
    def pieces(self) -> list[tuple[int, int]]:
        ...
class State:
    """
    What a scheduler or an order may see of a run.
    """
    def attained_us(self, jobs: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> numpy.typing.NDArray[numpy.int64]:
        """
        Service received so far, in microseconds.
        """
    def place(self, job: typing.SupportsInt | typing.SupportsIndex) -> Allocation | None:
        """
        The run's placement for this job on the free GPUs, or None.
        """
    def remaining_us(self, jobs: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> numpy.typing.NDArray[numpy.int64]:
        """
        Predicted work left, in microseconds of service, at least 1.
        """
    @property
    def gpus(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        Width of every job of the trace.
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
    def predicted_us(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Predicted service of every job of the trace, in microseconds.
        """
    @property
    def running(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Jobs that run, by id (schedulers only).
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
    def waiting(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Jobs that wait, by id (schedulers only).
        """
    @property
    def weight(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Weight of every job of the trace.
        """
class Order:
    """
    Which job first? Subclass it: set `lifetime` to 'fixed', 'service' or 'clock' and write
    `rank(view, jobs)`, which returns one key per job; the smallest goes first.
    """
    lifetime: typing.ClassVar[str] = 'fixed'
    def __init__(self) -> None:
        ...
class Request:
    """
    A gang that wants GPUs.
    """
    @property
    def gpus(self) -> int:
        ...
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
class FreeGpus:
    """
    Which GPUs are free.
    """
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
    On which GPUs, or not yet? Subclass it and write `place(free, request)`, which returns
    [(server, mask), ...] in server order for the whole gang, or None.
    """
    def __init__(self) -> None:
        ...
    def begin(self, seed: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Before a run, with its seed; does nothing unless it is overridden.
        """
class Actions:
    """
    What a scheduler does; every call is checked.
    """
    def preempt(self, job: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        A running job lets its GPUs go and waits.
        """
    def resize(self, job: typing.SupportsInt | typing.SupportsIndex, allocation: Allocation) -> None:
        """
        Changes a running job's allocation; a ValueError under the fixed speed.
        """
    def restore(self, job: typing.SupportsInt | typing.SupportsIndex) -> bool:
        """
        Undoes suspend if the job's GPUs are still free.
        """
    def start(self, job: typing.SupportsInt | typing.SupportsIndex, allocation: Allocation) -> None:
        """
        A waiting job starts or resumes.
        """
    def suspend(self, job: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        As preempt, but restore can undo it within this decision.
        """
    def wake(self, at_us: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Asks for a decision at this instant.
        """
class Scheduler:
    """
    What to hold from now on, and when to ask again. Subclass it and write
    `decide(state, finished, arrived, actions)`; `begin(state)` is called before a run.
    """
    def __init__(self) -> None:
        ...
class Schedule:
    """
    What a run leaves behind; arrays are copies, one per job.
    """
    def intervals(self) -> dict[str, numpy.ndarray]:
        """
        Rows (job, start_us, end_us, server, mask), sorted by job, start, server.
        """
    @property
    def counters(self) -> dict[str, int]:
        ...
    @property
    def digest(self) -> str:
        ...
    @property
    def finish_us(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def held_us(self) -> numpy.typing.NDArray[numpy.int64]:
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
    def start_us(self) -> numpy.typing.NDArray[numpy.int64]:
        ...
    @property
    def status(self) -> numpy.typing.NDArray[numpy.uint8]:
        ...
    @property
    def uncontended_us(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Time that the job's runs would have taken without contention; empty under `fixed`.
        """
    @property
    def warnings(self) -> list[str]:
        ...
class RunControl:
    """
    Stops a run from another thread and shows its progress.
    """
    def __init__(self) -> None:
        ...
    def stop(self) -> None:
        ...
    @property
    def num_finished(self) -> int:
        ...
class Run:
    """
    A replay of the jobs on the cluster that can be halted between arrivals.
    A policy is a registered name, an Order or a Scheduler; a placement a
    registered name or a Placement. `verify` has every rate computed anew after
    each instant, and compared. The GIL is released unless one of them is Python's.
    """
    def __init__(self, jobs: JobTable, cluster: Cluster, policy: str | Order | Scheduler, policy_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]], flags: collections.abc.Sequence[str], placement: str | Placement, placement_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]], seed: typing.SupportsInt | typing.SupportsIndex, control: RunControl, speed: str = 'fixed', speed_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]] = {}, contention: str = 'none', contention_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]] = {}, verify: bool = False) -> None:
        ...
    def advance(self, num_jobs: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Handles all instants before the arrival of this job, which must not arrive together
        with the one before it.
        """
    def finish(self) -> Schedule:
        """
        Goes on to the end and returns the schedule; only once.
        """
    def take_finished(self) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]:
        """
        The jobs that have finished in `advance` since the last call, in that order, and when.
        """
class GangPlan:
    """
    Every job bound to its GPUs under one cap.
    """
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
        Caps that were tried.
        """
    @property
    def server(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        The server of each share.
        """
def iteration_limits(jobs: JobTable, cluster: Cluster, speed: str, speed_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]]) -> dict[str, numpy.typing.NDArray[numpy.float64]]:
    """
    Seconds per iteration on the empty cluster: a lower bound, where a good placement puts
    each job, and the worst. NaN where a job can never run.
    """
def list_parameters(is_preemptive: bool, is_strict: bool) -> list[dict[str, typing.Any]]:
    """
    The parameters that the list scheduler adds to an order.
    """
def mean_busy_time(submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], num_gpus: typing.SupportsInt | typing.SupportsIndex, weight: numpy.typing.NDArray[numpy.float64]) -> tuple[int, float]:
    """
    Sums of (mean busy time - submit + service / 2) in half ticks: exact, and weighted. An empty weight counts every job once.
    """
def plan_gangs(jobs: JobTable, cluster: Cluster, policy: str, policy_values: collections.abc.Mapping[str, bool | typing.SupportsInt | typing.SupportsIndex | typing.SupportsFloat | typing.SupportsIndex | str | collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]], seed: typing.SupportsInt | typing.SupportsIndex, tolerance: typing.SupportsFloat | typing.SupportsIndex, control: RunControl) -> GangPlan:
    """
    Binds all jobs, as if they came at one instant, as the policy does: under its theta_s,
    or, where that is 0, under the tightest cap that bisection finds.
    """
def registry() -> list[dict[str, typing.Any]]:
    """
    Every native plug-in: kind, name, flags, parameters, source.
    """
def squashed_srpt(submit_us: numpy.typing.NDArray[numpy.int64], service_us: numpy.typing.NDArray[numpy.int64], gpus: numpy.typing.NDArray[numpy.int32], num_gpus: typing.SupportsInt | typing.SupportsIndex) -> int:
    """
    Least total flow on the squashed machine, in ticks of 1 / num_gpus microseconds.
    """
REJECT_REASONS: tuple[str, ...] = ('', 'no server has an allowed GPU type', 'needs more GPUs than the cluster has', 'the placement refuses it on an empty cluster')
__version__: str = '0.1.0'
