"""Random calls of the public functions, good ones and bad ones, for ``bench.same_as``."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import gpusched as gs
from bench.same_values import tags_apart

WRONG: Final = (
    None, -1, 0, 1.5, True, "", "nope", "fifoo", "srft", float("nan"), float("inf"), 1e30, 2**70,
    (), [], {}, ["fifo", "fifo"], b"x", object, np.array([1, 2]), "3",
)  # fmt: skip
"""Occasional replacements of good values."""
COLUMNS: Final = (
    "id", "user", "queue", "group", "status", "estimate_s", "predicted_s", "weight", "gpu_share",
    "cpu", "memory_gib", "deadline_s", "value",
)  # fmt: skip
Call = Callable[[], Any]


class Draw(random.Random):
    """Draws what a call is made with; its numbers are a matter of the seed alone."""

    def __init__(self, seed: str, names: dict[str, Any], here: Path) -> None:
        super().__init__(seed)
        self.names, self.here = names, here

    def one(self, kind: str) -> str:
        """Return a name of a kind, at times with a parameter."""
        name = self.choice(self.names[kind])
        parameters = self.names.get(f"{kind} parameters", {}).get(name, [])
        if parameters and self.random() < 0.4:
            parameter = self.choice(parameters)
            value = self.choice(parameter["choices"] or [parameter["default"], 0, 1, 2.5, "x", -1])
            return f"{name}:{parameter['name']}={value}"
        return name

    def policy(self) -> str:
        """Return a policy; half of the draws are of the common ones."""
        common = ("fifo", "fifo-skip", "sjf", "srtf", "2d-las", "easy", "las", "conservative")
        return self.choice(common) if self.random() < 0.4 else self.one("policies")

    def trace(self) -> gs.Trace:
        """Return a generated trace, or one of odd columns."""
        if self.random() < 0.5:
            name = self.choice(("philly", "helios", "itp", "acme", "pai"))
            load, cluster = self.choice((0.5, 0.9, 1.3)), gs.Cluster.uniform(self.randint(8, 20))
            trace = gs.generate(name, self.randint(1, 120), load, cluster, self.randint(0, 99))
        else:
            trace = gs.Trace.from_columns(**self.columns())
        if self.random() < 0.2:
            trace = trace.with_deadlines(seed=self.randint(0, 9))
        if self.random() < 0.2:
            trace = trace.with_profiles(list(gs.models.zoo().values()), seed=1)
        if self.random() < 0.1:
            trace = trace.with_elasticity(min_gpus=1, max_gpus=16)
        return trace

    def columns(self) -> dict[str, Any]:
        """Return columns of a trace, some with rows that are no jobs."""
        count = self.randint(1, 40)
        odd = self.random() < 0.25
        services = (1, 5, 60, 0.5, 1e4, *((-1, 0) if odd else ()))
        widths = (1, 1, 2, 4, 8, 16, *((0, 999) if odd else ()))
        given: dict[str, Any] = {
            "submit_s": [self.randint(0, 400) for _ in range(count)],
            "service_s": self.choices(services, k=count),
            "gpus": self.choices(widths, k=count),
        }
        for name in self.sample(COLUMNS, self.randint(0, 5)):
            given[name] = [self._cell(name, row) for row in range(count)]
        kind = self.random()
        if kind < 0.2:
            given = {name: np.array(held) for name, held in given.items()}
        elif kind < 0.25:
            del given[self.choice(list(given))]
        elif kind < 0.3:
            given[self.choice(list(given))] = self.choice(WRONG)
        if self.random() < 0.9:
            given["on_bad"] = self.choice(("reject",) * 8 + ("error", "ignore"))
        return given

    def _cell(self, name: str, row: int) -> Any:
        if name in ("user", "queue", "group"):
            return self.choice(("a", "b", "c"))
        if name == "status":
            return self.choice(("ok", "ok", "failed", "killed", "unknown"))
        if name == "id":
            return f"job-{row}" if self.random() < 0.98 else "job-0"
        if name == "gpu_share":
            return self.choice((1.0, 1.0, 0.5, 0.25))
        return self.choice((1, 2, 10, 500, 1000, 5000))

    def cluster(self) -> gs.Cluster:
        """Return a cluster of one or several kinds of servers."""
        if self.random() < 0.6:
            cluster = gs.Cluster.uniform(self.randint(1, 12), self.choice((1, 2, 4, 8, 8, 8)))
        else:
            groups = [
                gs.ServerGroup(self.randint(1, 4), self.choice((2, 4, 8)), kind)
                for kind in self.sample(("V100", "A100", "T4"), self.randint(1, 3))
            ]
            cluster = gs.Cluster(tuple(groups), name=self.choice(("cluster", "mixed")))
        if self.random() < 0.3:
            cluster = cluster.with_bandwidth(nic_gbps=25, intra_gbps=400)
            if self.random() < 0.5:
                cluster = cluster.with_racks(self.randint(1, 4), self.choice((1.0, 2.0)))
        return cluster

    def chosen(self) -> dict[str, Any]:
        """Return what decides a run besides jobs and servers; each is left out at times."""
        options = {
            "policy": self.policy(),
            "placement": self.one("placements"),
            "predictor": self.one("predictors"),
            "speed": self.one("speeds"),
            "contention": self.one("contentions"),
            "seed": self.randint(0, 5),
        }
        odds = (0.9, 0.5, 0.15, 0.15, 0.1, 0.3)
        return {
            key: value
            for (key, value), chance in zip(options.items(), odds, strict=True)
            if self.random() < chance
        }

    def spoil(self, options: dict[str, Any], chance: float = 0.12) -> dict[str, Any]:
        """Return the options, at times with one that is wrong or misspelt."""
        if not options or self.random() >= chance:
            return options
        name = self.choice(sorted(options))
        if self.random() < 0.25:
            return {**options, f"{name}s": 1}
        return {**options, name: self.choice(WRONG)}


def simulate(draw: Draw) -> Any:
    """Run a policy, and ask its result something."""
    options = draw.chosen()
    if draw.random() < 0.1:
        options |= {"verify": True, "max_intervals": draw.choice((5, 1000, None))}
    result = gs.simulate(draw.trace(), draw.cluster(), **draw.spoil(options))
    more: Any = None
    match draw.randint(0, 9):
        case 0:
            more = result.explain(draw.randint(0, 40))
        case 1:
            more = result.by(draw.choice(("user", "queue", "gpus", "month", "nope")))
        case 2:
            more = result.summary(warm_up_s=draw.choice((0, 10, 1e9, -1)), tail_s=1)
        case 3:
            more = result.metric(draw.choice([*draw.names["metrics"], "nope"]))
        case 4:
            more = result.cost(draw.choice((2.5, {"V100": 1.0}, "x")))
        case 5:
            more = result.summary_with(draw.sample(draw.names["metrics"], 3))
        case 6:
            more = result.audit(level=draw.choice(("log", "decisions", "nope")))
        case 7:
            target = f"{draw.choice(('a.json', 'a.csv', 'a.swf', 'a.xyz'))}"
            more = result.export_with_losses(target)
    return {"result": result, "digest": result.digest, "summary": result.summary(),
            "jobs": result.to_polars(), "more": more}  # fmt: skip


def on_links(draw: Draw) -> Any:
    """Run jobs whose speeds depend on placement and shared links."""
    trace = gs.generate("philly", 60, 1.1, gs.Cluster.uniform(8), draw.randint(0, 99))
    trace = trace.with_profiles(list(gs.models.zoo().values()), seed=1)
    servers = gs.Cluster.uniform(8, 4).with_bandwidth(nic_gbps=draw.choice((1, 10)), intra_gbps=400)
    placement = draw.choice(("spread", "first-fit", "consolidated"))
    contention = draw.choice(("shared", "none"))
    return gs.simulate(trace, servers, policy=draw.choice(("fifo", "srtf", "las")), speed="ring",
                       placement=placement, contention=contention).summary()  # fmt: skip


def compare(draw: Draw) -> Any:
    """Compare policies."""
    names = [draw.policy() for _ in range(draw.randint(1, 4))]
    options = {"placement": draw.one("placements"), "seed": draw.randint(0, 3), "threads": 1}
    found = gs.compare(draw.trace(), draw.cluster(), names, **draw.spoil(options))
    return found if draw.random() < 0.8 else found.by(draw.choice(("user", "gpus")))


def trace(draw: Draw) -> Any:
    """Make a trace and change it."""
    made = draw.trace()
    change = draw.choice(
        (
            lambda: made.head(draw.randint(0, 30)),
            lambda: made.sample(draw.choice((0.1, 0.5, 1.0, 2.0)), seed=3),
            lambda: made.scale_load(draw.choice((0.5, 2.0, 0.0))),
            lambda: made.with_load(draw.choice((0.5, 1.5, -1)), draw.randint(0, 64)),
            lambda: made.between(draw.choice((0, 10, None)), draw.choice((100, 5, None))),
            lambda: made.filter(made.gpus > 1),
            lambda: made.with_deadlines(**draw.spoil({"tightness": 1.5, "share": 0.5}, 0.4)),
            lambda: made.offered_load(draw.randint(0, 64)),
            lambda: gs.Trace.from_polars(made.to_polars()),
            lambda: gs.traces.smallest_cluster(made),
            lambda: gs.traces.audit_trace(made),
            lambda: gs.bounds.lower_bounds(made, draw.cluster()),
        )
    )
    return change()


def generate(draw: Draw) -> Any:
    """Generate a trace."""
    options = {"name": draw.choice(("philly", "helios", "itp", "acme", "pai")),
               "jobs": draw.randint(1, 300), "load": draw.choice((0.3, 0.9, 2.0)),
               "seed": draw.randint(0, 1000)}  # fmt: skip
    return gs.generate(**draw.spoil(options, 0.3))


def cluster(draw: Draw) -> Any:
    """Build a cluster, or its parts."""
    if draw.random() < 0.4:
        return draw.cluster()
    group = {"count": draw.randint(1, 9), "gpus": draw.randint(1, 64), "gpu_type": "A100",
             "cpu": 64.0, "memory_gib": 512.0, "nic_gbps": 100.0, "intra_gbps": 600.0}  # fmt: skip
    made = gs.ServerGroup(**draw.spoil(group, 0.5))
    if draw.random() < 0.5:
        return gs.Cluster(**draw.spoil({"servers": (made, made), "name": "two"}, 0.5))
    text = gs.Cluster((made,)).to_toml()
    return gs.Cluster.from_toml(text if draw.random() < 0.5 else text.replace("=", ":", 1))


def policy(draw: Draw) -> Any:
    """Name a policy with parameters, as an object or a text."""
    name = draw.choice(draw.names["policies"])
    known = {one["name"]: one["default"] for one in draw.names["policies parameters"][name]}
    given = {key: known[key] for key in draw.sample(sorted(known), min(2, len(known)))}
    if draw.random() < 0.5:
        return gs.Policy(name, **draw.spoil(given, 0.5))
    text = ",".join(f"{key}={value}" for key, value in given.items())
    return gs.Policy.parse(f"{name}:{text}" if text else draw.one("policies"))


def run_spec(draw: Draw) -> Any:
    """Run the specification of a run again."""
    made = draw.trace()
    spec = gs.simulate(made, draw.cluster(), policy=draw.policy()).spec
    other = made if draw.random() < 0.8 else draw.trace()
    return spec, gs.run(spec, other, **draw.spoil({"verify": False, "max_intervals": 1000}))


def simulation(draw: Draw) -> Any:
    """Step through a run, and do something to it."""
    run = gs.Simulation(draw.trace(), draw.cluster(), **draw.spoil(draw.chosen()))
    seen: list[Any] = []
    run.on("start", lambda event: seen.append((event.time_s, event.job)))
    for _ in range(draw.randint(0, 8)):
        match draw.randint(0, 8):
            case 0:
                run.cancel(draw.randint(0, 20))
            case 1:
                run.set(policy=draw.policy())
            case 2:
                run = run.fork()
            case 3:
                run.submit(gs.Trace.from_columns([run.now + 5], [30], [draw.choice((1, 8, 99))]))
            case 4:
                run.run_until(run.now + draw.choice((1.0, 100.0, 1e5)))
            case 5:
                run.save("run")
                run = gs.resume("run")
            case 6:
                seen.append(run.state)
            case _:
                seen.append((run.step(), run.now, run.next_time, run.done))
    if draw.random() < 0.7:
        run.run()
    return seen, run.result()


def save_and_load(draw: Draw) -> Any:
    """Save a result and load it, the file whole or damaged."""
    gs.simulate(draw.trace(), draw.cluster(), policy=draw.policy()).save("saved.npz")
    if draw.random() < 0.3:
        data = bytearray(Path("saved.npz").read_bytes())
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        Path("saved.npz").write_bytes(data)
    return gs.load_result("saved.npz")


def read_text(draw: Draw) -> Any:
    """Read a CSV file with odd cells."""
    cells = ("0", "10", "5.5", "", "x", "-3", "1e3", "2024-05-01 10:00:00", "nan", '"1', "8;2")
    names = draw.choice(("submit_s,service_s,gpus", "submit_s,service_s,gpus,user", "a,b,c",
                         "job_id,submission_time,duration,num_gpu"))  # fmt: skip
    rows = [
        ",".join(draw.choice(cells[:2] if draw.random() < 0.9 else cells) for _ in names.split(","))
        for _ in range(draw.randint(0, 12))
    ]
    Path("odd.csv").write_text("\n".join([names, *rows]) + "\n")
    return gs.read_trace("odd.csv", **draw.spoil({"on_bad": "reject"}, 0.3))


def decide(draw: Draw) -> Any:
    """Take the state of a run and decide on it, or ask when a job starts."""
    run = gs.Simulation(draw.trace(), draw.cluster(), policy=draw.choice(("fifo", "srtf", "easy")))
    for _ in range(draw.randint(0, 30)):
        run.step()
    state = gs.deciding.ClusterState.of(run)  # type: ignore[attr-defined]
    if draw.random() < 0.75:
        options = {"policy": draw.policy(), "placement": draw.one("placements"), "seed": 1}
        return state, gs.decide(state, **draw.spoil(options))
    options = {"policy": draw.choice(("fifo", "srtf", "easy")), "samples": 20, "threads": 1}
    return gs.when(draw.randint(0, 20), state, **draw.spoil(options))


def whatif(draw: Draw) -> Any:
    """Ask what a change would do."""
    changes = draw.sample(("policy=easy", "servers=4", "load=1.2", "placement=best-fit", "x=1"), 2)
    return gs.whatif(draw.trace(), draw.cluster(), "fifo", changes, **draw.spoil({"threads": 1}))


def fidelity(draw: Draw) -> Any:
    """Grade a trace that has waits of its own."""
    made = gs.generate("philly", 60, 1.0, gs.Cluster.uniform(4), draw.randint(0, 9))
    frame = made.to_polars().with_columns(source_wait_s=made.submit_s % 60)
    made = gs.Trace.from_polars(frame)
    return gs.fidelity(made, servers=(3, 4), policies=("fifo", "sjf"), **draw.spoil({"threads": 1}))


def size(draw: Draw) -> Any:
    """Find the fewest servers."""
    goal = draw.choice(
        ("mean_wait_s < 60", "p95_wait_s < 600 and p99_jct_s < 2 d", "x < 1", "gap <")
    )
    made = gs.generate("philly", 60, 0.9, gs.Cluster.uniform(4), draw.randint(0, 9))
    return gs.size(made, goal, **draw.spoil({"policy": "fifo", "resamples": 3, "threads": 1}))


def study(draw: Draw) -> Any:
    """Describe a study, and do it at times."""
    fields = {"name": "s", "traces": ({"generate": "philly", "jobs": 20, "loads": (0.7, 1.1)},),
              "clusters": ({"servers": 4, "gpus": 8},), "seeds": (0, 1),
              "policies": (draw.policy(), "fifo"), "metrics": ("mean_jct_s",)}  # fmt: skip
    made = gs.Study(**draw.spoil(fields, 0.4))
    return gs.sweep(made) if draw.random() < 0.5 else made


def tune(draw: Draw) -> Any:
    """Search the options of a policy."""
    space = {"policy": "las", "tune": ["period_s"]}
    described = {"name": "s", "traces": [{"generate": "philly", "jobs": 20, "loads": [1.1]}],
                 "clusters": [{"servers": 2, "gpus": 8}], "seeds": [0]}  # fmt: skip
    options = {"trials": 3, "held_out": 2, "seed": draw.randint(0, 3)}
    return gs.tune([space], described, "mean_jct_s", **draw.spoil(options, 0.3))


def register(draw: Draw) -> Any:
    """Register an order, or a metric, use it and forget it."""

    class Widest(gs.Order):
        """The widest first."""

        def rank(self, view: Any, jobs: Any) -> Any:
            return [-float(view.gpus[job]) for job in jobs]

    name = draw.choice(("mine", "fifo", "my order", "", "a:b"))
    if draw.random() < 0.5:
        fields = {"unit": "count", "summary": "Wide jobs.", "better": "lower", "table": "main"}
        register = gs.register_metric(name, **draw.spoil(fields, 0.5))
        register(lambda run: int((run.trace.gpus > 2).sum()))
        used: Call = lambda: gs.simulate(draw.trace(), draw.cluster()).summary()  # noqa: E731
    else:
        gs.register_order(name)(Widest)
        used = lambda: gs.simulate(draw.trace(), draw.cluster(), policy=name)  # noqa: E731
    try:
        return used(), gs.metrics().get(name)
    finally:
        gs.unregister(name)


def report(draw: Draw) -> Any:
    """Write a report and return what it holds."""
    found = gs.compare(draw.trace(), draw.cluster(), ["fifo", "srtf"], threads=1)
    gs.write_report(found, "report.html", **draw.spoil({"window_s": (0.0, 3_600.0)}, 0.3))
    return tags_apart(Path("report.html").read_text())


KINDS: Final[dict[Callable[[Draw], Any], int]] = {
    simulate: 28, on_links: 2, compare: 5, trace: 14, generate: 8, cluster: 8, policy: 6,
    run_spec: 4, simulation: 8, save_and_load: 3, read_text: 6, decide: 8, whatif: 1,
    fidelity: 1, size: 1, study: 2, tune: 1, register: 3, report: 1,
}  # fmt: skip
"""How often each is drawn."""


def draw_call(draw: Draw) -> tuple[str, Call]:
    """Return the name of a call and the call."""
    kind = draw.choices(list(KINDS), weights=list(KINDS.values()))[0]
    return kind.__name__, lambda: kind(draw)
