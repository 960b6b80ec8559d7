"""Comparisons of a declared experiment: with its spec now, and with its plan record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cortexdsl.errors import CortexError, InputError, SpecError
from cortexdsl.numbers import counted
from cortexdsl.plan.compiled import read_compiled
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import Declaration, changes, declaration_of, plan_words
from cortexdsl.plan.persistence.journal import Journal, has_calls
from cortexdsl.plan.persistence.run_record import is_locked
from cortexdsl.plan.record import PlanRecord, read_plan
from cortexdsl.tasks.task import Task


def recorded_tasks(plan: PlanRecord) -> tuple[Mapping[str, Task], str]:
    """Return the tasks of a plan record by label, and why any is missing; an empty reason if none is."""
    try:
        compiled = _compiled(plan)
    except (CortexError, OSError) as error:
        return {}, f"{plan.spec} cannot be read any more: {error}"
    digests = {label: facts.digest for label, facts in plan.datasets.items()}
    same = {label: task for label, task in compiled.tasks.items() if digests.get(label) == task.digest}
    changed = sorted(set(digests) - set(same))
    return same, f"{plan.spec} now selects different questions: {', '.join(changed)}" if changed else ""


def _compiled(plan: PlanRecord) -> Plan:
    from cortexdsl.plan.compiler import compile_spec  # late: most readers of results do not need the language

    return compile_spec(plan.spec, experiment=plan.experiment or None)


def _plan_of_run(layout: Layout) -> Plan | None:
    """Return the plan that the run at work has compiled; None if no run is at work, or its spec was edited since.

    A job of the run need not compile the spec again to know what it means now.
    """
    path = Path(layout.compiled)
    if not (is_locked(Path(layout.root)) and path.is_file()):
        return None
    try:
        plan, written = read_compiled(layout), path.stat().st_mtime_ns
        return plan if all(Path(file).stat().st_mtime_ns <= written for file in plan.spec_files) else None
    except (CortexError, OSError):
        return None


def spec_files(layout: Layout, plan: PlanRecord) -> tuple[Path, ...]:
    """Return the spec of a plan record and the files that it extends, the spec last; none if it was removed.

    If a spec extends a file that cannot be read any more, only its own path is returned.
    """
    path = Path(plan.spec)
    if not path.is_file():
        return ()
    if compiled := _plan_of_run(layout):
        return tuple(map(Path, compiled.spec_files))
    from cortexdsl.language.inheritance import read_extended  # late: a job of a run does not need the language

    try:
        return read_extended(path)[1]
    except SpecError:
        return (path,)


def refuse_other_questions(plans: Sequence[Plan]) -> None:
    """Refuse to run specs whose questions are not those of their results.

    `size` may grow and shrink. Another seed draws other questions, which is a replication. Results without a call do
    not count.

    Raises
    ------
    InputError
        A question has another text, options or answer, or questions were exchanged. The message names the dataset,
        the numbers and the remedy.
    """
    for plan in plans:
        path = Path(plan.layout.plan)
        if not path.is_file() or not has_calls(plan.layout):
            continue
        changed = list(_changed(read_plan(path), plan))
        if changed:
            root = plan.layout.root
            raise InputError(
                "\n".join(changed)
                + f"\n    To ask these questions, run a copy of the spec under another name, or delete {root}.\n"
                f"    To go on in {root}, delete {path}: debates of other questions are run again\n"
                "    (replies to equal prompts are reused), all are graded by the new answers, and the ledger says so."
            )


def _changed(record: PlanRecord, plan: Plan) -> Iterator[str]:
    """Yield a sentence for each dataset whose questions differ from those of a plan record."""
    if record.seed != plan.seed:
        return
    for label, task in plan.tasks.items():
        digests = record.question_digests.get(label)
        if digests is None:
            continue
        old = dict(zip(record.questions[label], digests, strict=True))
        new = dict(zip((question.id for question in task.questions), task.question_digests, strict=True))
        other = sum(old[name] != new[name] for name in old.keys() & new.keys())
        gone, added = len(old.keys() - new.keys()), len(new.keys() - old.keys())
        if other or (gone and added):
            revisions = record.datasets[label].revision, task.origin.revision
            moved = f" (revision {revisions[0]}, then {revisions[1]})" if revisions[0] != revisions[1] else ""
            have = counted(other, "has another text", "have another text")
            yield (
                f"{plan.spec_path}: the questions of dataset {label} are not those of its results{moved}: "
                f"of {len(old)} questions {have}, options or answer, {counted(added, 'is', 'are')} new and "
                f"{counted(gone, 'is', 'are')} gone"
            )


def spec_changes(journal: Journal, plan: PlanRecord) -> tuple[str, ...]:
    """Return the differences of a plan record's spec from the last declaration, in words.

    Empty if there are none, if nothing is known to be declared, or if the spec is missing or cannot be read: results
    may be kept without their spec.
    """
    if journal.now is None or not Path(plan.spec).is_file():
        return ()
    try:
        current = _plan_of_run(journal.layout) or _compiled(plan)
    except (CortexError, OSError):
        return ()
    return tuple(changes(journal.now, declaration_of(current)))


def plan_changes(declared: Declaration, plan: PlanRecord) -> tuple[str, ...]:
    """Return the differences of a plan record from the last declaration, in words: it was replaced or edited."""
    stated = {word: plan.analysis[word] for word in ("alpha", "correction", "judge") if word in plan.analysis}
    return tuple(changes(declared, {**declared, **stated, **plan_words(plan)}))
