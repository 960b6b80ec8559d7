"""plan.json as a typed value: what programs and people know of an experiment without its spec.

The job `plan` writes it once. Fields have the names and the order of the contract. Every field has a default, because
plans of earlier versions lack some.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from cortexdsl.checksums import write_lines
from cortexdsl.claims.cells import CellNames
from cortexdsl.core import Family, Limits, Match, StoppingRule
from cortexdsl.errors import RecordError
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.shards import Shard, first_questions, last_batch
from cortexdsl.typed_json import Codec, FieldError

SCHEMA_VERSION = 1


class LaterRecordError(RecordError):
    """A plan or an interim result of a later version of cortexdsl: it is neither read nor replaced."""


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """The facts about a dataset; of a file only the name, as its folder means nothing on other machines."""

    name: str = ""
    kind: str = ""
    metric: str = ""
    digest: str = ""
    questions_digest: str = ""
    source: str = ""
    rows: int | None = None
    revision: str | None = None

    def facts(self) -> dict[str, Any]:
        """Return the facts by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """An agent of any cell, with its model; addresses as the spec writes them."""

    name: str
    model: str = ""
    entry: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    persona: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CellRecord:
    """A cell.

    `most` are upper bounds for one question, `fixed` the counts that the plan fixes for each debate.
    """

    name: str
    slug: str = ""
    method: str = ""
    protocol: str = ""
    aliases: tuple[str, ...] = ()
    axes: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    debaters: tuple[str, ...] = ()
    match: Match | None = None
    digest: str = ""
    estimate: Mapping[str, Any] | None = None
    most: Mapping[str, float] | None = None
    fixed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """A phase of a training: its label, its name in paths, the digest and the name of what it trains."""

    label: str
    slug: str = ""
    digest: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """A training: what it learns from, and its phases."""

    name: str
    method: str = ""
    dataset: str = ""
    questions: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    samples: int = 0
    threshold: float = 0.0
    optimiser: Mapping[str, Any] = field(default_factory=dict)
    shards: tuple[Shard, ...] = ()
    phases: tuple[PhaseRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class LearnedRecord:
    """A fitted function: what it is fitted on, and the cells that use it.

    `cell` and `slug` are of the cell that debates its questions, under the `label` of a dataset of their own.
    """

    name: str
    predicts: str = ""
    features: tuple[str, ...] = ()
    by: str = ""
    cell: str = ""
    slug: str = ""
    dataset: str = ""
    label: str = ""
    questions: tuple[str, ...] = ()
    left_out: int = 0
    used_by: tuple[str, ...] = ()
    digest: str = ""
    shards: tuple[Shard, ...] = ()

    @property
    def base(self) -> str:
        """The function that expressions name: of several fits, trust-1 and trust-2, it is trust."""
        return self.name.partition("-")[0]


class PlannedCells:
    """What follows from the cells, shards and stopping of a plan, whether it was compiled or read from its file."""

    cells: Any
    shards: Mapping[str, tuple[Shard, ...]]
    stopping: StoppingRule | None

    @property
    def arms(self) -> list[CellNames]:
        """The cells as claims name them."""
        return [CellNames(cell.name, cell.method, cell.aliases, cell.axes) for cell in self.cells]

    @property
    def batches(self) -> int:
        """The number of interim tests if the experiment does not stop early."""
        return last_batch(self.shards)


@dataclass(frozen=True)
class PlanRecord(PlannedCells):
    """A plan; one without an experiment is that of a folder without plan.json, and is false.

    `layout` is not in the file: it has the paths of the folder that the plan was read from.
    """

    experiment: str = ""
    title: str = ""
    spec: str = ""
    spec_digest: str = ""
    seed: int = 0
    replicates: int = 0
    questions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    question_digests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    datasets: Mapping[str, DatasetRecord] = field(default_factory=dict)
    agents: tuple[AgentRecord, ...] = ()
    cells: tuple[CellRecord, ...] = ()
    shards: Mapping[str, tuple[Shard, ...]] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    families: tuple[Family, ...] = ()
    hypotheses: tuple[str, ...] = ()
    claims_digest: str = ""
    analysis: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    stopping: StoppingRule | None = None
    trainings: tuple[TrainingRecord, ...] = ()
    learned: tuple[LearnedRecord, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    estimate: Mapping[str, Any] = field(default_factory=dict)
    layout: Layout = field(default=Layout(""), compare=False)

    def __bool__(self) -> bool:
        return bool(self.experiment)

    @property
    def alpha(self) -> float:
        """The error that the experiment allows a family or its claims."""
        return float(self.analysis.get("alpha", 0.05))

    @property
    def correction(self) -> str:
        """How the p-values of claims are corrected."""
        return str(self.analysis.get("correction", "holm"))

    @property
    def most(self) -> dict[str, Mapping[str, float]]:
        """The most that one question of each cell can take; plans of earlier versions lack it."""
        return {cell.name: cell.most for cell in self.cells if cell.most}

    @property
    def fixed(self) -> dict[str, Mapping[str, float]]:
        """The counts that the plan fixes for each cell; plans of earlier versions lack them."""
        return {cell.name: cell.fixed for cell in self.cells if cell.fixed}

    def question_ids(self, batches: int | None = None) -> Mapping[str, Sequence[str]]:
        """Return the ids of every dataset's questions: all, or those of the first batches."""
        return first_questions(self.questions, self.shards, batches)


def _shard(record: Any) -> Shard:
    try:
        return Shard(*(int(record[name]) for name in ("replicate", "number", "first", "end")))
    except (KeyError, TypeError, ValueError) as error:
        raise FieldError("is not a shard") from error


_AT_TIMES = ("given", "labels", "layout", "learned")
"""Fields that the file has only if they have another value than their default."""


def _always() -> Iterator[str]:
    """Yield the fields that the file has also if they have their default."""
    for kind in (DatasetRecord, AgentRecord, CellRecord, PhaseRecord, TrainingRecord, PlanRecord, Family, Limits):
        yield from (f"{kind.__name__}.{each.name}" for each in fields(kind) if each.name not in _AT_TIMES)
    yield "StoppingRule.rule"


CODEC = Codec(
    forms={
        Shard: (lambda shard: asdict(shard) | {"label": shard.label}, _shard),
        float: (lambda value: value, lambda value: value),  # whole numbers stay whole
    },
    keys={
        "CellRecord.name": "cell",
        "TrainingRecord.name": "training",
        "PhaseRecord.label": "phase",
        "LearnedRecord.name": "learned",
        "LearnedRecord.features": "from",
    },
    always=[*_always()],
)


def write_plan(path: Path, plan: PlanRecord) -> None:
    """Write a plan, atomically."""
    write_lines(path, json.dumps(plan_json(plan), indent=1, ensure_ascii=True, default=dict).splitlines())


def plan_json(plan: PlanRecord) -> dict[str, Any]:
    """Return a plan as the JSON value of its file."""
    return {"schema_version": SCHEMA_VERSION, **CODEC.write(plan)}


def read_plan(path: Path) -> PlanRecord:
    """Read a plan.

    Raises
    ------
    RecordError
        The file is missing, is not a plan, or is of a later version.
    """
    record = read_json(path, "plan", SCHEMA_VERSION)
    try:
        return replace(parse_plan(record), layout=Layout(path.parent.as_posix()))
    except FieldError as error:
        raise _is_not_one(path, "plan", error) from error


def parse_plan(record: Mapping[str, Any]) -> PlanRecord:
    """Return a plan from the JSON value of its file.

    Raises
    ------
    FieldError
        A field has the wrong type.
    """
    return CODEC.read(PlanRecord, record)


def read_json(path: Path, what: str, version: int) -> dict[str, Any]:
    """Return the JSON value of a record of an experiment.

    Raises
    ------
    RecordError
        As for `read_plan`.
    """
    try:
        record = dict(json.loads(path.read_text(encoding="utf-8")))
        is_later = record["schema_version"] > version
    except OSError as error:
        raise RecordError(f"{path} is missing\n    run the experiment first: cortexdsl run SPEC") from error
    except ValueError as error:
        raise _is_not_one(path, what, f"it is not JSON ({error})") from error
    except (KeyError, TypeError) as error:
        raise _is_not_one(path, what, "it has no schema_version") from error
    if is_later:
        later = f"written by a later version of cortexdsl (schema {record['schema_version']})"
        raise LaterRecordError(f"{path}: {later}\n    update cortexdsl")
    return record


def _is_not_one(path: Path, what: str, why: object) -> RecordError:
    return RecordError(f"{path}: this is not a {what}: {why}\n    delete it; the workflow writes it again")


def plan_or_empty(layout: Layout) -> PlanRecord:
    """Return the plan of an experiment; empty if it is missing or damaged: it has an entry in the manifest."""
    try:
        return read_plan(Path(layout.plan))
    except RecordError:
        return PlanRecord(layout=layout)


def spec_of(layout: Layout) -> str:
    """Return the spec's path, by the plan; a placeholder if there is none."""
    return plan_or_empty(layout).spec or "SPEC"
