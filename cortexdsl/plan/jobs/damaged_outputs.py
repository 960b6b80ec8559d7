"""What a run does about files that were damaged or deleted after they were written: restore them, or make them again.

Debates and judgements are made again from the call logs, tables from debates. A call log cannot be made again: a call
that is needed again and is not in it any more is sent again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cortexdsl.errors import CortexError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.jobs.schedule import job_outputs
from cortexdsl.plan.layout import PARTS, TABLES, Layout
from cortexdsl.plan.persistence.declaration import write_declared
from cortexdsl.plan.persistence.ledger import LACKS_FIRST, Ledger, read_ledger, record_damage
from cortexdsl.plan.persistence.manifest import (
    Entry,
    Manifest,
    damage_of,
    entry_of,
    is_log,
    is_page,
    is_sealed,
    missing_entries,
    read_manifest,
    refresh_manifest,
    seal_of,
    write_manifest,
)
from cortexdsl.plan.persistence.run_record import TABLE_STAGES, early_end, is_excused, stage_of
from cortexdsl.plan.persistence.store import read_plan
from cortexdsl.plan.persistence.verification import PAID_AGAIN, in_plan, is_recorded, lines_in_words
from cortexdsl.plan.shards import Shard, write_cut
from cortexdsl.records.tallies import Tallies

SHOWN = 3


@dataclass(frozen=True, slots=True)
class Repair:
    """What a run does about damage.

    Attributes
    ----------
    outputs : frozenset of str
        Outputs of rules that have to be made again.
    sentences : tuple of str
        What to tell the user before anything is sent.
    """

    outputs: frozenset[str] = frozenset()
    sentences: tuple[str, ...] = ()


def repair_results(plan: Plan) -> Repair:
    """Find damage with little reading, restore what needs no job, and return what has to be made again.

    A file with the size and time of its entry is believed; others are read. A folder that was copied is read once.
    """
    layout = plan.layout
    end = early_end(layout)  # puts back what the run removed: before anything is called missing
    excused = is_excused(end)
    note_damage(layout, excused)
    manifest, ledger = read_manifest(layout), read_ledger(layout)
    if not manifest.lines and not ledger.manifest_seal:
        return Repair()
    sentences = []
    if problem := manifest.problem(ledger.manifest_seal):
        if not _rebuild(layout, manifest, ledger.manifest_seal):
            refresh_manifest(layout, {})
            _restore(plan, ledger, read_manifest(layout).files)
            said = f"{layout.manifest}: {problem}: everything is made again from the call logs; no logged call is sent"
            return Repair(frozenset(_all_outputs(plan)), (said, *_said_of_logs(layout, read_manifest(layout))))
        sentences.append(f"{layout.manifest}: {problem}; written again, as all files have the sealed digests")
        manifest = read_manifest(layout)
    wrong, modified = _find(Path(layout.root), manifest.files)
    if manifest.faults or any(modified[path] != manifest.files[path].modified for path in modified):
        refresh_manifest(layout, modified)
    _restore(plan, ledger, manifest.files)
    again = {path: what for path, what in wrong.items() if not is_log(path) and _is_of(plan, path)}
    if Path(layout.plan).name in wrong:  # jobs and checks that read it would take it for the plan of the results
        Path(layout.plan).unlink(missing_ok=True)
    states = {tally.job: tally.state for tally in Tallies(Path(layout.spent)).read()}
    told = [f"{layout.root}/{path} ({what})" for path, what in again.items() if not excused(path)]
    if told:
        more = [f"{len(told) - SHOWN} more"] if len(told) > SHOWN else []
        sentences.append(f"not as it was written, and made again: {', '.join([*told[:SHOWN], *more])}")
    outputs = {output for path in again for output in _output(layout, path)}
    outputs |= set(_untallied(plan, states, manifest.files))
    left = (path for path in (end.unmade if end else ()) if stage_of(path) in TABLE_STAGES and "/" not in path)
    outputs |= {f"{layout.root}/{path}" for path in left}
    return Repair(frozenset(outputs), (*sentences, *_said_of_logs(layout, manifest, wrong)))


def note_damage(layout: Layout, excused: Callable[[str], bool]) -> None:
    """Write into the ledger which of its entries are missing, and which call logs are not as they were written.

    A run makes files again, so that nothing but these entries tells of the damage afterwards.
    """
    if missing := missing_entries(layout):
        record_damage(layout, "damage", missing)
    logs = _logs_of(read_manifest(layout))
    wrong = {path: what for path, what in _find(Path(layout.root), logs)[0].items() if not excused(path)}
    if wrong:
        record_damage(layout, "logs", [f"{path}: {what} when a run began" for path, what in wrong.items()])


def _find(root: Path, files: Mapping[str, Entry]) -> tuple[dict[str, str], dict[str, int]]:
    """Return what is wrong with which files, and the times of those that are as they were written.

    A file whose time lies ahead, as after the clock was set back, gets the present time: Snakemake refuses outputs that
    are older than their inputs, so every job that reads it would fail until the clock has caught up.
    """
    wrong, modified, now = {}, {}, time.time_ns()
    for path, entry in files.items():
        if what := damage_of(root, path, entry, is_quick=True):
            wrong[path] = what
        else:
            modified[path] = os.stat(root / path).st_mtime_ns  # noqa: PTH116 (many thousand files)
            if modified[path] > now:
                os.utime(root / path, ns=(now, now))
                modified[path] = now
    return wrong, modified


def _is_of(plan: Plan, path: str) -> bool:
    return in_plan(path, plan.tasks, {cell.slug for cell in plan.cells})


def _output(layout: Layout, path: str) -> Iterator[str]:
    """Yield the output of a rule whose job writes a file."""
    if is_page(path):
        yield layout.report
    elif path.startswith("whatif/"):
        yield layout.effects
    elif path not in (Path(layout.declared).name, Path(layout.cut).name):
        yield f"{layout.root}/{path}"


def _untallied(plan: Plan, states: Mapping[str, str], files: Mapping[str, Entry]) -> Iterator[str]:
    """Yield outputs whose job has no readable tally any more: their job writes it again."""
    below = len(plan.layout.root) + 1
    yield from (output for job, output, _ in job_outputs(plan) if job not in states and output[below:] in files)


def _all_outputs(plan: Plan) -> Iterator[str]:
    layout = plan.layout
    yield from (output for _, output, _ in job_outputs(plan))
    yield from (path for table in PARTS for path in plan.parts(table))
    yield from map(layout.table, TABLES)
    yield from (layout.look(batch) for batch in range(1, plan.batches + 1))
    yield from (layout.plan, layout.metrics, layout.effects, layout.agreement, layout.report)
    yield from (layout.pairs(one.name, phase.label) for one in plan.trainings for phase in one.phases)


def _rebuild(layout: Layout, manifest: Manifest, seal: str) -> bool:
    """Write a damaged manifest again if the files in the folder have the digests that the ledger's seal is of."""
    root = Path(layout.root)
    every = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    present = [path for path in every if is_recorded(path)]
    known = {path: entry.program for path, entry in manifest.files.items()}
    now = {path: replace(entry_of(root / path), program=known.get(path, "")) for path in present}
    sealed = {path: entry for path, entry in now.items() if is_sealed(path)}
    if not seal or seal_of(sealed) != seal:
        return False
    others = {path: entry for path, entry in now.items() if not is_sealed(path)}
    write_manifest(layout, Manifest(sealed, {**others, **_logs_of(manifest)}, seal, manifest.ledger_entry))
    return True


