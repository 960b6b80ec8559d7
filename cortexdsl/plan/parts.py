"""Parts of a plan: its datasets, the judge, counterfactuals, permissions, fitted functions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cortexdsl.core import Ablation, Dataset, Label, Model
from cortexdsl.plan.shards import Shard
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task

JUDGED = "judged"
"""The metric that a judge computes."""


class LazyTasks(Mapping[str, Task]):
    """The tasks of datasets by label, each made when it is first used: a job needs one of them.

    Parameters
    ----------
    labels : collection of str
    make : callable
        Makes the task of a label; its errors are raised where the task is used.
    """

    def __init__(self, labels: Collection[str], make: Callable[[str], Task]) -> None:
        self._tasks: dict[str, Task | None] = dict.fromkeys(labels)
        self._make = make

    def __getitem__(self, label: str) -> Task:
        """Return the task of a label."""
        task = self._tasks[label] or self._make(label)
        self._tasks[label] = task
        return task

    def __iter__(self) -> Iterator[str]:
        """Iterate over the labels."""
        return iter(self._tasks)

    def __len__(self) -> int:
        """Return the number of datasets."""
        return len(self._tasks)


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """Facts that are declared about a dataset: its name, the number of its questions, digests of task and questions."""

    name: str
    questions: int
    digest: str
    questions_digest: str


def dataset_facts(tasks: Mapping[str, Task]) -> dict[str, DatasetFacts]:
    """Return the facts that are declared about datasets, by label."""
    return {
        label: DatasetFacts(task.name, len(task.questions), task.digest, task.questions_digest)
        for label, task in tasks.items()
    }


@dataclass(frozen=True, slots=True)
class Judging:
    """The judge of an experiment's answers.

    Attributes
    ----------
    model : Model
    datasets : tuple of str
        Labels of those whose answers are judged.
    prompt_digest : str
        Of its template.
    """

    model: Model
    datasets: tuple[str, ...]
    prompt_digest: str


@dataclass(frozen=True, slots=True)
class Labelling:
    """The labels of an experiment's turns.

    Attributes
    ----------
    labels : tuple of Label
    judge : Model or None
        The model that is asked about the labels with a prompt; None if there are none.
    prompt_digests : tuple of str
        Of the templates of these labels.
    """

    labels: tuple[Label, ...]
    judge: Model | None
    prompt_digests: tuple[str, ...]

    @property
    def judged(self) -> tuple[Label, ...]:
        """The labels that the judge is asked about."""
        return tuple(label for label in self.labels if label.prompt)


@dataclass(frozen=True, slots=True)
class Tournament:
    """The judges that compare the answers of all cells.

    Attributes
    ----------
    judges : tuple of Model
    prompt_digest : str
        Of their template.
    """

    judges: tuple[Model, ...]
    prompt_digest: str


@dataclass(frozen=True, slots=True)
class Whatif:
    """The counterfactuals of one cell.

    Attributes
    ----------
    cell : str
        Its name.
    without : tuple of Ablation
        Each in its own debates, each once.
    """

    cell: str
    without: tuple[Ablation, ...]


@dataclass(frozen=True, slots=True)
class Permission:
    """One thing that a spec needs its user's permission for.

    Attributes
    ----------
    what : str
        What it does, as a phrase that begins with a verb; on one line and printable.
    where : str
        Where the spec says so.
    content : str
        Digest of the code that runs, so that other code needs permission again; else empty.
    function : str
        The Python function that is called, as `package.module:function`; else empty.
    """

    what: str
    where: str
    content: str = ""
    function: str = ""


def digest_of(permissions: Sequence[Permission]) -> str:
    """Return a digest of what is permitted: of the phrases, and of the code that runs."""
    lines = sorted(f"{one.what}\0{one.content}" for one in permissions)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Learned:
    """A fitted function of a spec.

    Attributes
    ----------
    name, predicts, by : str
    base : str
        What expressions call it: several fits of one entry, one for each replicate, have names of their own.
    features : tuple of str
        `from` of the spec.
    cell : str
        The cell whose debates it is fitted on.
    label : str
        The name of its questions among the datasets of debates; functions with equal questions share it.
    dataset : Dataset
        Its questions, by their ids.
    shards : tuple of Shard
    left_out : int
        Questions of its dataset that only resemble one that the experiment asks.
    digest : str
        Of everything that the fit depends on.
    """

    name: str
    base: str
    predicts: str
    by: str
    features: tuple[str, ...]
    cell: str
    label: str
    dataset: Dataset
    shards: tuple[Shard, ...]
    left_out: int
    digest: str

    @cached_property
    def task(self) -> Task:
        """Its questions; a job loads them again, because its plan has their ids alone."""
        return load(self.dataset)
