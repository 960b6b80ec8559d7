"""Whether a template fits its step: it shows what the step hears, and says how to answer where an answer is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from cortexdsl.errors import Problem, SpecError
from cortexdsl.protocols.arms.arms import Arm
from cortexdsl.protocols.prompts.templates import SYSTEM, Templates
from cortexdsl.terms import Nobody, Step

_ANSWER_LINE = re.compile(r"\banswer\b[^\n]{0,3}:", re.IGNORECASE)


def amiss(step: Step, arm: Arm, templates: Templates) -> Iterator[Problem]:
    """Yield what is wrong with the template of a step: it is missing or malformed, or leaves out what it is for.

    Parameters
    ----------
    step : Step
    arm : Arm
    templates : Templates
    """
    for prompt in step.prompts:
        yield from _amiss(step, prompt, arm, templates)


def _amiss(step: Step, prompt: str, arm: Arm, templates: Templates) -> Iterator[Problem]:
    where = str(arm.prompts[step.name])
    try:
        used, system = templates.uses(prompt), templates.uses(SYSTEM)
    except SpecError as error:
        for problem in error.problems:
            own = problem.where == prompt
            said = problem.what if own else f"{problem.what} (used at {where})"
            yield replace(problem, where=where if own else problem.where, what=said)
        return
    if used is None or system is None:  # it includes a template whose name is computed
        return
    file = templates.path(prompt)
    for what, names, remedy in _needed(step):
        if not used & set(names):
            yield Problem(where, f"methods.{arm.method}: step {step.name} {what}, and {file} never uses it", remedy)
    if prompt in step.said:  # it is no question, and what it shows may end as its author ended
        return
    if step.reads == "answer" and "answer_format" not in used and not _ANSWER_LINE.search(templates.text_of(prompt)):
        said = f"methods.{arm.method}: step {step.name} reads an answer, and {file} does not say how to give one"
        yield Problem(where, said, "end the template with {{ answer_format }}")


def _needed(step: Step) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield what a step is shown, the variables that hold it, and what to write."""
    talk = set(step.tells) - {"evidence"}
    if not isinstance(step.hears, Nobody) and talk:
        yield (
            "hears what others said", ("heard", "by_answer", "talk"),
            "write {% include 'common/heard.j2' %}, or use heard; or let the step hear nobody",
        )  # fmt: skip
    if "evidence" in step.tells:
        yield "is told its evidence", ("evidence", "pool"), "use evidence, or leave it out of tells"
    if step.own != "none":
        yield (
            "is shown its own turns", ("own", "talk"),
            "write {% include 'common/own.j2' %}, or use own; or write own: none",
        )  # fmt: skip
