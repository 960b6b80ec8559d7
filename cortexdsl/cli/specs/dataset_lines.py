"""What `check` says of the questions of a spec: how each dataset was understood, and three of its questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.errors import Problem
from cortexdsl.spec.load import Spec
from cortexdsl.spec.text.extends import SOURCES
from cortexdsl.spec.text.nodes import Route
from cortexdsl.spec.text.reader import read_part
from cortexdsl.tasks.task import Task

EXAMPLES = 3
WIDTH = 76  # of a question, below its dataset

ANSWERS: Mapping[str, str] = {
    "number": "numbers", "choice": "one of the choices", "yesno": "yes or no", "expression": "expressions",
    "text": "short texts", "labels": "labels", "free": "free texts", "mixed": "of several kinds",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DatasetLine:
    """One dataset as a spec means it.

    Attributes
    ----------
    route : Route
        Its entry in the spec.
    task : Task
    size : str
        Where a size stands that leaves rows out, as `size: 20 from first.yaml:3`; empty if all are used.
    left : tuple of str
        What of an extended file belongs to another dataset, as `size of first.yaml:3`.
    """

    route: Route
    task: Task
    size: str = ""
    left: tuple[str, ...] = ()

    def head(self) -> str:
        """Return the dataset in one line."""
        return f"{self._name()}: {'; '.join(self._facts())}"

    def text(self) -> str:
        """Return the dataset in one line, and a few of its questions in a line each."""
        return "\n".join([self.head(), *(f"    {question}" for question in self.questions())])

    def questions(self) -> list[str]:
        """Return the first questions, each shortened to a line."""
        return [_shortened(question.text) for question in self.task.questions[:EXAMPLES]]

    def record(self) -> dict[str, Any]:
        """Return the same as plain values."""
        task, origin = self.task, self.task.origin
        return {
            "dataset": task.label,
            "source": origin.source,
            "revision": origin.revision,
            "rows": origin.rows,
            "used": len(task.items),
            "size": self.size,
            "left": list(self.left),
            "kind": task.kind,
            "columns": dict(origin.columns),
            "unanswered": origin.unanswered,
            "repeated": [list(rows) for rows in origin.repeated],
            "delimiter": origin.delimiter,
            "decimal": origin.decimal,
            "questions_digest": task.questions_digest,
            "questions": self.questions(),
        }

    def _name(self) -> str:
        label, source = self.task.label, self.task.origin.source
        if not Path(source).is_absolute():
            return label
        name = Path(source).name
        return name if label == Path(source).stem else f"{label} ({name})"

    def _facts(self) -> Iterator[str]:
        task, origin = self.task, self.task.origin
        used, rows = len(task.items), origin.rows
        if origin.source == "generated":
            yield f"{_counted(used, 'question')}, generated; answers are {ANSWERS[task.kind]}"
        else:
            limit = f" ({self.size})" if self.size and used < rows else ""
            read = f"{_counted(rows, 'row')}, {'all' if used == rows else f'{used:,}'} used{limit}"
            yield f"{read}, answers are {ANSWERS[task.kind]}, gold column {origin.columns['answer']!r}"
        if origin.source.startswith("hub: "):
            yield f"{origin.source}, revision {origin.revision or 'unknown'}"
        if origin.unanswered:
            yield f"{_counted(origin.unanswered, 'row')} without an answer left out"
        if origin.repeated:
            first = " and ".join(f"{row:,}" for row in origin.repeated[0])
            yield f"{_counted(len(origin.repeated), 'question')} asked more than once (rows {first}, ...)"
        if origin.delimiter not in (None, ",", "\t"):
            yield f"cells are divided by {origin.delimiter!r}"
        if origin.decimal == ",":
            yield "the comma is the decimal mark"
        if self.left:
            yield f"not used, since it belongs to another dataset: {', '.join(self.left)}"


def dataset_lines(spec: Spec, tasks: Mapping[str, Task]) -> list[DatasetLine]:
    """Return what is to be said of every dataset of a spec, from its tasks by label."""
    lines = []
    for label, task in tasks.items():
        route: Route = ("dataset",) if spec.text.dataset is not None else ("datasets", label)
        lines.append(DatasetLine(route, task, _size(spec, route), _left(spec, route)))
    return lines


def unpinned(spec: Spec, tasks: Mapping[str, Task]) -> Iterator[Problem]:
    """Yield the datasets of the hub that may hold other questions when the spec is run again."""
    for line in dataset_lines(spec, tasks):
        origin = line.task.origin
        if not origin.is_pinned:
            now = f"; today it is {origin.revision}" if origin.revision else ""
            yield spec.problem(
                line.route,
                f"dataset {line.task.label} is loaded from the hub without a commit, so its questions may change",
                f"write revision: COMMIT{now}; a run keeps the revision and a digest of the questions in plan.json",
            )


def _size(spec: Spec, route: Route) -> str:
    """Return the size that a dataset is cut to, and its place if that is another file."""
    node = spec.node.find((*route, "size"))
    if node is None:
        return "ids" if spec.node.find((*route, "ids")) else ""
    other = Path(node.mark.file) != spec.path
    return f"size: {node.plain()}" + (f" from {node.mark.file}:{node.mark.line}" if other else "")


def _left(spec: Spec, route: Route) -> tuple[str, ...]:
    """Name the words of an extended file that belong to another dataset than the one that replaced it."""
    found = []
    for path in spec.files:
        entry = read_part(path)[0].find(route) if path != spec.path else None
        for word, node in entry.mapping().items() if entry else ():
            if word not in SOURCES and spec.node.find((*route, word)) is None:
                found.append(f"{word} of {node.mark.file}:{node.mark.line}")
    return tuple(found)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _shortened(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(plain.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."
