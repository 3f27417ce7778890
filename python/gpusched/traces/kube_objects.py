"""Read Kubernetes objects from JSON or YAML files, and Kueue workloads among them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, Final

from gpusched.base.libraries import need
from gpusched.base.source import Source
from gpusched.model.cluster import MAX_GPUS_PER_SERVER, MAX_SERVERS

MAX_DEPTH: Final = 200
"""Maximum nesting of a file; Kueue objects have about 20 levels."""
_QUANTITY: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?(m|k|Ki|M|Mi|G|Gi)?")
_UNITS: Final = {
    "m": Fraction(1, 1000), None: Fraction(1), "k": Fraction(1000), "Ki": Fraction(1024),
    "M": Fraction(10**6), "Mi": Fraction(2**20), "G": Fraction(10**9), "Gi": Fraction(2**30),
}  # fmt: skip

KUEUE: Final = "kueue.x-k8s.io"
"""The API group of Kueue objects."""
HOSTNAME: Final = "kubernetes.io/hostname"
"""The label with a server's name."""


class KubeObject:
    """A Kubernetes object, read field by field.

    ``kind``, ``group``: such as ``"Workload"`` and ``"kueue.x-k8s.io"``.
    """

    def __init__(self, fields: Mapping[str, Any], source: Source) -> None:
        self._fields = fields
        self._source = source
        self.kind = text_of(fields.get("kind"))
        self.group = text_of(fields.get("apiVersion")).rpartition("/")[0]

    def __str__(self) -> str:
        return f"{self._source}, {self.kind} {self.key}"

    @property
    def name(self) -> str:
        """Its name."""
        return text_of(self.at("metadata", "name"))

    @property
    def namespace(self) -> str:
        """Its namespace, or an empty text."""
        return text_of(self.at("metadata", "namespace"))

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def at(self, *path: str) -> Any:
        """Return the value at a path of fields, or None."""
        return at(self._fields, *path)

    def condition(self, kind: str) -> tuple[bool, float]:
        """Return whether a condition is true, and since when (seconds since 1970, or NaN)."""
        for each in items_of(self.at("status", "conditions")):
            if each.get("type") == kind:
                return each.get("status") == "True", seconds_of(each.get("lastTransitionTime"))
        return False, float("nan")


def objects_of(sources: Sequence[Source]) -> Iterator[KubeObject]:
    """Yield all objects in the files, including those in lists."""
    for source in sources:
        for document in _documents(source):
            yield from _listed(document, source)


def _documents(source: Source) -> Iterator[Any]:
    text = source.text.lstrip()
    if text[:1] in "{[":
        try:
            yield json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{source}, line {error.lineno}: {error.msg}") from None
        except RecursionError:
            raise ValueError(f"{source}: nested too deeply") from None
        return
    need("yaml", f"{source}: YAML", "gpusched-core[yaml]")
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_depth(yaml.parse(text, Loader=loader), source)
        yield from yaml.load_all(text, Loader=loader)
    except yaml.YAMLError as error:
        raise ValueError(f"{source}: {' '.join(str(error).split())}") from None


def _check_depth(events: Iterator[Any], source: Source) -> None:
    """Refuse nesting so deep that the library would overflow the stack."""
    depth = 0
    for event in events:
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > MAX_DEPTH:
            raise ValueError(f"{source}: nested too deeply")


def _listed(document: Any, source: Source) -> Iterator[KubeObject]:
    if document is None:  # an empty YAML document
        return
    for each in document if isinstance(document, list) else [document]:
        if not isinstance(each, Mapping) or not isinstance(each.get("kind"), str):
            raise ValueError(f"{source}: {str(each)[:60]!r} must be an object with a kind")
        if not (each["kind"].endswith("List") and isinstance(each.get("items"), list)):
            yield KubeObject(each, source)
            continue
        kind = each["kind"].removesuffix("List")
        for item in each["items"]:
            if not isinstance(item, Mapping):
                raise ValueError(f"{source}: {str(item)[:60]!r} in a list must be an object")
            known = {"kind": kind, "apiVersion": each.get("apiVersion")}
            yield KubeObject({**known, **item}, source)


