"""Comparisons of the files of an experiment with its journal and its plan: what differs, and what to do.

`differences` lists the files that are not as their jobs wrote them. Readers refuse such files before they use them
(`check_files` and the functions after it), and `verify_results` lists everything that is not in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.checksums import LineState, line_state
from cortexdsl.core import by_key
from cortexdsl.errors import DataError, InputError
from cortexdsl.models.call_log.records import usage_of_line
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.file_entries import below_root, is_log, is_page, is_sealed
from cortexdsl.plan.persistence.history import plan_changes, spec_changes
from cortexdsl.plan.persistence.journal import LACKS_FIRST, Journal, read_journal
from cortexdsl.plan.persistence.run_record import early_end, is_locked, removed_by
from cortexdsl.plan.record import PlanRecord, plan_or_empty, spec_of
from cortexdsl.program import version_in_words
from cortexdsl.records.tallies import read_tally

ALWAYS = tuple(f"{name}.csv" for name in ("scores", "metrics", "comparisons", "hypotheses"))
"""Tables that every finished experiment has: if one is missing, it was deleted."""
OF_CELLS = ("debates", "judgements", "parts", "pools", "train")
NOT_RECORDED = ("logs", "rounds", "servers", "spent")
OWN = ("ledger.jsonl", "manifest.jsonl", "questions.jsonl", "stopped.html")
STRAY_IN = ("debates", "judgements", "looks", "parts")
STRAY = "not of this plan: no job of this experiment wrote it"
PAID_AGAIN = "finished debates are kept; a call that is needed again and is in no log is sent again, and paid"
RESTORE = "restore it from a copy of this folder; without it no verdict counts as declared before the first call"


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not in order: a path below the experiment's folder, what is wrong, and what to do."""

    path: str
    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome of a check.

    Attributes
    ----------
    files, size : int
        Files that were compared, and their bytes.
    findings : tuple of Difference
        What is not in order; empty if all is.
    notes : tuple of str
        What is in order and worth knowing.
    """

    files: int
    size: int
    findings: tuple[Difference, ...]
    notes: tuple[str, ...]


def differences(journal: Journal, paths: Iterable[str], command: str = "") -> Iterator[Difference]:
    """Yield the files that differ from what their jobs wrote, each read whole; missing ones too.

    A file that the last run removed, and ended early before it was made again, is in order.

    Parameters
    ----------
    journal : Journal
    paths : iterable of str
        Below the experiment's folder.
    command : str
        What makes damaged files again: `cortexdsl run NAME`.
    """
    root, end = Path(journal.layout.root), early_end(journal.layout)
    is_removed = removed_by(end.unmade if end else ())
    for path in paths:
        if is_removed(path):
            continue
        if path not in journal.files:
            if journal.manifest_seal and is_sealed(path) and (root / path).is_file():
                yield Difference(path, "manifest.jsonl has no digest of it", _remedy(path, command))
        elif what := journal.damage_of(path):
            yield Difference(path, what + lines_in_words(root / path), _remedy(path, command))
        elif is_log(path) and (said := lines_in_words(root / path)):
            yield Difference(path, f"damaged{said}", _remedy(path, command))


def _remedy(path: str, command: str) -> str:
    if is_log(path):
        return f"restore it from a copy of this folder; else {PAID_AGAIN}"
    if is_page(path) or "/" not in path or path.startswith(("parts/", "looks/", "whatif/")):
        return f"{command}: makes it again, no model is called"
    return f"{command}: makes it again from the call logs"


def lines_in_words(path: Path, most: int = 3) -> str:
    """Return which lines of a call log or of records their readers would refuse; empty if there is none."""
    if path.suffix != ".jsonl" or not path.is_file():
        return ""
    is_calls = is_log(path.as_posix()) and "searches" not in path.parts
    with path.open("rb") as file:
        numbers = [str(number) for number, line in enumerate(file, 1) if _is_damaged(line, is_calls=is_calls)]
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return f", {'line' if len(numbers) == 1 else 'lines'} {', '.join(numbers[:most])}{more}" if numbers else ""


def _is_damaged(line: bytes, *, is_calls: bool) -> bool:
    if is_calls:
        return not line.endswith(b"\n") or usage_of_line(line[:-1]) is None
    return line_state(line) is LineState.BROKEN or not line.endswith(b"}\n")


def report_files(journal: Journal) -> set[str]:
    """Return the paths of what a report reads: plan, declaration, tables and interim tests."""
    named = (path for path in journal.files if path.count("/") < 2 and path.partition("/")[0] not in OF_CELLS)
    return {*ALWAYS, *filter(is_sealed, named)}


def edited_files(journal: Journal) -> list[str]:
    """Return the paths of what a report reads that differ from what a job wrote, without missing ones."""
    return [one.path for one in differences(journal, report_files(journal)) if one.what != "missing"]


def check_files(layout: Layout, paths: Iterable[str | Path] | None = None, *, is_complete: bool = False) -> None:
    """Refuse files that are not as their jobs wrote them: those at some paths, by default what a report reads.

    Parameters
    ----------
    layout : Layout
    paths : iterable of path or None
    is_complete : bool
        Whether to refuse missing files, too.

    Raises
    ------
    DataError
        Names the files and says how to get them back.
    """
    journal, root = read_journal(layout), Path(layout.root)
    named = report_files(journal) if paths is None else [below_root(path, root) for path in paths]
    wrong = [one for one in differences(journal, named) if is_complete or one.what != "missing"]
    if wrong:
        names = ", ".join(f"{layout.root}/{one.path} ({one.what})" for one in wrong[:5])
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise DataError(
            f"{names}{more}: not as the experiment wrote it (its digest differs from the one in {layout.manifest})\n"
            f"    run the same command again, which makes it again: cortexdsl run {spec_of(layout)}"
        )


def check_complete(layout: Layout) -> None:
    """Refuse results without a table that a job wrote: a report without it would be wrong.

    Raises
    ------
    DataError
        Names the files and the remedy.
    """
    files, root = read_journal(layout).files, Path(layout.root)
    if missing := [f"{root}/{name}" for name in ALWAYS if name in files and not (root / name).is_file()]:
        raise DataError(
            f"{', '.join(missing)}: deleted after the experiment wrote it\n"
            f"    run the same command again: cortexdsl run {spec_of(layout)}"
        )


def check_finished(layout: Layout) -> None:
    """Refuse results of an experiment that is running, ended early, or has another spec than the run.

    Raises
    ------
    InputError
        Their tables may be those of an earlier run.
    """
    end, command = early_end(layout), f"cortexdsl run {spec_of(layout)}"
    if end is not None or is_locked(Path(layout.root)):
        why = f"{end.why}, so that its results are not complete" if end else "a run is in progress"
        raise InputError(f"{layout.root}: {why}\n    finish it first: {command}")
    if edits := spec_changes(read_journal(layout), plan_or_empty(layout)):
        raise InputError(
            f"{layout.root}: its spec has changed since the run ({'; '.join(edits)})\n"
            f"    restore it, or run it first: {command}"
        )


def check_own_files(paths: Iterable[Path]) -> None:
    """Refuse files of experiments that are not as their jobs wrote them; files elsewhere are accepted.

    Raises
    ------
    DataError
    """
    for folder, files in by_key((path.parent, path) for path in paths).items():
        layouts = (Layout(parent.as_posix()) for parent in (folder, *folder.parents))
        if layout := next((one for one in layouts if Path(one.ledger).is_file()), None):
            check_files(layout, files)


def check_records(layout: Layout) -> None:
    """Refuse debates that are not as their jobs wrote them, are missing, or that no job of this plan wrote.

    The plan and the scores are checked, too, as debates are shown with them.

    Raises
    ------
    DataError
        Names the files and the remedy.
    """
    root, plan, files = Path(layout.root), plan_or_empty(layout), read_journal(layout).files
    debates = [path for path in files if path.startswith("debates/")]
    check_files(
        layout, [root / path for path in debates if is_of(plan, path) or (root / path).is_file()], is_complete=True
    )
    check_files(layout, [layout.plan, layout.table("scores")])
    if stray := [path for path in _strangers(root, ("debates",)) if path not in files and not is_of(plan, path)]:
        raise DataError(f"{layout.root}/{stray[0]}: {STRAY}\n    move it away")


def is_of(plan: Plan | PlanRecord, path: str) -> bool:
    """Return whether a path below an experiment's folder belongs to a plan; everything belongs to an empty one."""
    stage, *rest = path.split("/")
    if not plan or stage not in ("debates", "judgements", "parts") or len(rest) < 2:
        return True
    is_dataset = rest[0] in plan.datasets or any(rest[0] == each.label for each in plan.learned)
    return is_dataset and any(rest[1].removesuffix(".jsonl") == cell.slug for cell in plan.cells)


