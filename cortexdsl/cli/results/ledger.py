"""`cortexdsl ledger`: list what was declared, run and changed, check the chain, print or verify a seal."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from cortexdsl.cli.place import results_place
from cortexdsl.errors import InputError
from cortexdsl.numbers import counted
from cortexdsl.plan.kept.current import spec_changes
from cortexdsl.plan.kept.declaration import changes
from cortexdsl.plan.kept.entries import Entry
from cortexdsl.plan.kept.ledger import Ledger, read_ledger
from cortexdsl.plan.kept.table_seals import edited_tables
from cortexdsl.plan.kept.twins import find_twins
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.report.words.history import change_of, changes_in_words, declaration_in_words, twin_in_words

COLUMNS = 96
PUBLISH = (
    "A person who rewrites the whole ledger can make a new chain. If this text was published before the run (in a "
    "dated post, a registry or a commit), --verify notices that:"
)
REWRITTEN = (
    "No entry of this ledger has that seal: the ledger was rewritten after the seal was published, or the seal is of "
    "another experiment."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "results", type=results_place, help="the experiment's name, or the folder of its results: results/quickstart"
    )
    parser.add_argument(
        "--verify", metavar="SEAL", help="check a seal that was published: that the ledger still holds its entry"
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb; the exit status is 1 if the chain is broken, a table was edited or a seal is not in the ledger."""
    layout = Layout(args.results.as_posix())
    ledger = read_ledger(layout)
    if not ledger.entries and not ledger.faults:
        raise InputError(f"{layout.ledger}: there is no ledger; `cortexdsl plan SPEC --declare` or a run writes it")
    if args.verify is not None:
        return _verify(ledger, args.verify.strip().lower())
    problems = [*ledger.faults, *(f"{path} was edited after it was written" for path in edited_tables(layout))]
    lines = [f"{layout.root}: what was declared, run and changed", ""]
    for number, entry in enumerate((one for one in ledger.entries if one.kind != "tables"), 1):
        lines += [f"{number}. {entry.at}", *_wrapped(_entry(entry, ledger))]
    lines += [
        "",
        *_wrapped(_beside(args.results, ledger)),
        *_wrapped(_checked(ledger, problems)),
        *_publish(ledger, args.results),
    ]
    print("\n".join(lines))
    return 1 if problems else 0


def _entry(entry: Entry, ledger: Ledger) -> Iterator[str]:
    """An entry in sentences."""
    if entry.kind == "verdicts":
        yield f"verdicts with seed {entry.seed}, {'; '.join(entry.said)}:"
        yield from (f"  {line['verdict']}: {line['claim']}" for line in entry.verdicts)
    elif entry.kind != "declared":
        yield "; ".join(entry.said)
    elif entry == ledger.declarations[0]:
        yield f"{'; '.join(entry.said)}: {declaration_in_words(entry.declaration)}"
        yield from (f"  {claim}" for claim in entry.declaration["claims"])
        for name, family in entry.declaration["families"].items():
            yield f"  family {name}: {', '.join(family['compare'])} against {family['to']} ({family['correction']})"
    else:
        when = "after the first call" if entry.after_calls else "before the first call"
        yield f"changed {when}: {change_of(entry, ledger)}"


def _beside(folder: Path, ledger: Ledger) -> Iterator[str]:
    """What else a reader of the verdicts must know: the spec as it is by now, the same claims under other names."""
    plan = _plan(folder)
    if ledger.now is not None and (differs := spec_changes(ledger.now, plan)):
        changed = changes_in_words(differs)
        yield f"The spec, or something that it uses, has changed since: {changed}. Run it: cortexdsl run {plan['spec']}"
    yield from map(twin_in_words, find_twins(folder, ledger))


def _checked(ledger: Ledger, problems: Sequence[str]) -> Iterator[str]:
    if problems:
        yield from (f"NOT IN ORDER: {problem}" for problem in problems)
        return
    entries, tables = counted(len(ledger.entries), "entry", "entries"), counted(len(ledger.tables), "table")
    unchanged = f", and {tables} are as they were written" if ledger.tables else ""
    yield f"The chain is whole ({entries}){unchanged}."


def _publish(ledger: Ledger, folder: Path) -> Iterator[str]:
    """The first seal, as text that can be published before the run."""
    first = ledger.first
    if first is None:
        return
    yield ""
    yield from textwrap.wrap(PUBLISH, COLUMNS)
    yield ""
    yield f"    experiment  {_name(folder)}"
    yield f"    declared    {first.at}: {declaration_in_words(first.declaration)}"
    yield f"    seal        {first.seal}"
    yield f"    verify      cortexdsl ledger {_name(folder)} --verify {first.seal}"


def _verify(ledger: Ledger, seal: str) -> int:
    """Say whether a published seal is in the chain, and what changed after its entry."""
    entry = next((one for one in ledger.entries if one.seal == seal), None)
    if entry is None:
        print(REWRITTEN)
        return 1
    print(f"The ledger holds the entry of this seal, and its chain continues from there ({entry.at}).")
    if entry.kind == "declared" and ledger.now is not None:
        differs = changes(entry.declaration, ledger.now)
        print(f"Changed since: {changes_in_words(differs)}." if differs else "What it declares has not changed since.")
    for fault in ledger.faults:
        print(f"NOT IN ORDER: {fault}")
    return 1 if ledger.faults else 0


def _wrapped(sentences: Iterator[str]) -> Iterator[str]:
    for sentence in sentences:
        inner = len(sentence) - len(sentence.lstrip())
        indent = " " * (3 + inner)
        yield from textwrap.wrap(sentence.strip(), COLUMNS, initial_indent=indent, subsequent_indent=indent + "  ")


def _name(folder: Path) -> str:
    """The experiment's name: its folder below the folder of all results."""
    path = folder.resolve()
    root = next((parent for parent in path.parents if parent.name == "results"), path.parent)
    return path.relative_to(root).as_posix()


def _plan(folder: Path) -> dict[str, object]:
    try:
        record = json.loads(Path(Layout(folder.as_posix()).plan).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
