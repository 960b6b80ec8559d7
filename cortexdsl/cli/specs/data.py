"""`cortexdsl data`: list datasets, show one, print some of its questions."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from cortexdsl.errors import DataError
from cortexdsl.tasks.load import load
from cortexdsl.tasks.registry import Entry, entry_named, registry
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Dataset, Question

SUMMARY = "list and sample datasets"
_LONGEST_PASSAGE = 600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="all datasets, one a line")
    listing.add_argument("--json", action="store_true", help="print the table as JSON")
    show = actions.add_parser("show", help="where a dataset comes from, and how it is read and graded")
    show.add_argument("name", help="a dataset of the list")
    sample = actions.add_parser("sample", help="print some questions as agents see them, and their golds")
    sample.add_argument("name", help="a dataset of the list, or `own` for a file with columns question and answer")
    sample.add_argument("--path", type=Path, help="its official file or folder; without it, the hub")
    sample.add_argument("--subset", action="append", default=[], help="subject, task or collection; may be repeated")
    sample.add_argument("--split", help="another split than the usual one")
    sample.add_argument("--size", type=int, default=3, help="how many questions (3)")
    sample.add_argument("--seed", type=int, default=0, help="seed of the sampling and of shuffled options (0)")
    sample.add_argument("--stratify", help="a field that the sample is balanced over")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.action == "list":
        print(_json() if args.json else _table())
    elif args.action == "show":
        print(_shown(entry_named(args.name)))
    else:
        print(_sample(_dataset(args)))
    return 0


def _dataset(args: argparse.Namespace) -> Dataset:
    if args.name == "own" and args.path is None:
        raise DataError("data sample own: no file\n    give it with --path")
    return Dataset(
        label=args.name,
        name=None if args.name == "own" else args.name,
        path=str(args.path) if args.path else None,
        subset=tuple(args.subset),
        split=args.split,
        size=args.size,
        seed=args.seed,
        stratify=args.stratify,
    )


def _table() -> str:
    width = max(map(len, registry()))
    return "\n".join(
        f"{name:<{width}}  {_kinds(entry):<10}  {_metrics(entry):<10}  {entry.title}"
        for name, entry in registry().items()
    )


def _json() -> str:
    return json.dumps(
        {
            name: {"title": entry.title, "kind": _kinds(entry), "metric": _metrics(entry), "licence": entry.licence}
            for name, entry in registry().items()
        },
        indent=1,
        ensure_ascii=False,
    )


def _kinds(entry: Entry) -> str:
    kinds = {entry.of_subset(subset).kind for subset in entry.subsets} or {entry.kind}
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _metrics(entry: Entry) -> str:
    metrics = {entry.of_subset(subset).metric_name for subset in entry.subsets} or {entry.metric_name}
    return metrics.pop() if len(metrics) == 1 else "mixed"


def _shown(entry: Entry) -> str:
    ids = [
        " ".join(filter(None, (each["id"], each.get("config", "").replace("*", "(one config a subset)"))))
        for each in entry.hub
    ]
    facts = {
        "source": entry.source,
        "licence": entry.licence,
        "answers": f"{_kinds(entry)}, graded by {_metrics(entry)}",
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


def _sample(dataset: Dataset) -> str:
    task = load(dataset)
    rule = "-" * 72
    return "\n".join(f"{rule}\n{_rendered(task, question)}" for question in task.questions) + f"\n{rule}"


def _rendered(task: Task, question: Question) -> str:
    passage = question.context
    if len(passage) > _LONGEST_PASSAGE:
        passage = f"{passage[:_LONGEST_PASSAGE]} ... ({len(passage)} characters)"
    parts = [f"[{question.id}]", passage, question.text]
    parts += [f"({label}) {text}" for label, text in question.options]
    parts += ["", task.format_of(question.id), "", f"gold: {' | '.join(task.gold(question.id)) or '(no answer)'}"]
    return "\n".join(part for index, part in enumerate(parts) if part or index > 1)
