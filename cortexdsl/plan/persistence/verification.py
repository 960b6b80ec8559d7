"""Check every file of an experiment against its manifest and its ledger: what is wrong, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cortexdsl.checksums import LineState, line_state
from cortexdsl.errors import DataError, RecordError
from cortexdsl.models.call_log.records import summary_of_line
from cortexdsl.numbers import counted
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.file_checks import check_files, known_entries
from cortexdsl.plan.persistence.history import plan_changes, spec_changes
from cortexdsl.plan.persistence.ledger import LACKS_FIRST, Ledger, read_ledger
from cortexdsl.plan.persistence.manifest import (
    Manifest,
    damage_of,
    is_log,
    is_page,
    is_sealed,
    missing_entries,
    read_manifest,
)
from cortexdsl.plan.persistence.run_record import early_end, is_excused
from cortexdsl.plan.persistence.store import read_plan
from cortexdsl.program import version_in_words
from cortexdsl.records.tallies import read_tally

NOT_RECORDED = ("logs", "servers", "spent")
OWN = ("ledger.jsonl", "manifest.jsonl", "questions.jsonl", "stopped.html")
STRAY_IN = ("debates", "judgements", "looks", "parts")
STRAY = "not of this plan: no job of this experiment wrote it"
PAID_AGAIN = "finished debates are kept; a call that is needed again and is in no log is sent again, and paid"
RESTORE = "restore it from a copy of this folder; without it no verdict counts as declared before the first call"


@dataclass(frozen=True, slots=True)
class FileFinding:
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
    findings : tuple of FileFinding
        What is not in order; empty if all is.
    notes : tuple of str
        What is in order and worth knowing.
    """

    files: int
    size: int
    findings: tuple[FileFinding, ...]
    notes: tuple[str, ...]


def verify_results(layout: Layout, command: str) -> Verification:
    """Read every file of an experiment and compare it with its manifest, its ledger and its plan.

    Parameters
    ----------
    layout : Layout
    command : str
        What makes damaged files again: `cortexdsl run NAME`.
    """
    end = early_end(layout)
    excused = is_excused(end)
    root, entries = Path(layout.root), known_entries(layout)
    manifest, ledger, plan = read_manifest(layout), read_ledger(layout), _plan(layout)
    declared = Path(layout.declared).name
    if declared in entries and damage_of(root, declared, entries[declared]):  # it holds the seal of the first entry
        ledger = replace(ledger, faults=tuple(fault for fault in ledger.faults if fault != LACKS_FIRST))
    is_planned = end is None or "plan.json" not in end.unmade  # else the ledger may be ahead of the plan
    findings = [
        *_of_ledger(layout, ledger, plan if is_planned else {}, command),
        *_of_manifest(manifest, ledger, command),
    ]
    for path, entry in entries.items():
        is_known = _is_of(plan, path)
        what = damage_of(root, path, entry)
        if what and not excused(path) and (is_known or what != "missing"):
            findings.append(FileFinding(path, what + lines_in_words(root / path), _remedy(path, command)))
        elif is_log(path) and (numbers := damaged_lines(root / path)):
            findings.append(FileFinding(path, f"damaged{_named(numbers)}", _remedy(path, command)))
    findings += _tallies(layout, command)
    unknown = [path for path in _stray(root) if path not in entries]
    stray = [path for path in unknown if not _is_of(plan, path)]
    findings += [
        FileFinding(path, "not of this plan: no job of this experiment wrote it", "move it away") for path in stray
    ]
    versions = filter(None, [versions_in_words(layout)])
    notes = [f"{end.why}; {command} goes on. {end.kept()}".rstrip()] if end else []
    notes += [*_notes(plan, ledger, manifest, entries), *versions]
    notes += _unrecorded(len(unknown) - len(stray), manifest)
    return Verification(len(entries), sum(entry.size for entry in entries.values()), tuple(findings), tuple(notes))


def record_faults(layout: Layout, ledger: Ledger) -> tuple[str, ...]:
    """Return why the history of an experiment is not reliable, in words: `ledger`, `verify` and the report say it."""
    manifest = read_manifest(layout)
    problem = manifest.problem(ledger.manifest_seal)
    of_manifest = [f"{Path(layout.manifest).name}: {problem}"] if problem else []
    return tuple(dict.fromkeys([*ledger.faults, *missing_entries(layout), *of_manifest]))


def versions_in_words(layout: Layout) -> str:
    """Say which versions of the program made the present data, if there are several; empty if one made them all.

    Files without a known version count only beside others: results of an earlier version have none.
    """
    plan, files = _plan(layout), read_manifest(layout).files
    counts: dict[str, Counter[str]] = {}
    for path, entry in files.items():
        if is_sealed(path) and _is_of(plan, path):
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
        f"To make all of them with one version, delete {layout.root}/debates and run the same command: "
        "replies come from the call logs."
    )


def check_records(layout: Layout) -> None:
    """Refuse debates that are not as their jobs wrote them, are missing, or that no job of this plan wrote.

    The plan and the scores are checked, too, as debates are shown with them.

    Raises
    ------
    DataError
        Names the files and the remedy.
    """
    root, plan = Path(layout.root), _plan(layout)
    debates = [path for path in read_manifest(layout).files if path.startswith("debates/")]
    paths = [path for path in debates if _is_of(plan, path) or (root / path).is_file()]
    check_files(layout, [root / path for path in paths], is_complete=True)
    check_files(layout, [layout.plan, layout.table("scores")])
    stray = [path for path in _stray(root, ("debates",)) if path not in debates and not _is_of(plan, path)]
    if stray:
        raise DataError(f"{layout.root}/{stray[0]}: {STRAY}\n    move it away")