def at(fields: Any, *path: str) -> Any:
    """Return the value at a path of fields, or None."""
    for name in path:
        fields = fields.get(name) if isinstance(fields, Mapping) else None
    return fields


def items_of(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list; skip other entries."""
    given = value if isinstance(value, list) else []
    return [each for each in given if isinstance(each, Mapping)]


def text_of(value: Any) -> str:
    """Return a text; "" for other values."""
    return value if isinstance(value, str) else ""


def seconds_of(value: Any) -> float:
    """Return a time in seconds since 1970; NaN for other values."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return float("nan")
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def count_of(value: Any) -> int | None:
    """Return a quantity such as ``8``, ``"8"`` or ``"1k"``; None if it is not whole."""
    found = _QUANTITY.fullmatch(str(value)) if isinstance(value, int | str) else None
    if found is None or isinstance(value, bool):
        return None
    whole, part, unit = found.groups()
    amount = (int(whole) + Fraction(int(part or 0), 10 ** len(part or ""))) * _UNITS[unit]
    return int(amount) if amount.denominator == 1 else None


_MAX_PODS: Final = 1_000_000
_MAX_GPUS: Final = MAX_SERVERS * MAX_GPUS_PER_SERVER
"""The largest cluster."""


@dataclass(frozen=True)
class Pods:
    """Equal pods of an admitted workload: number, GPUs per pod, GPU resource, and server."""

    count: int
    gpus: int
    flavor: str
    resource: str
    server: str | None


@dataclass(frozen=True)
class Workload:
    """A workload with GPUs; times in seconds since 1970.

    ``key``, ``namespace``, ``queue``: its names, and the name of its LocalQueue; if admitted, of
        its ClusterQueue.
    ``gpus``: total GPUs.
    ``least``, ``step``: if it waits: GPUs of the fewest pods (``minCount``) that it can start with,
        and of each further pod.
    ``submit_s``, ``start_s``, ``end_s``: when it was created, last admitted (NaN: it waits), and
        finished (NaN: it has not).
    ``reason``: Kueue's reason for the end; empty if it has not finished.
    ``limit_s``: its maximum run time; NaN if it has none.
    ``past_s``: how long it was admitted before.
    ``preemptions``: number of preemptions.
    ``priority``: its priority; NaN if it has none.
    ``selector``: the server labels that its pods select.
    ``pods``: its pods with GPUs, if it is admitted.
    ``resources``: resource names of the GPUs that it holds or requests.
    ``widest``: if it waits: GPUs of its largest pod, which must fit on one server.
    ``hold``, ``eligible_s``: why it may not start yet, and until when (NaN: unknown); ``""``: it
        may.
    """

    key: str
    namespace: str
    queue: str
    gpus: int
    least: int
    step: int
    submit_s: float
    start_s: float
    end_s: float
    reason: str
    limit_s: float
    past_s: float
    preemptions: int
    priority: float
    selector: Mapping[str, Any]
    pods: tuple[Pods, ...]
    resources: frozenset[str]
    widest: int = 0
    hold: str = ""
    eligible_s: float = float("nan")


class Unfit(Exception):
    """Why a workload cannot be a job."""


def workload_of(given: KubeObject, is_gpu: Callable[[str], bool]) -> Workload:
    """Read a workload."""
    has_finished, end_s = given.condition("Finished")
    admission = given.at("status", "admission")
    sets = items_of(given.at("spec", "podSets"))
    if isinstance(admission, Mapping):
        pods = tuple(each for each in _admitted(given, admission, sets, is_gpu) if each.gpus)
        gpus = sum(each.count * each.gpus for each in pods)
        resources = {each.resource for each in pods}
        start_s = _since(given)
        least, step = gpus, 0
        queue = text_of(admission.get("clusterQueue"))
    elif has_finished:
        raise Unfit("has finished without a recorded admission")
    else:
        pods, start_s = (), float("nan")
        asking = [each for each in sets if _requested(each, is_gpu, "count")]
        resources = {name for each in asking for name in _of_pod(each, is_gpu)}
        gpus = sum(_requested(each, is_gpu, "count") for each in asking)
        least = sum(_requested(each, is_gpu, "minCount") for each in sets)
        step = next((_gpus_of(each, is_gpu) for each in sets if "minCount" in each), 0)
        queue = text_of(given.at("spec", "queueName"))
    if not gpus:
        raise Unfit("asks for no GPU")
    if gpus > _MAX_GPUS and not pods:
        raise Unfit("asks for more GPUs than a cluster can have")
    submit_s = seconds_of(given.at("metadata", "creationTimestamp"))
    if not submit_s >= 0:
        if pods:
            raise ValueError(f"{given}: holds GPUs, but creationTimestamp is not a time")
        raise Unfit("has an invalid creationTimestamp")
    limit = count_of(given.at("spec", "maximumExecutionTimeSeconds"))
    past = count_of(given.at("status", "accumulatedPastExecutionTimeSeconds"))
    return Workload(
        given.key,
        given.namespace,
        queue,
        gpus,
        least,
        step,
        submit_s,
        max(start_s, submit_s) if pods else start_s,
        end_s if has_finished else float("nan"),
        _reason(given) if has_finished else "",
        float(limit) if limit else float("nan"),
        float(past or 0),
        _preemptions(given),
        _priority(given),
        _selector(sets),
        pods,
        frozenset(resources),
        0 if pods else max((_gpus_of(each, is_gpu) for each in sets), default=0),
        *(("", float("nan")) if pods else _hold(given)),
    )


def _hold(given: KubeObject) -> tuple[str, float]:
    """Return why it may not start, and until when (NaN: unknown)."""
    if given.at("spec", "active") is False:
        return "is inactive (spec.active is false)", float("nan")
    conditions = items_of(given.at("status", "conditions"))
    if any(each.get("type") == "Requeued" and each.get("status") == "False" for each in conditions):
        due_s = seconds_of(given.at("status", "requeueState", "requeueAt"))
        return "is not requeued yet", due_s
    return "", float("nan")


def _since(given: KubeObject) -> float:
    """Return when it was admitted, or got its quota if it still waits for checks."""
    for kind in ("Admitted", "QuotaReserved"):
        holds, since_s = given.condition(kind)
        if holds and since_s >= 0:
            return since_s
    raise ValueError(f"{given}: has status.admission, but no condition says since when")


def _admitted(
    given: KubeObject,
    admission: Mapping[str, Any],
    sets: list[Mapping[str, Any]],
    is_gpu: Callable[[str], bool],
) -> Iterator[Pods]:
    spec = {text_of(each.get("name")) or "main": each for each in sets}
    gone = {
        text_of(each.get("name")) or "main": count_of(each.get("count")) or 0
        for each in items_of(given.at("status", "reclaimablePods"))
    }
    for each in items_of(admission.get("podSetAssignments")):
        name = text_of(each.get("name")) or "main"
        usage = amounts_of(each.get("resourceUsage"), is_gpu)
        if usage is None:
            raise ValueError(f"{given}: resourceUsage {each.get('resourceUsage')!r} is invalid")
        count = count_of(each.get("count", at(spec.get(name), "count")))
        for resource, used in usage.items():
            if used > _MAX_GPUS:
                raise ValueError(
                    f"{given}: resourceUsage: {used:,} GPUs are more than {_MAX_GPUS:,}"
                )
            if not count or used % count or count > _MAX_PODS:
                raise ValueError(f"{given}: {used} GPUs cannot be divided among {count} pods")
            placed = list(_servers(given, each.get("topologyAssignment")))
            if sum(number for _, number in placed) != count:
                placed = [(None, count - min(count, gone.get(name, 0)))]
            flavor = text_of(at(each.get("flavors"), resource))
            for server, number in placed:
                yield Pods(number, used // count, flavor, resource, server)


def _servers(given: KubeObject, assignment: Any) -> Iterator[tuple[str | None, int]]:
    """Yield servers and numbers of pods; nothing if domains are larger than servers.

    Reads v1beta1 (single domains) and v1beta2 (slices of domains).
    """
    levels = at(assignment, "levels")
    if not isinstance(levels, list) or not levels or levels[-1] != HOSTNAME:
        return
    for domain in items_of(at(assignment, "domains")):
        values, count = domain.get("values"), count_of(domain.get("count"))
        if not isinstance(values, list) or not values or not count:
            raise ValueError(f"{given}: topologyAssignment has a domain that cannot be read")
        yield text_of(values[-1]), count
    for part in items_of(at(assignment, "slices")):
        number = count_of(part.get("domainCount")) or 0
        values = items_of(part.get("valuesPerLevel"))
        names = _names(values[-1], number) if values and number <= _MAX_PODS else []
        counts = part.get("podCounts")
        if counts is None:
            counts = [part.get("universalPodCount")] * len(names)
        read = [count_of(count) for count in counts] if isinstance(counts, list) else []
        if not names or len(read) != len(names) or not all(read):
            raise ValueError(f"{given}: topologyAssignment has a slice that cannot be read")
        for name, count in zip(names, read, strict=True):
            yield name, count or 0


def _names(level: Mapping[str, Any], number: int) -> list[str]:
    if isinstance(level.get("universalValue"), str):
        return [level["universalValue"]] * number
    roots = level.get("roots")
    if not isinstance(roots, list) or len(roots) != number:
        return []
    first, last = text_of(level.get("prefix")), text_of(level.get("suffix"))
    return [f"{first}{root}{last}" for root in roots]


def _requested(pods: Mapping[str, Any], is_gpu: Callable[[str], bool], field: str) -> int:
    """Return the GPUs of a pod set, for its count or its minimum count (``field``)."""
    count = count_of(pods.get(field, pods.get("count", 1)))
    if count is None or count > _MAX_PODS:
        raise Unfit("has an invalid count in a pod set")
    return count * _gpus_of(pods, is_gpu)


def _gpus_of(pods: Mapping[str, Any], is_gpu: Callable[[str], bool]) -> int:
    return sum(_of_pod(pods, is_gpu).values())


def _of_pod(pods: Mapping[str, Any], is_gpu: Callable[[str], bool]) -> Mapping[str, int]:
    """Return the GPUs of one pod: of its containers together, or of the largest init container."""
    together, first = Counter[str](), Counter[str]()
    for list_name in ("containers", "initContainers"):
        for each in items_of(at(pods, "template", "spec", list_name)):
            amounts = _of_container(each, is_gpu)
            if list_name == "containers" or each.get("restartPolicy") == "Always":
                together += amounts
            else:
                first |= amounts
    return together | first


def _of_container(container: Mapping[str, Any], is_gpu: Callable[[str], bool]) -> Counter[str]:
    for kind in ("requests", "limits"):
        found = amounts_of(at(container, "resources", kind), is_gpu)
        if found is None:
            raise Unfit("has a pod set without a whole number of GPUs")
        if found:
            return found
    return Counter()


def amounts_of(resources: Any, is_gpu: Callable[[str], bool]) -> Counter[str] | None:
    """Return the GPUs among resources by name; None if a number is not whole."""
    given = resources if isinstance(resources, Mapping) else {}
    found = {name: count_of(count) for name, count in given.items() if is_gpu(text_of(name))}
    if None in found.values():
        return None
    return Counter({name: count for name, count in found.items() if count})


def _selector(sets: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    merged: dict[str, Any] = {}
    for each in sets:
        selector = at(each, "template", "spec", "nodeSelector")
        merged |= selector if isinstance(selector, Mapping) else {}
    return merged


def _reason(given: KubeObject) -> str:
    conditions = items_of(given.at("status", "conditions"))
    return next(
        (text_of(each.get("reason")) for each in conditions if each.get("type") == "Finished"), ""
    )


def _priority(given: KubeObject) -> float:
    value = given.at("spec", "priority")
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_number else float("nan")


def _preemptions(given: KubeObject) -> int:
    evictions = items_of(given.at("status", "schedulingStats", "evictions"))
    counts = [
        count_of(each.get("count")) for each in evictions if each.get("reason") == "Preempted"
    ]
    return min(sum(count or 0 for count in counts), 2**31 - 1)
