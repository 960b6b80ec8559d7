"""`cortexdsl data`: list datasets, show one, print some of its questions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cortexdsl.cli.specs.dataset_lines import DatasetLine, dataset_lines
from cortexdsl.errors import DataError
from cortexdsl.spec.load import load_spec
from cortexdsl.tasks.load import load
from cortexdsl.tasks.registry import Entry, entry_named, nearest, registry
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Dataset, Question

SUMMARY = "list and sample datasets"
SAMPLE = 3  # questions
COLUMNS = {
    "question": "the column of your own file, or of a dataset of the hub, that holds the question",
    "answer": "the column that holds the right answer",
    "context": "the column that holds a passage",
    "id": "the column that holds an id",
}
_WORDS = (*COLUMNS, "choices", "labels", "kind", "gold", "config", "revision", "delimiter", "encoding", "decimal",
          "drop_unanswered")  # fmt: skip
_LONGEST_PASSAGE = 600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="all datasets, one a line")
    listing.add_argument("--json", action="store_true", help="print the table as JSON")
    show = actions.add_parser("show", help="where a dataset comes from, and how it is read and graded")
    show.add_argument("name", help="a dataset of the list")
    sample = actions.add_parser("sample", help="print some questions as agents see them, and their golds")
    which = "a dataset of the list, `own` for your own file, OWNER/NAME of the hub, or a spec (FILE.yaml)"
    sample.add_argument("name", help=which)
    sample.add_argument("--dataset", help="label of one of a spec's datasets; by default all of them")
    sample.add_argument("--path", type=Path, help="the official file or folder, or your own file")
    sample.add_argument("--subset", action="append", default=[], help="subject, task or collection; repeatable")
    sample.add_argument("--split", help="another split than the usual one")
    sample.add_argument("--size", type=int, help=f"how many questions ({SAMPLE})")
    sample.add_argument("--seed", type=int, default=0, help="seed of the sampling and of shuffled options (0)")
    sample.add_argument("--stratify", help="a field that the sample is balanced over")
    for word, what in COLUMNS.items():
        sample.add_argument(f"--{word}", metavar="COLUMN", help=what)
    sample.add_argument(
        "--choices", action="append", metavar="COLUMN", help="a list of options, or one of them; repeatable"
    )
    sample.add_argument("--labels", action="append", metavar="LABEL", help="an answer of kind labels; repeatable")
    sample.add_argument("--kind", help="kind of answer: number, choice, text ...")
    sample.add_argument("--gold", help="how the column holds the answer: plain, hashes, boxed, label, boolean ...")
    sample.add_argument("--config", help="configuration of a dataset of the hub")
    sample.add_argument("--revision", help="commit of a dataset of the hub")
    sample.add_argument("--delimiter", help="what divides the cells of your own CSV file")
    sample.add_argument("--encoding", help="encoding of your own file, such as windows-1252")
    sample.add_argument("--decimal", choices=[".", ","], help="decimal mark of your own answers")
    sample.add_argument("--drop-unanswered", action="store_true", help="leave out rows without an answer")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.action == "list":
        print(_json() if args.json else _table())
    elif args.action == "show":
        print(_shown(entry_named(args.name)))
    else:
        for line in _spec_lines(args) if args.name.endswith((".yaml", ".yml")) else [_line(args)]:
            print(_sample(line, SAMPLE if args.size is None else args.size))
    return 0


def _spec_lines(args: argparse.Namespace) -> list[DatasetLine]:
    """Load the datasets of a spec as it has them."""
    for word in (*_WORDS, "path", "subset", "split", "seed", "stratify"):
        if getattr(args, word):
            raise DataError(
                f"data sample {args.name}: --{_dashed(word)} is for a file or a dataset: a spec says it itself"
            )
    spec = load_spec(args.name)
    if args.dataset is not None and args.dataset not in spec.datasets:
        raise DataError(f"{args.name}: there is no dataset {args.dataset!r}{nearest(args.dataset, spec.datasets)}")
    labels = [args.dataset] if args.dataset is not None else list(spec.datasets)
    return dataset_lines(spec, {label: load(spec.datasets[label]) for label in labels})


def _line(args: argparse.Namespace) -> DatasetLine:
    """Load the dataset that the arguments name."""
    dataset = _dataset(args)
    return DatasetLine((), load(dataset), "" if dataset.size is None else f"size: {dataset.size}")


def _dataset(args: argparse.Namespace) -> Dataset:
    is_own, is_hub = args.name == "own", "/" in args.name
    if is_own and args.path is None:
        raise DataError("data sample own: no file\n    give it with --path")
    if args.dataset is not None:
        raise DataError(f"data sample {args.name}: --dataset is for a spec")
    allowed = {"config": is_hub, "revision": not is_own, "delimiter": is_own, "encoding": is_own}
    for word in _WORDS:
        if getattr(args, word) and not allowed.get(word, True):
            place = "a file of your own" if word in ("delimiter", "encoding") else "a dataset of the hub"
            raise DataError(f"data sample {args.name}: --{_dashed(word)} is for {place}")
    fields: dict[str, Any] = {word: value for word in (*COLUMNS, "gold") if (value := getattr(args, word))}
    if args.choices:
        fields["choices"] = args.choices[0] if len(args.choices) == 1 else tuple(args.choices)
    if args.labels:
        fields["labels"] = tuple(args.labels)
    return Dataset(
        label=args.path.stem if is_own else args.name.rpartition("/")[2],
        name=None if is_own or is_hub else args.name,
        path=str(args.path.absolute()) if args.path else None,
        hub=args.name if is_hub else None,
        subset=tuple(args.subset),
        split=args.split,
        size=args.size,
        seed=args.seed,
        stratify=args.stratify,
        fields=fields,
        kind=args.kind,
        config=args.config,
        revision=args.revision,
        delimiter=args.delimiter,
        encoding=args.encoding,
        decimal=args.decimal,
        drop_unanswered=args.drop_unanswered,
    )


def _dashed(word: str) -> str:
    return word.replace("_", "-")


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
        " ".join(
            filter(None, (each["id"], each.get("config", "").replace("*", "(one config a subset)"), _commit(each)))
        )
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


def _commit(candidate: Mapping[str, str]) -> str:
    return f"at {candidate['revision']}" if "revision" in candidate else "(not pinned to a commit)"


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
