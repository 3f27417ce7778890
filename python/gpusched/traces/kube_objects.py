"""Objects of Kubernetes in files, as JSON or YAML, and the workloads of Kueue among them."""

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
"""Of one value within another; objects of Kueue have about 20."""
_QUANTITY: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?(m|k|Ki|M|Mi|G|Gi)?")
_UNITS: Final = {
    "m": Fraction(1, 1000), None: Fraction(1), "k": Fraction(1000), "Ki": Fraction(1024),
    "M": Fraction(10**6), "Mi": Fraction(2**20), "G": Fraction(10**9), "Gi": Fraction(2**30),
}  # fmt: skip

KUEUE: Final = "kueue.x-k8s.io"
"""The group of Kueue's objects."""
HOSTNAME: Final = "kubernetes.io/hostname"
"""The label of a server's own name."""


class KubeObject:
    """An object of Kubernetes, read field by field.

    Attributes
    ----------
    kind, group
        Such as ``"Workload"`` and ``"kueue.x-k8s.io"``.
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
        """Its namespace; empty if it has none."""
        return text_of(self.at("metadata", "namespace"))

    @property
    def key(self) -> str:
        """Its name after its namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def at(self, *path: str) -> Any:
        """Return the value of a field in fields; None if it is not there."""
        return at(self._fields, *path)

    def condition(self, kind: str) -> tuple[bool, float]:
        """Return whether a condition holds, and since when, in seconds since 1970 or NaN."""
        for each in items_of(self.at("status", "conditions")):
            if each.get("type") == kind:
                return each.get("status") == "True", seconds_of(each.get("lastTransitionTime"))
        return False, float("nan")


def objects_of(sources: Sequence[Source]) -> Iterator[KubeObject]:
    """Yield all objects in the files, those in lists one by one.

    Raises
    ------
    ValueError
        If a file is neither JSON nor YAML, or holds what is no object.
    ImportError
        If one is YAML, and no library can read that.
    """
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
    """Refuse what the library would follow so deep that the process ends."""
    depth = 0
    for event in events:
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > MAX_DEPTH:
            raise ValueError(f"{source}: nested too deeply")


def _listed(document: Any, source: Source) -> Iterator[KubeObject]:
    if document is None:  # an empty document between two marks
        return
    for each in document if isinstance(document, list) else [document]:
        if not isinstance(each, Mapping) or not isinstance(each.get("kind"), str):
            raise ValueError(f"{source}: {str(each)[:60]!r} is no object with a kind")
        if not (each["kind"].endswith("List") and isinstance(each.get("items"), list)):
            yield KubeObject(each, source)
            continue
        kind = each["kind"].removesuffix("List")
        for item in each["items"]:
            if not isinstance(item, Mapping):
                raise ValueError(f"{source}: {str(item)[:60]!r} in a list is no object")
            known = {"kind": kind, "apiVersion": each.get("apiVersion")}
            yield KubeObject({**known, **item}, source)


def at(fields: Any, *path: str) -> Any:
    """Return the value of a field in fields; None if it is not there."""
    for name in path:
        fields = fields.get(name) if isinstance(fields, Mapping) else None
    return fields