def _logs_of(manifest: Manifest) -> dict[str, Entry]:
    return {path: entry for path, entry in manifest.files.items() if is_log(path)}


def _restore(plan: Plan, ledger: Ledger, files: Mapping[str, Entry]) -> None:
    """Write declared.json again from the ledger, and cut.json from the plan.

    declared.json gets its earlier time: every debate depends on it, and would run again.
    """
    layout = plan.layout
    root, declared, cut = Path(layout.root), Path(layout.declared), Path(layout.cut)
    is_chained = not set(ledger.faults) - {LACKS_FIRST}  # which may be the fault of declared.json itself
    if ledger.first is not None and is_chained and _is_damaged(root, declared.name, files):
        declared.unlink(missing_ok=True)
        write_declared(layout, ledger.claims, ledger.first.seal)
        if (modified := files[declared.name].modified) >= 0:
            os.utime(declared, ns=(modified, modified))
    if _is_damaged(root, cut.name, files):
        cut.unlink(missing_ok=True)
        write_cut(cut, plan.shards, {training.name: training.shards for training in plan.trainings})


def _is_damaged(root: Path, name: str, files: Mapping[str, Entry]) -> bool:
    return name in files and damage_of(root, name, files[name], is_quick=True) is not None


def restore_cut(layout: Layout) -> None:
    """Write a damaged cut.json again from plan.json, before a spec is compiled: call logs lie by its shards."""
    root, files = Path(layout.root), read_manifest(layout).files
    if not _is_damaged(root, Path(layout.cut).name, files) or _is_damaged(root, Path(layout.plan).name, files):
        return
    with suppress(CortexError, KeyError, TypeError, OSError):
        record = read_plan(Path(layout.plan))
        trainings = {one["training"]: one["shards"] for one in record.get("trainings", ())}
        cuts = [{name: list(map(_shard, cut)) for name, cut in each.items()} for each in (record["shards"], trainings)]
        Path(layout.cut).unlink(missing_ok=True)
        write_cut(Path(layout.cut), *cuts)


def _shard(values: Mapping[str, int]) -> Shard:
    return Shard(values["replicate"], values["number"], values["first"], values["end"])


def _said_of_logs(layout: Layout, manifest: Manifest, wrong: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield a sentence for each damaged call log: it cannot be made again."""
    root = Path(layout.root)
    known = _find(root, _logs_of(manifest))[0] if wrong is None else wrong
    for path, what in known.items():
        if is_log(path):
            yield f"{layout.root}/{path}: {what}{lines_in_words(root / path)}: {PAID_AGAIN}"
