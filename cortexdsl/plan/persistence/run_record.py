"""The record of an experiment's last run: what it had to make, how it ended, and the last complete results.

Snakemake removes the outputs of a job before it starts the job, and again if the job fails. So the report keeps a copy
of the complete results in `.complete/`. If a run ends early, the files that it removed are put back from there.
`.run.json` lists what the run had to make. Every verb takes its account of a stop from it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cortexdsl.checksums import LineState, line_state, with_checksum
from cortexdsl.files import remove_left_parts, write_file
from cortexdsl.plan.layout import TABLES, Layout
from cortexdsl.plan.persistence.file_entries import PAGES, FileEntry, below_root, damage_of, is_log
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.record import plan_or_empty
from cortexdsl.typed_json import Codec

LOCK = ".run"
RECORD = ".run.json"
COMPLETE = ".complete"
KEPT = ("*.csv", "*.json", "*.jsonl", "looks/*", "spent/*.json", "whatif/*.csv", "train/*/*/kept.csv")
"""What a report reads, below the folder of an experiment, with the lists of the manifest and the ledger."""
APPENDED = ("ledger.jsonl", "manifest.jsonl", "questions.jsonl")
TABLE_STAGES = ("judging", "scoring", "testing", "testing what-ifs", "drawing")
"""Stages that call no model for debates: Snakemake cannot know that files which were put back are of an earlier run."""
_STAGES = {
    "planning": (("declare", "plan"), ("plan.json", "declared.json")),
    "training": (("trajectories", "pairs", "train"), ("train",)),
    "searching": (("pool",), ("pools",)),
    "debating": (("debate", "look"), ("debates", "looks")),
    "judging": (("judge", "ballots"), ("judgements", "ballots")),
    "scoring": (("label", "labels", "score"), ("parts", *(f"{table}.csv" for table in (*TABLES, "labels")))),
    "testing": (("verdict", "tournament"), ()),
    "testing what-ifs": (("whatif",), ("whatif",)),
    "drawing": (("report",), PAGES),
}
"""The stages of a run, in their order: the rules of each, and what they make, by the first part of its path."""
STAGES = tuple(_STAGES)
RULE_STAGES = {rule: stage for stage, (rules, _) in _STAGES.items() for rule in rules}
_PATH_STAGES = {path: stage for stage, (_, paths) in _STAGES.items() for path in paths}


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a run had to make, and how it ended.

    Attributes
    ----------
    state : str
        running, done, stopped or failed.
    began : int
        In nanoseconds, by the clock of the file system.
    digest : str
        Of the spec.
    outputs : tuple of str
        Outputs of its jobs, and of an earlier run that did not make all of its own, below the experiment's folder.
    by : str
        What stopped it: Ctrl-C, SIGTERM ...; empty if it was not stopped.
    has_lock : bool
        Whether the file system has locks, so that a run that was killed is known to have ended.
    jobs_at_once : int
        How many of its jobs run at once: jobs on a cluster cannot know it otherwise.
    """

    state: str
    began: int
    digest: str
    outputs: tuple[str, ...]
    by: str = ""
    has_lock: bool = True
    jobs_at_once: int = 1


_CODEC = Codec(always=("RunRecord.by", "RunRecord.has_lock"))


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """The end of a run that had something left to make.

    Attributes
    ----------
    record : RunRecord
    unmade : tuple of str
        What it has not made, below the experiment's folder.
    stage : str
        The first of its stages that is not complete.
    is_edited : bool
        Whether the last complete results are of another spec than that of the run.
    complete : Path or None
        The folder of the last complete results.
    """

    record: RunRecord
    unmade: tuple[str, ...]
    stage: str
    is_edited: bool
    complete: Path | None

    @property
    def why(self) -> str:
        """How the run ended: `Stopped by Ctrl-C while scoring`."""
        if self.record.state == "running":
            how = "Killed"
        elif self.record.by:
            how = f"Stopped by {self.record.by}"
        else:
            how = "Ended by an error" if self.record.state == "failed" else "Stopped"
        return f"{how} while {self.stage}"

    def kept(self) -> str:
        """Return the sentence about the last complete report; empty if there is none."""
        if self.complete is None:
            return ""
        edited = ", and is of the spec before your edit" if self.is_edited else ""
        return f"The last complete report is still there: {self.complete.parent}/report.html{edited}."


def stop_note(folder: Path) -> str:
    """Return what those who read files of an experiment must know if its last run ended early; otherwise empty."""
    end = early_end(Layout(folder.as_posix()))
    if end is None:
        return ""
    earlier = "Tables here are those of the last complete report" if end.complete else "Tables here may be incomplete"
    edited = ", of the spec before your edit" if end.is_edited else ""
    return f"{end.why}. {earlier}{edited}."


def is_locked(folder: Path) -> bool:
    """Return whether a run has locked an experiment's folder; False if the file system has no locks."""
    try:
        file = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)
    return False


def stage_of(path: str) -> str:
    """Return the stage of a run that makes an output, from its path below the experiment's folder."""
    return _PATH_STAGES.get(path.partition("/")[0], "testing")


def begin_run(
    layout: Layout, outputs: Iterable[str], digest: str, *, has_lock: bool = True, jobs_at_once: int = 1
) -> None:
    """Record that a run begins which has to make some outputs; those that the last run left unmade join them."""
    remove_left_parts(Path(layout.root))
    before = read_run(layout)
    left = filter(_is_certain, unmade(layout, before)) if before and before.state != "done" else ()
    below = [below_root(path, Path(layout.root)) for path in outputs]
    record = RunRecord("running", 0, digest, tuple(dict.fromkeys([*below, *left])), "", has_lock, jobs_at_once)
    _write(layout, record)
    _write(layout, replace(record, began=Path(layout.root, RECORD).stat().st_mtime_ns))


