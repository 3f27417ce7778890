"""The description of a study, from and to texts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from gpusched.base.field_checks import check_name
from gpusched.base.files import decode_toml, naming, read_bytes
from gpusched.base.suggest import nearest, with_nearest_field
from gpusched.results.run_window import RunWindow
from gpusched.sweeping.spec_parts import ParameterAxis, beside, part_of, sequence_of
from gpusched.sweeping.spec_parts import StudyCluster as StudyCluster
from gpusched.sweeping.spec_parts import StudyTrace as StudyTrace

LONGEST_NAME: Final = 200
_CHOICES: Final = ("policies", "placements", "speeds", "contentions", "predictors")
AXES: Final = ("traces", "clusters", *_CHOICES, "seeds")
"""What can be zipped beside the names of the axes of parameters."""
_MOST_SEED: Final = 2**63 - 1


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What shall be run: each list is an axis, and all axes are crossed.

    From TOML by :meth:`read` or :meth:`from_toml`, from JSON, or from a mapping by :meth:`of`,
    which may hold objects of Python, too: traces, clusters, policies.

    Attributes
    ----------
    name
        A short name.
    traces, clusters
        At least one each; the fields of an entry are those of :class:`StudyTrace` and
        :class:`StudyCluster`.
    title
        For tables and reports.
    seeds
        Of generated jobs, of all that is drawn, and of random policies: equal for all policies.
    policies, placements, speeds, contentions, predictors
        Each entry a text such as ``"a-srpt:tau=0.5"``, or a table with ``policy`` (``placement``
        ...), a ``label`` for tables and the options. The speed ``"default"`` is what
        :func:`gpusched.simulate` takes without one.
    metrics
        Those that tables show, see :func:`gpusched.metrics`; none: the main ones.
    baseline
        Label of the policy that others are compared with; None: the first.
    warm_up_s, tail_s
        As of ``Result.summary``: what is not measured at the beginning and the end of each run.
    max_intervals
        As of :func:`gpusched.simulate`, for each run; no part of the names of runs.
    parameters
        Further axes, see :class:`ParameterAxis`.
    zip
        Groups of axes that are walked together and not crossed: ``[["traces", "clusters"]]``.
    runs
        If there are any, a run is made only for what one of these tables names: a value, or a
        list of values, for some axes (``trace``, ``jobs``, ``load``, ``window``, ``cluster``,
        ``policy``, ``placement``, ``speed``, ``contention``, ``predictor``, ``seed``, or the name
        of an axis of parameters).

    Raises
    ------
    TypeError, ValueError
        If a field is of a wrong type or out of range; the message has its path.

    Examples
    --------
    >>> study = gs.Study.of({
    ...     "name": "loads", "seeds": [1, 2], "policies": ["fifo", "srtf"],
    ...     "traces": [{"generate": "philly", "jobs": 100, "loads": [0.7, 0.9]}],
    ...     "clusters": [{"servers": 8, "gpus": 8}],
    ... })
    >>> gs.Study.from_toml(study.to_toml()) == study
    True
    """

    name: str
    traces: tuple[Any, ...]
    clusters: tuple[Any, ...]
    title: str = ""
    seeds: tuple[int, ...] = (0,)
    policies: tuple[Any, ...] = ("fifo",)
    placements: tuple[Any, ...] = ("consolidated",)
    speeds: tuple[Any, ...] = ("default",)
    contentions: tuple[Any, ...] = ("none",)
    predictors: tuple[Any, ...] = ("oracle",)
    metrics: tuple[str, ...] = ()
    baseline: str | None = None
    warm_up_s: float = 0.0
    tail_s: float | None = None
    max_intervals: int | None = None
    parameters: tuple[ParameterAxis, ...] = ()
    zip: tuple[tuple[str, ...], ...] = ()
    runs: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if len(self.name) > LONGEST_NAME:
            raise ValueError(f"name: {len(self.name)} characters are more than {LONGEST_NAME}")
        self._decode("traces", StudyTrace)
        self._decode("clusters", StudyCluster)
        for axis in (*_CHOICES, "seeds"):
            sequence_of(getattr(self, axis), axis)
        for position, seed in enumerate(self.seeds):
            if not 0 <= seed <= _MOST_SEED:
                raise ValueError(f"{seed} must lie in 0..{_MOST_SEED} - at `$.seeds[{position}]`")
        if len({*self.seeds}) < len(self.seeds):
            raise ValueError(f"seeds: one is listed twice in {list(self.seeds)}")
        RunWindow.of(self.warm_up_s, self.tail_s)
        if self.max_intervals is not None and self.max_intervals < 1:
            raise ValueError(f"max_intervals: {self.max_intervals} must be at least 1")
        self._check_metrics()

    def _decode(self, field: str, kind: type[msgspec.Struct]) -> None:
        """Make the entries of a field records; an object of Python becomes one that holds it."""
        entries = sequence_of(getattr(self, field), field)
        role = field.removesuffix("s")
        made = tuple(
            part_of(
                entry if isinstance(entry, Mapping | msgspec.Struct) and not _is_cluster(entry)
                else {role: entry},
                kind,
                f"{field}[{position}]",
            )
            for position, entry in enumerate(entries)
        )  # fmt: skip
        msgspec.structs.force_setattr(self, field, made)

    def _check_metrics(self) -> None:
        if not self.metrics:
            return
        from gpusched.results.metric_registry import metrics

        known = metrics()
        for position, key in enumerate(self.metrics):
            if key not in known:
                hint = nearest(key, list(known))
                raise ValueError(f"unknown metric {key!r}{hint} - at `$.metrics[{position}]`")

    @classmethod
    def of(cls, study: Study | Mapping[str, Any] | str | os.PathLike[str]) -> Study:
        """Return a study as it is, decode a mapping, or read a file.

        Returns
        -------
        Study
            The same object if it is one.

        Raises
        ------
        OSError
            If the file cannot be read.
        TypeError, ValueError
            If it is no study; the message has the path of the field.

        Examples
        --------
        >>> gs.Study.of({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}],
        ... }).policies
        ('fifo',)
        """
        if isinstance(study, cls):
            return study
        if isinstance(study, Mapping):
            with naming("study"):
                return cls._of(study)
        if isinstance(study, str | os.PathLike):
            return cls.read(study)
        raise TypeError(f"study: expected a Study, a mapping or a file, not {study!r}")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a TOML or JSON file; the files that it names are looked for beside it.

        Returns
        -------
        Study
            JSON if the name ends in ``.json``, else TOML.

        Raises
        ------
        OSError
            If it cannot be read.
        ValueError
            As :meth:`from_toml`.

        Examples
        --------
        >>> from pathlib import Path
        >>> study = gs.Study.of({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}],
        ... })
        >>> _ = Path("small.toml").write_text(study.to_toml())
        >>> gs.Study.read("small.toml") == study
        True
        """
        text, folder = read_bytes(path), Path(path).parent
        read = cls.from_json if os.fspath(path).endswith(".json") else cls.from_toml
        return read(text, os.fspath(path)).beside(folder)

    @classmethod
    def from_toml(cls, text: str | bytes, source: str = "study") -> Self:
        """Decode TOML text.

        Returns
        -------
        Study
            What :meth:`to_toml` wrote, or a person.

        Raises
        ------
        ValueError
            If it is not TOML, or a field is unknown, missing, of a wrong type or out of range;
            the message names ``source`` and the path of the field.

        Examples
        --------
        >>> text = '''
        ... name = "small"
        ... traces = [{generate = "philly", jobs = 9}]
        ... clusters = [{servers = 1, gpus = 8}]
        ... '''
        >>> gs.Study.from_toml(text).name
        'small'
        """
        with naming(source):
            return cls._of(decode_toml(text, dict[str, Any]))

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "study") -> Self:
        """Decode JSON text.

        Returns
        -------
        Study
            What :meth:`to_json` wrote, or a person.

        Raises
        ------
        ValueError
            As :meth:`from_toml`.

        Examples
        --------
        >>> text = '''{
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}]
        ... }'''
        >>> gs.Study.from_json(text).name
        'small'
        """
        with naming(source):
            return cls._of(msgspec.json.decode(text, type=dict[str, Any], strict=True))

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> Self:
        try:
            return msgspec.convert(dict(fields), cls, strict=True)
        except msgspec.ValidationError as error:
            # What a check of ours says has its path already, and msgspec adds that of the whole.
            told = str(error).replace("` - at `$`", "`")
            raise ValueError(with_nearest_field(told, cls)) from None

    def beside(self, folder: Path) -> Self:
        """Return the same study, its relative paths now from ``folder``.

        Returns
        -------
        Study
            Absolute paths stay.

        Raises
        ------
        TypeError
            If a file is to be looked for and ``folder`` is no :class:`pathlib.Path`.

        Examples
        --------
        >>> from pathlib import Path
        >>> study = gs.Study.of({
        ...     "name": "small", "clusters": [{"servers": 1, "gpus": 8}],
        ...     "traces": [{"file": "jobs.csv"}],
        ... })
        >>> study.beside(Path("data")).traces[0].file == str(Path("data", "jobs.csv"))
        True
        """
        if str(folder) == ".":
            return self
        return msgspec.structs.replace(
            self,
            traces=tuple(beside(part, folder) for part in self.traces),
            clusters=tuple(beside(part, folder) for part in self.clusters),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; fields that are as by default are left out.

        Returns
        -------
        dict
            What :meth:`of` takes.

        Raises
        ------
        ValueError
            If the study holds objects of Python, which no text can.

        Examples
        --------
        >>> study = gs.Study.of({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}],
        ... })
        >>> gs.Study.of(study.to_dict()) == study
        True
        """
        try:
            return dict(msgspec.to_builtins(self, enc_hook=_refused))
        except (TypeError, NotImplementedError) as error:
            raise ValueError(f"study {self.name}: cannot be written: {error}") from None

    def to_json(self) -> str:
        """Return JSON text that :meth:`from_json` turns back into an equal study.

        Returns
        -------
        str
            Ends in a line break.

        Examples
        --------
        >>> study = gs.Study.of({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}],
        ... })
        >>> gs.Study.from_json(study.to_json()) == study
        True
        """
        return msgspec.json.format(msgspec.json.encode(self.to_dict()), indent=2).decode() + "\n"

    def to_toml(self) -> str:
        """Return TOML text that :meth:`from_toml` turns back into an equal study.

        Returns
        -------
        str
            Ends in a line break.

        Examples
        --------
        >>> study = gs.Study.of({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}],
        ... })
        >>> gs.Study.from_toml(study.to_toml()) == study
        True
        """
        return "\n".join(toml_lines(self.to_dict())) + "\n"


def _is_cluster(entry: Any) -> bool:
    from gpusched.clusters.cluster import Cluster

    return isinstance(entry, Cluster)


def _refused(value: Any) -> Any:
    raise NotImplementedError(f"{type(value).__name__} is an object of Python")


def toml_lines(fields: Mapping[str, Any]) -> list[str]:
    """Write plain values and lists first, then each table of a list, as a person would."""
    plain = {key: value for key, value in fields.items() if not _is_tables(value)}
    lines = [f"{key} = {_toml(value)}" for key, value in plain.items()]
    for key, tables in fields.items():
        if key in plain:
            continue
        for table in tables:
            own = [f"{_key(name)} = {_toml(value)}" for name, value in table.items()]
            lines += ["", f"[[{key}]]", *own]
    return lines


def _is_tables(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(entry, dict) for entry in value)
    )


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_toml(entry)}" for key, entry in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # A JSON string is a TOML basic string, but for the one control character JSON lets pass.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else _toml(name)
