"""compiled.json: the plan that the workflow compiled, for its jobs, which so need neither the spec nor the language.

The main process of a run writes it before the first job. Each job loads it. Questions are not in it: a job reads them
from the data, as the plan says. A job compares the digests of what it read with those that its rule names, so a data
file or a prompt that was edited meanwhile is noticed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.core import EMPTY, Cell
from cortexdsl.errors import InputError, RecordError
from cortexdsl.plan.digests import cell_digest
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.parts import LazyTasks
from cortexdsl.tasks.load import load
from cortexdsl.templates.templates import Templates
from cortexdsl.typed_json import Codec, FieldError, number, sequence, text

SCHEMA_VERSION = 3
CHANGED_REMEDY = "start snakemake again: what is finished is kept"
_REMEDY = "start the workflow, which writes it: cortexdsl run NAME"


def _number(value: object) -> float:
    """Read a number as it was written: a digest tells 1 from 1.0, as specs of earlier versions did."""
    number(value)
    return value  # type: ignore[return-value]


def _templates(folders: object) -> Templates:
    return Templates([Path(folder) for folder in sequence(text)(folders)])


_CODEC = Codec(
    forms={
        float: (lambda value: value, _number),
        "Plan.tasks": (lambda tasks: None, lambda record: EMPTY),  # loaded again, from the datasets
        "Plan.templates": (lambda templates: [*map(str, templates.own_folders)], _templates),
        "Plan.servers": (lambda servers: None, lambda record: EMPTY),  # the main process alone starts servers
    }
)


def write_compiled(plan: Plan) -> None:
    """Write the compiled plan of an experiment, atomically; one that trains models has none.

    The package that trains reads the spec itself.
    """
    if plan.trainings:
        Path(plan.layout.compiled).unlink(missing_ok=True)
        return
    record = {"schema_version": SCHEMA_VERSION, **_CODEC.write(plan)}
    write_lines(Path(plan.layout.compiled), [json.dumps(record, default=dict)])


def read_compiled(layout: Layout) -> Plan:
    """Read the compiled plan of an experiment.

    Raises
    ------
    RecordError
        There is none, or it was written by another version.
    """
    path = Path(layout.compiled).absolute()
    try:
        state = path.stat()
    except OSError as error:
        raise RecordError(f"{path}: there is no compiled plan ({error.strerror})\n    {_REMEDY}") from error
    return _read(path, (state.st_mtime_ns, state.st_size, state.st_ino))


@lru_cache(maxsize=8)
def _read(path: Path, state: tuple[int, ...]) -> Plan:
    """Read a file in one of its states: jobs that run in one process, or as forks of it, share what they read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["schema_version"] != SCHEMA_VERSION:
            raise FieldError(f"schema_version is {record['schema_version']}, not {SCHEMA_VERSION}")
        plan = _CODEC.read(Plan, record)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path}: this is not a compiled plan of this version ({error})\n    {_REMEDY}") from error
    return replace(plan, tasks=LazyTasks(plan.datasets, lambda label: load(plan.datasets[label])))


def check_cell(plan: Plan, cell: Cell) -> None:
    """Check that the digest of a cell is still that of its method, its knowledge, and the prompts as they are now.

    Raises
    ------
    InputError
        A prompt was edited after the workflow compiled the spec, or compiled.json was.
    """
    budget = plan.budget_of(cell)
    own = cell_digest(
        cell.debate, plan.seed, plan.templates.digest, cell.match, budget.digest if budget else None, cell.steps,
        plan.knowledge, plan.models, plan.fit_digests,
    )  # fmt: skip
    if own != cell.digest:
        raise InputError(f"{plan.spec_path} has changed since the workflow started: {cell.name}\n    {CHANGED_REMEDY}")