def in_plan(path: str, datasets: Iterable[str], slugs: Iterable[str]) -> bool:
    """Return whether a path below an experiment's folder belongs to these datasets and cells, or to all of them."""
    stage, *rest = path.split("/")
    if stage not in ("debates", "judgements", "parts") or len(rest) < 2:
        return True
    return rest[0] in datasets and rest[1].removesuffix(".jsonl") in slugs


def is_recorded(path: str) -> bool:
    """Return whether a job adds an entry for a file: not for logs of jobs, tallies, hidden files, trained models."""
    parts = path.split("/")
    is_model = parts[0] == "train" and not {"model", "adapter"}.isdisjoint(parts)
    is_hidden = any(part.startswith(".") for part in parts)
    return not (path in OWN or is_model or is_hidden or parts[0] in NOT_RECORDED)


def damaged_lines(path: Path) -> list[int]:
    """Return the numbers of the lines of a call log or of records that their readers would refuse."""
    is_calls = is_log(path.as_posix()) and "searches" not in path.parts
    try:
        with path.open("rb") as file:
            return [number for number, line in enumerate(file, 1) if _is_damaged(line, is_calls=is_calls)]
    except OSError:
        return []


def _is_damaged(line: bytes, *, is_calls: bool) -> bool:
    if is_calls:
        return not line.endswith(b"\n") or summary_of_line(line[:-1]) is None
    return line_state(line) is LineState.BROKEN or not line.endswith(b"}\n")


def _plan(layout: Layout) -> Mapping[str, Any]:
    try:
        return read_plan(Path(layout.plan))
    except RecordError:  # missing or damaged: it has an entry
        return {}


def _is_of(plan: Mapping[str, Any], path: str) -> bool:
    if not plan:
        return True
    return in_plan(path, plan["datasets"], {cell["slug"] for cell in plan["cells"]})


def _of_ledger(layout: Layout, ledger: Ledger, plan: Mapping[str, Any], command: str) -> Iterator[FileFinding]:
    name = Path(layout.ledger).name
    yield from (FileFinding(name, fault, RESTORE) for fault in ledger.faults)
    if ledger.now is not None and plan and (differs := plan_changes(ledger.now, plan)):
        what = f"not the plan that the ledger declares ({'; '.join(differs)})"
        yield FileFinding(Path(layout.plan).name, what, f"delete it, then {command}")
    yield from (FileFinding(name, missing, RESTORE) for missing in missing_entries(layout))


def _of_manifest(manifest: Manifest, ledger: Ledger, command: str) -> Iterator[FileFinding]:
    problem = manifest.problem(ledger.manifest_seal)
    for fault in manifest.faults:
        yield FileFinding("manifest.jsonl", fault, f"{command}: drops the line, and takes its file as it is")
    if problem:
        yield FileFinding("manifest.jsonl", problem, f"{command}: all is made again from the call logs")


def _remedy(path: str, command: str) -> str:
    if is_log(path):
        return f"restore it from a copy of this folder; else {PAID_AGAIN}"
    if is_page(path) or "/" not in path or path.startswith(("parts/", "looks/", "whatif/")):
        return f"{command}: makes it again, no model is called"
    return f"{command}: makes it again from the call logs"


def lines_in_words(path: Path) -> str:
    """Return which lines of a call log or of records are damaged; empty if none is or the file is missing."""
    return _named(damaged_lines(path)) if path.suffix == ".jsonl" and path.is_file() else ""


def _named(numbers: list[int], most: int = 3) -> str:
    if not numbers:
        return ""
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return f", {'line' if len(numbers) == 1 else 'lines'} {', '.join(map(str, numbers[:most]))}{more}"


def _tallies(layout: Layout, command: str) -> Iterator[FileFinding]:
    for path in sorted(Path(layout.spent).glob("*.json")):
        if read_tally(path) is None:
            what = "cannot be read: calls and costs of its job are not counted in the report"
            yield FileFinding(
                path.relative_to(layout.root).as_posix(), what, f"{command}: writes it again from the call log"
            )


def _stray(root: Path, stages: Iterable[str] = STRAY_IN) -> Iterator[str]:
    """Yield what lies in the folders of records and parts."""
    for stage in stages:
        for path in sorted((root / stage).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_file() and is_recorded(name) and not is_log(name):
                yield name


def _notes(plan: Mapping[str, Any], ledger: Ledger, manifest: Manifest, entries: Mapping[str, Any]) -> Iterator[str]:
    if ledger.now is not None and plan and (differs := spec_changes(ledger.now, plan)):
        yield f"the spec has changed since: {'; '.join(differs)}"
    earlier = sum(not _is_of(plan, path) for path in entries)
    if earlier:
        yield f"{counted(earlier, 'file is', 'files are')} of cells or datasets of an earlier plan"
    yield from ledger.lost_logs
    if not ledger.manifest_seal and manifest.lines:
        yield "no verdict yet: the run is not finished, or was stopped"


def _unrecorded(number: int, manifest: Manifest) -> Iterator[str]:
    if number:
        what = "an earlier version of cortexdsl wrote them" if not manifest.lines else "their entries were lost"
        yield (
            f"{counted(number, 'file has', 'files have')} no digest: "
            f"{what}, and only the checksums of their lines are known"
        )
