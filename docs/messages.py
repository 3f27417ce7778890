"""Messages that users meet: message, cause, and what to do. ``docs/tables.py`` writes the page.

``...`` marks variable parts. Tests check that the sources have every message, and that the messages
for the mistakes in ``tests/mistakes.py`` are among them.
"""

# ruff: noqa: E501

from __future__ import annotations

from typing import Final

Row = tuple[str, str, str]

# fmt: off
MESSAGES: Final[dict[str, tuple[Row, ...]]] = {
    "Installation": (
        ("needs ...: pip install", "A feature needs another library.", "Install the extra that is named."),
        ("works only in the main interpreter of a process", "A sub-interpreter imported gpusched.", "Use a process or a thread."),
    ),
    "Commands and options": (
        ("must be at least", "A number is too small.", "Give a larger one; `--help` has the range."),
        ("must lie in", "A number is out of range.", "Give one within the limits that are named."),
        ("must be an integer", "A text or a fraction was given for a whole number.", "Give an integer. In Python, do not quote it."),
        ("must be finite and positive", "A load or bandwidth is 0, negative, infinite or NaN.", "Give a number above 0."),
        ("is not of the form KEY=VALUE", "An option such as `--column` needs a pair.", "Write `--column service_s=duration`."),
        ("is given twice", "Two values for one key of an option.", "Remove one."),
        ("cannot be combined with --servers or --gpus-per-server", "`--cluster` already states the servers.", "Use one or the other."),
        ("needs --nic-gbps", "Racks need the bandwidth of the servers.", "Add `--nic-gbps X`."),
        ("need a TRACE", "`--format`, `--column` and `--option` describe a file, and none was given.", "Name a trace."),
        ("--explain: there is no job", "No job has this position.", "Count from 0, or use `--explain id=ID`."),
    ),
    "Names and parameters": (
        ("unknown ...; did you mean", "No policy, placement, predictor, column or other thing has this name.", "Take the name that is proposed. `gpusched policies` lists all. Your own classes must be imported first: `gpusched --import FILE.py ...`."),
        ("unknown ...; known:", "The same, and no name is close.", "Take one of the names that are listed."),
        ("has no attribute ...; did you mean", "A misspelt name of the package.", "Take the name that is proposed."),
        (": unknown parameter", "The plug-in has no such parameter.", "`gpusched policies NAME` lists parameters and ranges."),
        (": parameter ... is", "The value is not one of the choices, or out of range.", "`gpusched policies NAME` lists them."),
        ("expected a number, not", "A text in place of a number.", "Give a number, without a unit."),
        (": expected key=value, not", "Parameters are `key=value` pairs with commas between.", "Write `2d-las:preset=lucid`; lists are `1000/10000`."),
        ("follows no policy", "A parameter has no policy before it.", "Write `NAME:KEY=VALUE`."),
        ("is listed twice", "Two policies of a comparison have the same label.", "Remove one, or give them different parameters."),
        ("expected a name, a Policy, an Order or a Scheduler, not", "`policy=` is something else, for instance a class.", "Pass an object of the class, `MyOrder()`."),
        ("expected a list of policies, not the single", "`gs.compare` takes a list.", 'Write `["fifo"]`.'),
        ("policies: at least one is needed", "The list of policies is empty.", "Name one."),
        (": the name ... is taken", "gpusched or a plug-in has this name, perhaps because a notebook cell ran twice.", "Take another name, or restart the process."),
        ("must not be empty or hold", "A name contains `:`, `,`, `=` or a space.", "Take another name, such as `my-order`."),
        ("must lie between 0 and 2**64 - 1", "A seed is out of range.", "Give another seed."),
        ("expected an integer, not", "A text in place of a whole number.", "Give an integer."),
        ("must be at least 1, not", "`threads` is 0 or negative.", "Give 1 or more."),
    ),
    "Reading traces and files": (
        ("the file is empty", "It has no bytes.", "Write it again."),
        (": no known format begins with", "The first line fits no format.", 'Name the format: `--format csv`, `format="csv"`.'),
        ("is missing; there are ... (name yours", "A column has another name than those known.", '`--column service_s=length`, `columns={"service_s": "length"}`.'),
        ("is missing; the header has", "The file does not have the columns of the format that you named.", "Name another format, or none."),
        ("no column ... for", "The column that you named is not in the file.", "Take one of those that are listed."),
        ("has no option", "The format knows no such option.", "Take one of those that are listed."),
        (": no jobs", "Every row broke a rule, or there is none. The message counts rows by rule.", "Look at the lines that it names: often a unit is wrong or a column is empty."),
        ("must be a number or a time like", "A submit time is neither.", "Convert the column; ISO 8601 dates are read."),
        ("must be unique, ... has it too", "Two jobs have the same id.", "Drop the column of ids, or correct the file."),
        ("must be positive", "A run time or a number of GPUs is 0 or negative.", 'Correct the row, or use `on_bad="reject"`.'),
        ("must be a finite number", "A value is NaN or infinite.", "Correct the row."),
        ("must hold ..., not", "A column has another type, such as text.", "Convert it first."),
        ("has length ..., not", "Columns differ in length.", "Give one value per job in each."),
        ("the mask has shape", "A filter needs one truth value per job.", "Build it from the trace, as `trace.gpus >= 8`."),
        ("durations need a table of throughputs", "A Gavel trace has steps, not times.", "Put `oracle_throughputs.json` into its folder, or name a table: `throughputs=`."),
        ("truncated or damaged ...", "The file ends too early.", "Fetch it again."),
        ("to read it, set a larger ...", "The file is larger, or unpacks to more, than the limit.", "`--max-bytes`, `max_bytes=`."),
        ("all jobs arrive at one instant; no load can be set", "A load is GPU time divided by the time between arrivals, which is 0.", "Leave `--load` out."),
        ("the last submit plus the sum of all services is", "Times are so long that a run could pass 2^62 microseconds.", "Check the unit: were microseconds given as seconds?"),
        ('must be "error" or "reject"', "`on_bad` has another value.", "Take one of the two."),
    ),
    "Clusters, performance models and predictors": (
        ("needs --profiles FILE, or --profiles zoo", "The performance model needs model profiles.", "`--profiles zoo`, or your own file."),
        ("the jobs have no profiles, see Trace.with_profiles and with_throughputs", "The same, in Python.", "`trace.with_profiles(gs.model.zoo())`; for `table`, `trace.with_throughputs(...)`."),
        ("has no effect under --speed", "A contention needs a performance model with links.", "Leave `--speed` out, or name `ring`."),
        (": has no effect under speed '...'; name another speed", "The same, in Python.", '`speed="ring"`, and profiles.'),
        (": has no ..., which speed ... needs", "A profile lacks a figure.", "Add the field to the profile."),
        (".nic_gbps: is missing", "Racks or the performance model need the bandwidth of the servers.", "`--nic-gbps`, `cluster.with_bandwidth`."),
        ("has no figure for GPU type", "A profile does not know a type of the cluster.", "Names must be equal, capitals included. Add the figure."),
        (": the trace has no ...", "The predictor `estimate` or `column` needs a column that the trace lacks.", "Add the column, or take another predictor."),
        ("the placement supports whole GPUs only", "Jobs ask for shares, CPU or memory.", "Take a placement that knows them, such as `best-fit`."),
        ("unknown domain", "A server or domain names a parent that the file lacks.", "Add the domain, or correct the name."),
        ("at least one group of servers is needed", "A cluster is empty.", "Add servers."),
        ("profiles: at least one is needed", "The list is empty.", "Give profiles, or leave it out."),
        ("expected a Trace, not", "The arguments are in another order.", "`gs.simulate(trace, cluster)`."),
        ("expected a Cluster, not", "A number of servers is not a cluster.", "`gs.Cluster.uniform(servers=8, gpus=8)`."),
    ),
    "Runs": (
        ("take turns; each of the last", "Jobs preempt each other and pay more than they gain (livelock).", "Take a longer scheduling interval (`period_s`), or lower restart overheads."),
        ("would lose at each preemption at least what it gains", "A restart costs as much work as a scheduling interval does.", "Lower the overhead, lengthen `period_s`, or set `restart=time`."),
        ("were requested only by the scheduler", "A scheduler wakes up again and again and starts nothing.", "Request later wake-ups, or start what waits."),
        ("the schedule passes 2^62 microseconds", "A job would finish beyond the end of time.", "Shorter run times or restart overheads, faster links."),
        ("the log has ... intervals, the last one of job ..., and max_intervals is", "`gs.LogLimitError`: the limit was passed. Its `result` holds what was done.", "Raise `max_intervals` (`--max-intervals`), or preempt less often."),
        ("of memory, and ... are available", "The run would not fit in memory (error), or needs more than half (warning).", "Fewer jobs, fewer runs at a time, or more memory."),
        ("stopped after ... of", "`gs.Cancelled`: your event `stop` was set.", "Nothing. `comparison` holds what had finished."),
    ),
    "Warnings": (
        ("forever, the first is job", "Jobs wait, nothing runs or is due, and the policy asks for no decision. They stay unfinished.", "The policy never starts them: look for a mistake in `decide`, or a placement that refuses what fits."),
        (" held, the first is job", "Jobs never joined the queue: a dependency is impossible, or their eligible time never comes.", "`--explain` the job; `--kill-invalid-depend` cancels those with an impossible dependency."),
        (" needs ..., but no job has one", "The trace lacks a column that the policy needs. It uses something else instead.", "Add the column (`trace.with_deadlines`, `estimate_s`), or take another policy."),
        (" decides by ..., and the speed of the run has none", "Without throughput every GPU type counts as equally fast.", '`speed="table"` and `trace.with_throughputs`.'),
        ("does not use priorities", "The trace has priorities, or `priority_age_s` is set, and the policy orders jobs by its own rule alone.", "A policy that works through a list, or `--ignore priority`."),
        (" rejected: ", "Jobs can never run on this cluster. The load does not count them.", "Take a larger cluster, or another placement."),
        (", left out of the job metrics", "Jobs were never started, were stopped with the run, or were cancelled.", "Look at `result.jobs.status`."),
        ("ignores the speeds of the cluster's GPU types", "The cluster states relative speeds of GPU types, which this performance model ignores.", "Give throughput for `table`, or leave `--speed` out."),
    ),
    "Plug-ins": (
        ("rank(view, jobs) is missing", "An order needs this method.", "Write it; check the spelling."),
        ("decide is missing", "A scheduler needs this method.", "Write `decide(self, state, finished, arrived, actions)`."),
        ("is not a subclass of", "The class was registered as another kind of plug-in.", "Use the decorator of its base class."),
        ("the object was never initialised: __init__ must call", "`__init__` does not call its base.", "Begin it with `super().__init__()`."),
        ("order: rank must return one number per job", "Another length, text, or nothing was returned.", "Return an array with one entry per entry of `jobs`."),
        ("order: the key of job ... is not finite", "NaN or infinity, often a division by 0 or a job without a deadline.", "Use `np.where`."),
        ("order: lifetime is '...'; allowed: fixed service clock", "A misspelt value.", "Take one of the three."),
        ("unknown attribute ...; did you mean", "An attribute or method is nearly one that a run reads.", "Correct it, or begin your own name with `_`."),
        ("this view is valid only during the call that passed it", "A view, state, actions or free GPUs were kept.", "Copy what you need; arrays may be kept."),
        ("this view is valid only in the thread of the call that passed it", "Another thread used them.", "Read in the call and pass on the values."),
        ("only the state of a scheduler lists jobs", "An order asked for `waiting` or `running`.", "It gets the jobs to rank as `jobs`."),
        ("has not arrived", "A job that is not known yet.", "Ask only about jobs that were shown."),
        ("one instance of a Python scheduler serves one run at a time", "Two runs share an object.", "Create one for each, or register the class."),
        ("cannot pickle or copy '...' objects of the core", "An attribute of a plug-in holds a view.", "Do not keep it, or leave it out in `__getstate__`."),
        ("the allocation must have all GPUs of the job", "More or fewer GPUs than the job needs.", "Give all; another size needs an elastic performance model."),
        ("the servers of an allocation must be named once each, in order", "Pieces in another order, or two on one server.", "Sort them and join the masks."),
        ("the GPU type is not allowed", "The job may not use this type.", "Look at `request.types`."),
        ("a GPU is not free", "The allocation overlaps a running job.", "Call `state.place` after each start."),
        ("only a waiting job can start", "It runs, has finished or is not known.", "Start each job once."),
        ("started in this decision, so it cannot ... in it", "A job was started and then stopped or resized.", "Choose first, then act."),
        ("stopped in this decision, so it cannot start in it", "A job was preempted and started.", "Use `suspend` and `restore`, or `resize`."),
        ("a wake-up must be in the future", "`wake(now_us)`.", "At least one microsecond later."),
        ("scheduler: warnings must return a list of str", "Something else was returned.", "Return a list, empty if there is nothing to report."),
    ),
    "Saved files and exports": (
        ("not a readable gpusched result", "The file is something else.", "Name a `result.npz` of `gpusched run --out`."),
        ("does not have the stored SHA-256: it was changed", "A byte differs from what was written.", "Fetch the file again; it cannot be read in part."),
        ("its schedule does not have the stored digest: it was changed", "The log and its checksums were changed.", "Run again from the specification."),
        ("it has layout ..., this version of gpusched reads", "Another version wrote it.", "Read it with that version; `version` is in its header."),
        ("must not be overwritten", "The target of a command is one of its inputs, perhaps by a link.", "Name another target, or another `--out`."),
        ("folder ... not found", "The folder of a target does not exist.", "Create it; only `--out` creates folders."),
        ("no export format has this extension", "The ending names no format.", "End in `.json`, `.csv` or `.swf`, or name `--format`."),
        ("format ...: ... is ...; allowed:", "An option has another value.", "Take one that is listed."),
        ("is not one of the ... jobs", "No job has this position.", "Count from 0 in order of submission."),
        ("no column ...; there are", "A result has no such column.", "Take one that is listed."),
        ("SWF counts whole seconds: rounded were", "The format has no fractions (a warning).", "Parquet and CSV keep them."),
        ("and set --data or ", "A paper's experiment needs published data.", "Fetch them, and set the variable."),
    ),
}
"""By part: the message, its cause, and what to do."""

