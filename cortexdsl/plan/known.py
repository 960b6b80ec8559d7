"""The questions of an experiment that has run: whether its spec still selects the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.errors import CortexError, InputError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.kept.ledger import has_calls
from cortexdsl.plan.kept.store import read_plan
from cortexdsl.tasks.task import Task


def known_tasks(plan: Mapping[str, Any]) -> tuple[Mapping[str, Task], str]:
    """Return the tasks that the records of a plan are of, by label, and why any is lacking; nothing if none is.

    Parameters
    ----------
    plan : mapping
        Of plan.json.
    """
    spec = str(plan.get("spec") or "")
    try:
        compiled = compile_spec(spec, experiment=plan.get("experiment"))
    except (CortexError, OSError) as error:
        return {}, f"{spec} cannot be read any more: {error}"
    digests = {label: facts.get("digest") for label, facts in plan["datasets"].items()}
    same = {label: task for label, task in compiled.tasks.items() if digests.get(label) == task.digest}
    changed = sorted(set(digests) - set(same))
    return same, f"{spec} now selects different questions: {', '.join(changed)}" if changed else ""


def refuse_other_questions(plans: Sequence[Plan]) -> None:
    """Refuse to run specs whose questions are not those of their results.

    More questions, or fewer, are no others: `size` may grow and shrink. Another seed draws other questions, and is a
    replication. Results without a call bind nobody.

    Raises
    ------
    InputError
        A question has another text, options or answer, or questions were exchanged; says which dataset, how many,
        and what to do.
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


def _changed(record: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    """Yield a sentence for each dataset whose questions are not those of a plan's record."""
    if record.get("seed") != plan.seed:
        return
    for label, task in plan.tasks.items():
        digests = record.get("question_digests", {}).get(label)
        if digests is None:
            continue
        old = dict(zip(record["questions"][label], digests, strict=True))
        new = dict(zip((question.id for question in task.questions), task.question_digests, strict=True))
        other = sum(old[name] != new[name] for name in old.keys() & new.keys())
        gone, added = len(old.keys() - new.keys()), len(new.keys() - old.keys())
        if other or (gone and added):
            where = f"{plan.spec_path}: the questions of dataset {label} are not those of its results"
            yield (
                f"{where}{_moved(record, label, task)}: of {len(old)} questions {other} {_have(other)} another text, "
                f"options or answer, {added} {_are(added)} new and {gone} {_are(gone)} gone"
            )


def _moved(record: Mapping[str, Any], label: str, task: Task) -> str:
    """Say that a dataset of the hub has another commit than it had."""
    before, now = record["datasets"][label].get("revision"), task.origin.revision
    return f" (revision {before}, then {now})" if before != now else ""


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