def is_recorded(path: str) -> bool:
    """Return whether a job adds an entry for a file: not for logs of jobs, tallies, hidden files, trained models."""
    parts = path.split("/")
    is_model = parts[0] == "train" and not {"model", "adapter"}.isdisjoint(parts)
    is_hidden = any(part.startswith(".") for part in parts)
    return not (path in OWN or is_model or is_hidden or parts[0] in NOT_RECORDED)


def _strangers(root: Path, stages: Iterable[str] = STRAY_IN) -> Iterator[str]:
    """Yield the files in the folders of records and parts."""
    for stage in stages:
        for path in sorted((root / stage).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_file() and is_recorded(name) and not is_log(name):
                yield name


def verify_results(layout: Layout, command: str) -> Verification:
    """Read every file of an experiment and compare it with its manifest, its ledger and its plan.

    Parameters
    ----------
    layout : Layout
    command : str
        What makes damaged files again: `cortexdsl run NAME`.
    """
    end, root, plan = early_end(layout), Path(layout.root), plan_or_empty(layout)
    journal = read_journal(layout)
    files = journal.files
    unknown = [path for path in _strangers(root) if path not in files]
    stray = [path for path in unknown if not is_of(plan, path)]
    # What is left of an earlier plan may be removed.
    compared = [path for path in files if is_of(plan, path) or (root / path).is_file()]
    is_planned = end is None or "plan.json" not in end.unmade  # else the ledger may be ahead of the plan
    findings = [
        *_of_journal(journal, plan if is_planned else PlanRecord(), command),
        *differences(journal, compared, command),
        *_of_tallies(layout, command),
        *(Difference(path, STRAY, "move it away") for path in stray),
    ]
    notes = [f"{end.why}; {command} goes on. {end.kept()}".rstrip()] if end else []
    notes += _notes(journal, plan)
    if number := len(unknown) - len(stray):
        what = "their entries were lost" if journal.manifest_lines else "an earlier version of cortexdsl wrote them"
        notes.append(
            f"{counted(number, 'file has', 'files have')} no digest: "
            f"{what}, and only the checksums of their lines are known"
        )
    return Verification(len(files), sum(entry.size for entry in files.values()), tuple(findings), tuple(notes))


def _of_journal(journal: Journal, plan: PlanRecord, command: str) -> Iterator[Difference]:
    declared = "declared.json"
    is_whole = declared not in journal.files or not journal.damage_of(declared)  # it holds the seal of the first entry
    faults = (fault for fault in journal.chain_faults if is_whole or fault != LACKS_FIRST)
    yield from (Difference("ledger.jsonl", fault, RESTORE) for fault in (*faults, *journal.missing_entries))
    if journal.now is not None and plan and (differs := plan_changes(journal.now, plan)):
        what = f"not the plan that the ledger declares ({'; '.join(differs)})"
        yield Difference("plan.json", what, f"delete it, then {command}")
    for number in journal.manifest.damaged_lines:
        what, remedy = f"line {number} cannot be read", f"{command}: drops the line, and takes its file as it is"
        yield Difference("manifest.jsonl", what, remedy)
    if journal.manifest_fault:
        remedy = f"{command}: all is made again from the call logs"
        yield Difference("manifest.jsonl", journal.manifest_fault, remedy)


def _of_tallies(layout: Layout, command: str) -> Iterator[Difference]:
    for path in sorted(Path(layout.spent).glob("*.json")):
        if read_tally(path) is None:
            what = "cannot be read: calls and costs of its job are not counted in the report"
            yield Difference(below_root(path, Path(layout.root)), what, f"{command}: writes it again from the call log")


def _notes(journal: Journal, plan: PlanRecord) -> Iterator[str]:
    if differs := spec_changes(journal, plan):
        yield f"the spec has changed since: {'; '.join(differs)}"
    if earlier := sum(not is_of(plan, path) for path in journal.files):
        yield f"{counted(earlier, 'file is', 'files are')} of cells or datasets of an earlier plan"
    yield from journal.lost_logs
    if not journal.manifest_seal and journal.manifest_lines:
        yield "no verdict yet: the run is not finished, or was stopped"
    yield from filter(None, [versions_in_words(journal)])


def versions_in_words(journal: Journal) -> str:
    """Say which versions of the program made the present data, if there are several; empty if one made them all.

    Files without a known version count only beside others: results of an earlier version have none.
    """
    plan = plan_or_empty(journal.layout)
    counts: dict[str, Counter[str]] = {}
    for path, entry in journal.files.items():
        if is_sealed(path) and is_of(plan, path):
            stage, has_folder, _ = path.partition("/")
            kind = stage if has_folder else "tables" if path.endswith(".csv") else "the plan"
            counts.setdefault(entry.program, Counter())[kind] += 1
    if len(counts) < 2:
        return ""
    parts = []
    for version, made in counts.items():
        files_of = (f"{counted(number, 'file')} of {kind}" for kind, number in made.items())
        parts.append(f"{version_in_words(version)}: {', '.join(files_of)}")
    return (
        f"Different versions of the program made these results: {'; '.join(parts)}. "
        f"To make all of them with one version, delete {journal.layout.root}/debates and run the same command: "
        "replies come from the call logs."
    )
