"""Verb `data` (list, show and sample datasets), and the lines about the datasets of a spec that `check` prints."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.core import Dataset, Question
from cortexdsl.errors import DataError, Problem
from cortexdsl.jobs.options import VerbParser
from cortexdsl.language.inheritance import SOURCES
from cortexdsl.language.nodes import Route
from cortexdsl.language.reader import read
from cortexdsl.language.spec import Spec, load_spec
from cortexdsl.numbers import counted
from cortexdsl.tasks.load import load
from cortexdsl.tasks.reading.kinds import KINDS, OPEN
from cortexdsl.tasks.registry import DatasetEntry, entry_named, registry
from cortexdsl.tasks.task import Task
from cortexdsl.text_layout import aligned

EXAMPLES = 3
WIDTH = 76  # of a question, below its dataset

ANSWERS = {name: kind.plural for name, kind in KINDS.items()} | {"mixed": "of several kinds"}


@dataclass(frozen=True, slots=True)
class DatasetLine:
    """One dataset of a spec, as it was read.

    Attributes
    ----------
    route : Route
        Its entry in the spec.
    task : Task
    size : str
        The entry that leaves rows out, such as `size: 20 from first.yaml:3`; empty if all rows are used.
    left : tuple of str
        Keys of an extended file that belong to another dataset, such as `size of first.yaml:3`.
    """

    route: Route
    task: Task
    size: str = ""
    left: tuple[str, ...] = ()

    def head(self) -> str:
        """Return the dataset in one line."""
        return f"{self._name()}: {'; '.join(self._facts())}"

    def text(self) -> str:
        """Return the dataset in one line, and its first questions with their golds."""
        lines = [self.head()]
        for example in self.examples():
            gold = "" if self.task.kind == OPEN else f" -> {_shortened(example['gold']) or '(no answer)'}"
            lines.append(f"    {_shortened(example['question'])}{gold}")
            lines += [f"        {_shortened(example[part])}" for part in ("options", "passage") if example[part]]
        return "\n".join(lines)

    def examples(self) -> list[dict[str, str]]:
        """Return what an agent sees of the first questions, and their golds."""
        return [
            {
                "question": question.text,
                "options": " ".join(f"({label}) {text}" for label, text in question.options),
                "passage": question.context,
                "gold": " | ".join(self.task.gold(question.id)),
            }
            for question in self.task.questions[:EXAMPLES]
        ]

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
            "repeated": [list(rows) for rows in origin.repeated],
            "delimiter": origin.delimiter,
            "decimal": origin.decimal,
            "questions_digest": task.questions_digest,
            "questions": self.examples(),
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
            yield f"{counted(used, 'question')}, generated; answers are {ANSWERS[task.kind]}"
        else:
            used //= 2 if task.kind == "pair" else 1
            limit = f" ({self.size})" if self.size and used < rows else ""
            read = f"{counted(rows, 'row')}, {'all' if used == rows else f'{used:,}'} used{limit}"
            gold = "" if task.kind == OPEN else f", gold column {origin.columns['answer']!r}"
            yield f"{read}, answers are {ANSWERS[task.kind]}{gold}"
        if task.kind == "pair":
            yield "each pair is asked in both orders"
        if origin.source.startswith("hub: "):
            yield f"{origin.source}, revision {origin.revision or 'unknown'}"
        if origin.repeated:
            first = " and ".join(f"{row:,}" for row in origin.repeated[0])
            yield f"{counted(len(origin.repeated), 'question')} asked more than once (rows {first}, ...)"
        if origin.delimiter not in (None, ",", "\t"):
            yield f"cells are divided by {origin.delimiter!r}"
        if origin.decimal == ",":
            yield "the comma is the decimal mark"
        if self.left:
            yield f"not used, since it belongs to another dataset: {', '.join(self.left)}"


def dataset_lines(spec: Spec, tasks: Mapping[str, Task]) -> list[DatasetLine]:
    """Return one line for each dataset of a spec; `tasks` by label."""
    lines = []
    for label, task in tasks.items():
        route: Route = ("dataset",) if spec.text.dataset is not None else ("datasets", label)
        lines.append(DatasetLine(route, task, _size(spec, route), _left(spec, route)))
    return lines


def unpinned(spec: Spec, tasks: Mapping[str, Task]) -> Iterator[Problem]:
    """Yield the datasets of the hub without a commit: their questions may change before the next run."""
    for line in dataset_lines(spec, tasks):
        origin = line.task.origin
        if not origin.is_pinned:
            now = f"; today it is {origin.revision}" if origin.revision else ""
            yield spec.problem(
                line.route,
                f"dataset {line.task.label} is loaded from the hub without a commit, so its questions may change",
                f"write @COMMIT after its name{now}; a run keeps it and a digest of the questions in plan.json",
            )


def _size(spec: Spec, route: Route) -> str:
    """Return the size of a dataset in the spec, with its place if that is another file."""
    node = spec.node.find((*route, "size"))
    if node is None:
        return "ids" if spec.node.find((*route, "ids")) else ""
    other = Path(node.mark.file) != spec.path
    return f"size: {node.plain()}" + (f" from {node.mark.file}:{node.mark.line}" if other else "")


def _left(spec: Spec, route: Route) -> tuple[str, ...]:
    """Return the keys of an extended file that belong to the dataset that was replaced."""
    keys = []
    for path in spec.files:
        entry = read(path).find(route) if path != spec.path else None
        for word, node in entry.mapping().items() if entry else ():
            if word not in SOURCES and spec.node.find((*route, word)) is None:
                keys.append(f"{word} of {node.mark.file}:{node.mark.line}")
    return tuple(keys)


def _shortened(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(plain.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."


SAMPLE = 3  # questions
_LONGEST_PASSAGE = 600


def add_data_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="print all listed datasets, one per line")
    show = actions.add_parser("show", help="print where a dataset comes from, and how it is read and graded")
    show.add("name", "a dataset of the list")
    sample = actions.add_parser("sample", help="print some questions as agents see them, with their right answers")
    sample.add("name", "a dataset of the list, or a spec (FILE.yaml) with your own file or a dataset of the hub")
    sample.add("--path", "for a dataset of the list: the official file or folder", type=Path)
    sample.add("--size", f"how many questions (default: {SAMPLE})", type=int)


def run_data(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.action == "list":
        print(_table())
    elif args.action == "show":
        print(_shown(entry_named(args.name)))
    else:
        for line in _spec_lines(args) if args.name.endswith((".yaml", ".yml")) else [_line(args)]:
            print(_sample(line, SAMPLE if args.size is None else args.size))
    return 0


def _spec_lines(args: argparse.Namespace) -> list[DatasetLine]:
    """Load the datasets of a spec with its own settings."""
    if args.path:
        raise DataError(f"data sample {args.name}: --path is for a dataset of the list: a spec says it itself")
    spec = load_spec(args.name)
    return dataset_lines(spec, {label: load(dataset) for label, dataset in spec.datasets.items()})


def _line(args: argparse.Namespace) -> DatasetLine:
    """Load the dataset of the arguments."""
    path = str(args.path.absolute()) if args.path else None
    dataset = Dataset(label=args.name, name=args.name, path=path, size=args.size)
    return DatasetLine((), load(dataset), "" if dataset.size is None else f"size: {dataset.size}")


def _table() -> str:
    rows = [(name, kinds_of(entry), metrics_of(entry), entry.title) for name, entry in registry().items()]
    return "\n".join(aligned(rows, right=False))


def kinds_of(entry: DatasetEntry) -> str:
    """Return the kind of answers of a dataset, or `mixed` if it differs between its subsets."""
    kinds = {entry.of_subset(subset).kind for subset in entry.subsets} or {entry.kind}
    return kinds.pop() if len(kinds) == 1 else "mixed"


def metrics_of(entry: DatasetEntry) -> str:
    """Return the metric of a dataset, or `mixed` if it differs between its subsets."""
    metrics = {entry.of_subset(subset).metric_name for subset in entry.subsets} or {entry.metric_name}
    return metrics.pop() if len(metrics) == 1 else "mixed"


def _shown(entry: DatasetEntry) -> str:
    ids = []
    for each in entry.hub:
        config = each.get("config", "").replace("*", "(one config a subset)")
        pinned = f"at {each['revision']}" if "revision" in each else "(not pinned to a commit)"
        ids.append(" ".join(filter(None, (each["id"], config, pinned))))
    facts = {
        "source": entry.source,
        "licence": entry.licence,
        "answers": f"{kinds_of(entry)}, graded by {metrics_of(entry)}",
        "labels": ", ".join(entry.labels),
        "hub": "; else ".join(ids),
        "splits": ", ".join(f"{split}{' (usual)' if split == entry.split else ''}" for split in entry.files),
        "files": "; ".join(f"{split}: {' or '.join(names)}" for split, names in entry.files.items()),
        "groups": entry.group,
        "options": "always shuffled, seeded per question" if entry.shuffle else "",
        "collections": "; ".join(f"{name}: {', '.join(parts)}" for name, parts in entry.collections.items()),
    }
    lines = [f"{entry.name}: {entry.title}", *(f"  {name:<12}{value}" for name, value in facts.items() if value)]
    for subset in entry.subsets:
        part = entry.of_subset(subset)
        lines.append(f"  {subset}: {part.kind}, {part.metric_name}{'; ' + part.ask if part.ask else ''}")
    return "\n".join(lines)


def _sample(line: DatasetLine, size: int) -> str:
    rule = "-" * 72
    questions = line.task.questions[:size]
    return "\n".join([line.head(), *(f"{rule}\n{_rendered(line.task, question)}" for question in questions), rule])


def _rendered(task: Task, question: Question) -> str:
    passage = question.context
    if len(passage) > _LONGEST_PASSAGE:
        passage = f"{passage[:_LONGEST_PASSAGE]} ... ({len(passage)} characters)"
    parts = [f"[{question.id}]", passage, question.text]
    parts += [f"({label}) {text}" for label, text in question.options]
    parts += ["", task.format_of(question.id), "", f"gold: {' | '.join(task.gold(question.id)) or '(no answer)'}"]
    return "\n".join(part for index, part in enumerate(parts) if part or index > 1)
