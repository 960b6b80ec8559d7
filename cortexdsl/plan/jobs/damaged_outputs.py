"""What a run does about files that were damaged or deleted after they were written: restore them, or make them again.

Debates and judgements are made again from the call logs, tables from debates. A call log cannot be made again: a call
that is needed again and is not in it any more is sent again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.errors import CortexError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import all_labels, fit_files, table_parts, tournament_tables
from cortexdsl.plan.jobs.schedule import asking_jobs
from cortexdsl.plan.layout import PARTS, TABLES, Layout
from cortexdsl.plan.persistence.declaration import write_declared
from cortexdsl.plan.persistence.file_entries import is_log, is_page
from cortexdsl.plan.persistence.journal import LACKS_FIRST, Journal, read_journal
from cortexdsl.plan.persistence.recording import record_damage, refresh_manifest
from cortexdsl.plan.persistence.run_record import TABLE_STAGES, early_end, removed_by, stage_of
from cortexdsl.plan.persistence.verification import PAID_AGAIN, is_of, lines_in_words
from cortexdsl.plan.record import read_plan
from cortexdsl.plan.shards import write_cut
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
    The ledger gets an entry if entries of it are missing, or call logs are not as they were written: a run makes files
    again, so that nothing else tells of the damage afterwards.
    """
    layout = plan.layout
    root, end = layout.root, early_end(layout)  # puts back what the run removed: before anything is called missing
    left = end.unmade if end else ()
    is_removed = removed_by(left)
    journal = read_journal(layout)
    wrong, modified = _damaged(journal)
    lost = {path: what for path, what in wrong.items() if is_log(path)}
    record_damage(layout, "damage", journal.missing_entries)
    record_damage(layout, "logs", [f"{path}: {what} when a run began" for path, what in lost.items()])
    if not journal.manifest_lines and not journal.manifest_seal:
        return Repair()
    fault = journal.manifest_fault
    if (
        fault
        or journal.manifest.damaged_lines
        or any(at != journal.files[path].modified for path, at in modified.items())
    ):
        refresh_manifest(layout, modified)
    _restore(plan, journal)
    sentences = [
        f"{root}/{path}: {what}{lines_in_words(Path(root, path))}: {PAID_AGAIN}" for path, what in lost.items()
    ]
    if fault:
        said = f"{layout.manifest}: {fault}: everything is made again from the call logs; no logged call is sent"
        return Repair(frozenset(_all_outputs(plan)), (said, *sentences))
    again = {path: what for path, what in wrong.items() if not is_log(path) and is_of(plan, path)}
    if "plan.json" in wrong:  # jobs and checks that read it would take it for the plan of the results
        Path(layout.plan).unlink(missing_ok=True)
    if told := [f"{root}/{path} ({what})" for path, what in again.items() if not is_removed(path)]:
        more = [f"{len(told) - SHOWN} more"] if len(told) > SHOWN else []
        sentences.insert(0, f"not as it was written, and made again: {', '.join([*told[:SHOWN], *more])}")
    outputs = {output for path in again for output in _output(layout, path)}
    outputs |= set(_untallied(plan, journal))
    outputs |= {f"{root}/{path}" for path in left if stage_of(path) in TABLE_STAGES and "/" not in path}
    return Repair(frozenset(outputs), tuple(sentences))


def _damaged(journal: Journal) -> tuple[dict[str, str], dict[str, int]]:
    """Return what is wrong with which files, and the times of those that are as they were written.

    A file whose time lies ahead, as after the clock was set back, gets the present time: Snakemake refuses outputs that
    are older than their inputs, so every job that reads it would fail until the clock has caught up.
    """
    root, now = journal.layout.root, time.time_ns()
    wrong, modified = {}, {}
    for path in journal.files:
        if what := journal.damage_of(path, is_quick=True):
            wrong[path] = what
        else:
            modified[path] = os.stat(f"{root}/{path}").st_mtime_ns  # noqa: PTH116 (many thousand files)
            if modified[path] > now:
                os.utime(f"{root}/{path}", ns=(now, now))
                modified[path] = now
    return wrong, modified


def _output(layout: Layout, path: str) -> Iterator[str]:
    """Yield the output of a rule whose job writes a file."""
    if is_page(path):
        yield layout.report
    elif path.startswith("whatif/"):
        yield layout.effects
    elif path not in (Path(layout.declared).name, Path(layout.cut).name):
        yield f"{layout.root}/{path}"


def _untallied(plan: Plan, journal: Journal) -> Iterator[str]:
    """Yield outputs whose job has no readable tally any more: their job writes it again."""
    known, below = {tally.job for tally in Tallies(Path(plan.layout.spent)).read()}, len(plan.layout.root) + 1
    jobs = (job for job in asking_jobs(plan) if job.name not in known)
    yield from (job.output for job in jobs if job.output[below:] in journal.files)


def _all_outputs(plan: Plan) -> Iterator[str]:
    layout = plan.layout
    yield from (job.output for job in asking_jobs(plan))
    yield from (path for table in PARTS for path in table_parts(plan, table))
    yield from (*all_labels(plan), *map(layout.table, (*TABLES, "labels")))
    yield from (layout.look(batch) for batch in range(1, plan.batches + 1))
    yield from (layout.plan, layout.metrics, layout.effects, layout.report)
    yield from tournament_tables(plan)
    yield from (layout.pairs(one.name, phase.label) for one in plan.trainings for phase in one.phases)
    yield from fit_files(plan)


def _restore(plan: Plan, journal: Journal) -> None:
    """Write declared.json again from the ledger, and cut.json from the plan.

    declared.json gets its earlier time: every debate depends on it, and would run again.
    """
    declared, cut = Path(plan.layout.declared), Path(plan.layout.cut)
    is_chained = not {*journal.chain_faults, *journal.missing_entries} - {LACKS_FIRST}  # the fault of declared.json
    if journal.first is not None and is_chained and journal.is_damaged(declared.name):
        declared.unlink(missing_ok=True)
        write_declared(plan.layout, journal.claims, journal.first.seal)
        if (modified := journal.files[declared.name].modified) >= 0:
            os.utime(declared, ns=(modified, modified))
    if journal.is_damaged(cut.name):
        cut.unlink(missing_ok=True)
        write_cut(cut, plan.shards, plan.further_shards)


def restore_cut(layout: Layout) -> None:
    """Write a damaged cut.json again from plan.json, before a spec is compiled: call logs lie by its shards."""
    journal, cut, plan = read_journal(layout), Path(layout.cut), Path(layout.plan)
    if not journal.is_damaged(cut.name) or journal.is_damaged(plan.name):
        return
    with suppress(CortexError, OSError):
        record = read_plan(plan)
        cut.unlink(missing_ok=True)
        further = {training.name: training.shards for training in record.trainings}
        write_cut(cut, record.shards, further | {each.label: each.shards for each in record.learned})
