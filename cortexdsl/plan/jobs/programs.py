"""Programs that models write are run by jobs: with permission, in the sandbox, each once in an experiment.

Every run is appended to a log in the folder `programs` of the results, so that results are read, scored and replayed
without running a program again. Each process writes a log of its own, and reads all.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cortexdsl.errors import InputError
from cortexdsl.models.call_log.append_log import AppendLog, parse, whole_lines
from cortexdsl.models.transports.tool import PROGRAM
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.jobs.consent import check_consent
from cortexdsl.plan.parts import LazyTasks
from cortexdsl.tasks.load import asks_for_programs
from cortexdsl.tasks.programs import sandbox
from cortexdsl.tasks.programs.runs import Outcome, ProgramRuns

SCHEMA_VERSION = 1


def has_programs(plan: Plan) -> bool:
    """Return whether a dataset of a plan asks for programs."""
    return any(map(asks_for_programs, plan.datasets.values()))


def check_sandbox(plan: Plan) -> None:
    """Refuse an experiment with programs if there is no sandbox, before a call is sent.

    Raises
    ------
    InputError
    """
    models = (model for cell in plan.cells for model in cell.debate.models)
    if has_programs(plan) or any(model.model == PROGRAM for model in models):
        sandbox.check()


MOST_FAULTS = 5
"""Rows that an error shows."""


def check_solutions(plan: Plan, labels: Iterable[str]) -> None:
    """Refuse datasets with programs whose own solutions do not pass their tests here, or not everywhere.

    A solution is run once in an experiment and on each machine, before a call is sent.

    Parameters
    ----------
    plan : Plan
        `with_programs`.
    labels : iterable of str
        Of datasets, or of the questions of a fit.

    Raises
    ------
    InputError
    """
    if not has_programs(plan):
        return
    for task in (plan.tasks[label] for label in labels):
        items = [item for item in task.items if item.solution and item.frame is not None]
        solutions = [(item.solution, item.gold[0], item.frame) for item in items if item.frame is not None]
        assert task.programs is not None
        reasons = zip(items, task.programs.faults(solutions), strict=True)
        faults = [f"{item.place}: {reason}" for item, reason in reasons if reason]
        if faults:
            more = [f"and {len(faults) - MOST_FAULTS:,} rows more"] if len(faults) > MOST_FAULTS else []
            raise InputError(
                "\n".join([*faults[:MOST_FAULTS], *more])
                + "\n    correct these rows, or remove them; install what they import, if a module is missing"
            )


def with_programs(plan: Plan, threads: int | None = None) -> Plan:
    """Return a plan whose tasks run programs, if a dataset asks for them.

    Parameters
    ----------
    plan : Plan
    threads : int or None
        How many run at once.
    """
    if not has_programs(plan):
        return plan
    folder = Path(plan.layout.programs)
    log = folder / f"{uuid.uuid4().hex}.jsonl"

    def append(key: str, job: Mapping[str, Any], outcome: Outcome) -> None:
        record = {"schema_version": SCHEMA_VERSION, "key": key, "program": job["program"], "outcome": dict(outcome)}
        with AppendLog(log) as writer:
            writer.append(record)

    runs = ProgramRuns(_logged(folder), append, lambda: check_consent(plan), threads or 0)
    return replace(plan, tasks=LazyTasks(plan.tasks, lambda label: replace(plan.tasks[label], programs=runs)))


def _logged(folder: Path) -> Iterator[tuple[str, Outcome]]:
    """Yield the runs of the logs of a folder."""
    for path in sorted(folder.glob("*.jsonl")):
        for _, line in whole_lines(path):
            record = parse(line)
            if record is not None and record.get("schema_version") == SCHEMA_VERSION:
                yield record["key"], record["outcome"]