def end_run(layout: Layout, state: str, by: str = "") -> None:
    """Record how a run ended; one that left nothing unmade is done, and others have their files put back."""
    record = read_run(layout)
    if record is None:
        return
    left = unmade(layout, record)
    if state == "done":  # the targets of this run are made; those of an earlier run may not be among them
        state, left = "stopped", tuple(filter(_is_certain, left))
    with suppress(OSError):  # a full disk: the failed jobs have said so
        _write(layout, replace(record, state=state if left else "done", by=by if left else ""))
    put_back(layout, record, left)


def read_run(layout: Layout) -> RunRecord | None:
    """Return the record of the last run; None if there is none, or it cannot be read."""
    try:
        line = Path(layout.root, RECORD).read_bytes().rstrip(b"\n")
        return _CODEC.read(RunRecord, json.loads(line)) if line_state(line) is LineState.WHOLE else None
    except (OSError, ValueError, RecursionError):
        return None


def _write(layout: Layout, record: RunRecord) -> None:
    line = with_checksum(json.dumps(_CODEC.write(record)))
    write_file(Path(layout.root, RECORD), (line.encode("ascii"), b"\n"), durable=False)


def _is_certain(path: str) -> bool:
    """Return whether every experiment has an output, whatever its spec: what an edit took away is never made."""
    # Runs of earlier versions list agreement.csv, which judged experiments had.
    return path == "report.html" or ("/" not in path and path.endswith(".csv") and path != "agreement.csv")


def unmade(layout: Layout, record: RunRecord) -> tuple[str, ...]:
    """Return what a run has not made: outputs that are missing, or were not recorded since it began."""
    files, root = read_journal(layout).files, Path(layout.root)
    return tuple(path for path in record.outputs if not _is_made(root, path, files, record.began))


def _is_made(root: Path, path: str, files: Mapping[str, FileEntry], began: int) -> bool:
    if not (root / path).exists():
        return False
    if path in ("figures", "tables", "declared.json") or path.endswith(".safetensors"):
        return True  # not recorded, or recorded together with report.html
    return path in files and files[path].modified >= began


def has_ended(layout: Layout) -> bool:
    """Return whether the last run has ended, and its jobs with it; False if nothing is known of a run."""
    record = read_run(layout)
    return record is not None and not is_locked(Path(layout.root)) and (record.has_lock or record.state != "running")


def early_end(layout: Layout) -> EarlyEnd | None:
    """Return how the last run ended if it had something left to make; None also while a run is at work.

    If files that it removed are missing, they are put back: a run that was killed could not do it.
    """
    record, root = read_run(layout), Path(layout.root)
    if record is None or record.state == "done" or not has_ended(layout):
        return None
    left = unmade(layout, record)
    if not left:
        return None
    put_back(layout, record, left)
    stages = {stage_of(path) for path in left}
    complete = root / COMPLETE if (root / COMPLETE / "report.html").is_file() else None
    is_edited = complete is not None and plan_or_empty(Layout(f"{complete}")).spec_digest != record.digest
    return EarlyEnd(record, left, next(stage for stage in STAGES if stage in stages), is_edited, complete)


def keep_complete(layout: Layout) -> None:
    """Copy what a report reads and writes to `.complete/`, which replaces the earlier copy."""
    root = Path(layout.root)
    part, old, target = (root / f"{COMPLETE}{ending}" for ending in (".part", ".old", ""))
    for left in (part, old):
        shutil.rmtree(left, ignore_errors=True)
    for path in _kept(root):
        copy = part / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    if target.exists():
        target.rename(old)
    part.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _kept(root: Path) -> Iterator[Path]:
    patterns = [*KEPT, *PAGES, *(f"{page}/**/*" for page in PAGES)]
    paths = {path for pattern in patterns for path in root.glob(pattern)}
    own = (path for path in paths if path.is_file() and path.name != "stopped.html")
    yield from sorted(path for path in own if not path.name.startswith("."))


def put_back(layout: Layout, record: RunRecord, left: Collection[str]) -> None:
    """Put back what a run removed and did not make again, if `.complete/` has it as the manifest records it."""
    root, complete = Path(layout.root), Path(layout.root, COMPLETE)
    if not complete.is_dir() or not left:
        return
    files, is_removed = read_journal(layout).files, removed_by(left)
    for copy in _kept(complete):
        path = copy.relative_to(complete).as_posix()
        if path in APPENDED or path not in files or not is_removed(path):
            continue
        entry = files[path]
        is_whole, is_there = (damage_of(folder, path, entry, is_quick=True) is None for folder in (complete, root))
        if is_whole and not is_there:
            with suppress(OSError):
                _copy(copy, root / path, entry.modified)


def _copy(source: Path, target: Path, modified: int) -> None:
    """Copy a file atomically, with its earlier time: what reads it is then made again if it is older."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.copyfile(source, part)
    if modified >= 0:
        os.utime(part, ns=(modified, modified))
    part.replace(target)


def removed_by(left: Collection[str]) -> Callable[[str], bool]:
    """Return what says of a path whether a run with these unmade outputs may have removed or changed its file."""
    outputs, stages = frozenset(left), {stage_of(path) for path in left}

    def is_removed(path: str) -> bool:
        is_other = "/" in path or path in ("fronts.csv", "matches.csv") or path in PAGES
        is_remade = is_other and stage_of(path) in stages & {"testing", "testing what-ifs", "drawing"}
        return not is_log(path) and (path in outputs or is_remade)

    return is_removed
