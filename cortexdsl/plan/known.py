"""The questions of an experiment that has run: from its spec, as long as that still means the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cortexdsl.errors import CortexError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.tasks.task import Task


def known_tasks(plan: Mapping[str, Any]) -> tuple[Mapping[str, Task], str]:
    """Return the tasks that the records of a plan are of, by label, and why any is lacking; nothing where none is.

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
    return same, f"{spec} means other questions by now: {', '.join(changed)}" if changed else ""