def items_of(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list; what is none is passed over."""
    given = value if isinstance(value, list) else []
    return [each for each in given if isinstance(each, Mapping)]


def text_of(value: Any) -> str:
    """Return a text; "" for what is none."""
    return value if isinstance(value, str) else ""


def seconds_of(value: Any) -> float:
    """Return a time in seconds since 1970, NaN for what is none."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return float("nan")
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def count_of(value: Any) -> int | None:
    """Return a quantity such as ``8``, ``"8"`` or ``"1k"``; None if it is no whole number."""
    found = _QUANTITY.fullmatch(str(value)) if isinstance(value, int | str) else None
    if found is None or isinstance(value, bool):
        return None
    whole, part, unit = found.groups()
    amount = (int(whole) + Fraction(int(part or 0), 10 ** len(part or ""))) * _UNITS[unit]
    return int(amount) if amount.denominator == 1 else None


_MAX_PODS: Final = 1_000_000
_MAX_GPUS: Final = MAX_SERVERS * MAX_GPUS_PER_SERVER
"""More has no cluster."""


@dataclass(frozen=True)
class Pods:
    """Equal pods of an admitted workload: how many, of how many GPUs each, of what, and where."""

    count: int
    gpus: int
    flavor: str
    resource: str
    server: str | None


@dataclass(frozen=True)
class Workload:
    """A workload with GPUs; times in seconds since 1970.

    Attributes
    ----------
    key, namespace, queue
        Its names, and that of its LocalQueue; of an admitted one that of its ClusterQueue.
    gpus
        In all.
    least, step
        GPUs of the fewest pods that it starts with, where it waits: those of ``minCount``; and of
        each pod more.
    submit_s, start_s, end_s
        When it was created, and last admitted; NaN where it waits; when it finished; NaN where it
        has not.
    reason
        Why it finished, in Kueue's word; empty where it has not.
    limit_s
        Its longest time; NaN if it has none.
    past_s
        How long it was admitted before.
    preemptions
        How often it was preempted.
    priority
        Its own; NaN if it has none.
    selector
        The labels of servers that its pods select.
    pods
        Those with GPUs, where it is admitted.
    resources
        What the GPUs are called that it holds or asks for.
    widest
        GPUs of its widest pod, where it waits: a pod runs on one server.
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


class Unfit(Exception):
    """Why a workload is no job of the state."""


def workload_of(given: KubeObject, is_gpu: Callable[[str], bool]) -> Workload:
    """Read a workload.

    Raises
    ------
    Unfit
        If it is none that waits, runs or has run, or asks for no GPU.
    ValueError
        If it is admitted, and it cannot be read what it holds.
    """
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
        raise Unfit("has finished and was never admitted, or does not tell where")
    else:
        if given.at("spec", "active") is False:
            raise Unfit("spec.active is false")
        if any(
            each.get("type") == "Requeued" and each.get("status") == "False"
            for each in items_of(given.at("status", "conditions"))
        ):
            raise Unfit("is not requeued yet")
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
            raise ValueError(f"{given}: creationTimestamp is no time, and it holds GPUs")
        raise Unfit("creationTimestamp is no time")
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
    )


def _since(given: KubeObject) -> float:
    """When it was admitted; when it got its quota where it waits for checks with it."""
    for kind in ("Admitted", "QuotaReserved"):
        holds, since_s = given.condition(kind)
        if holds and since_s >= 0:
            return since_s
    raise ValueError(f"{given}: status.admission is there, and no condition tells since when")


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
            raise ValueError(f"{given}: resourceUsage {each.get('resourceUsage')!r} is not read")
        count = count_of(each.get("count", at(spec.get(name), "count")))
        for resource, used in usage.items():
            if used > _MAX_GPUS:
                raise ValueError(
                    f"{given}: resourceUsage: {used:,} GPUs are more than {_MAX_GPUS:,}"
                )
            if not count or used % count or count > _MAX_PODS:
                raise ValueError(f"{given}: {used} GPUs are not shared by {count} pods")
            placed = list(_servers(given, each.get("topologyAssignment")))
            if sum(number for _, number in placed) != count:
                placed = [(None, count - min(count, gone.get(name, 0)))]
            flavor = text_of(at(each.get("flavors"), resource))
            for server, number in placed:
                yield Pods(number, used // count, flavor, resource, server)


def _servers(given: KubeObject, assignment: Any) -> Iterator[tuple[str | None, int]]:
    """Yield servers and numbers of pods; nothing where domains are wider than servers.

    The shapes are that of v1beta1, domains one by one, and that of v1beta2, domains in slices.
    """
    levels = at(assignment, "levels")
    if not isinstance(levels, list) or not levels or levels[-1] != HOSTNAME:
        return
    for domain in items_of(at(assignment, "domains")):
        values, count = domain.get("values"), count_of(domain.get("count"))
        if not isinstance(values, list) or not values or not count:
            raise ValueError(f"{given}: topologyAssignment has a domain that is not read")
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
            raise ValueError(f"{given}: topologyAssignment has a slice that is not read")
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
    """Return the GPUs of all pods of a set, or of the fewest."""
    count = count_of(pods.get(field, pods.get("count", 1)))
    if count is None or count > _MAX_PODS:
        raise Unfit("spec.podSets: count is no number of pods")
    return count * _gpus_of(pods, is_gpu)


def _gpus_of(pods: Mapping[str, Any], is_gpu: Callable[[str], bool]) -> int:
    return sum(_of_pod(pods, is_gpu).values())


def _of_pod(pods: Mapping[str, Any], is_gpu: Callable[[str], bool]) -> Mapping[str, int]:
    """Return the GPUs of one pod: of its containers together, or of one that is first."""
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
            raise Unfit("spec.podSets: the number of GPUs is no whole number")
        if found:
            return found
    return Counter()


def amounts_of(resources: Any, is_gpu: Callable[[str], bool]) -> Counter[str] | None:
    """Return the GPUs among resources by what they are called; None if they are not whole."""
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