ELSEWHERE: Final[tuple[Row, ...]] = (
    ("No module named", "`--import`, or a package, names a module that is not installed here.", "Install it, or give the path of a `.py` file."),
    ("No such file or directory", "The file does not exist here.", "Check path and spelling."),
    ("Is a directory", "A folder was named in place of a file.", "Name a file in it."),
    ("File exists", "`--out` names a file.", "Name a folder."),
    ("Object contains unknown field", "A TOML or JSON file has a field that gpusched does not know.", "Correct its name; the message has the place."),
    ("Expected ... - at", "A TOML or JSON file is malformed.", "Correct the line that is named."),
    ("got an unexpected keyword argument", "A misspelt argument in Python.", "`help(gs.simulate)` lists them."),
    ("missing ... required positional argument", "An argument is missing in Python.", "Add it."),
)
"""Messages of Python, the operating system and libraries."""
# fmt: on


def written() -> str:
    """Return the sections of the page, one table each."""
    parts = {**MESSAGES, "Python and the operating system": ELSEWHERE}
    return "\n".join(f"## {part}\n\n{_table(rows)}" for part, rows in parts.items())


def _table(rows: tuple[Row, ...]) -> str:
    lines = ["| Message | Cause | What to do |", "|---|---|---|"]
    lines += [f"| `{message}` | {cause} | {fix} |" for message, cause, fix in rows]
    return "\n".join(lines) + "\n"
