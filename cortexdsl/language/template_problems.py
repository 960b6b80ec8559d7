"""Whether a template fits its step: it shows what the step hears, and asks for the answer that the step reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from cortexdsl.core import Nobody, Step
from cortexdsl.errors import Problem, SpecError
from cortexdsl.language.methods.resolved_cells import ResolvedCell
from cortexdsl.templates.templates import SYSTEM, Templates

_BELIEF_LINE = re.compile(r"\bbelief\b[^\n]{0,3}:", re.IGNORECASE)
_ANSWER_LINE = re.compile(
    r"""(?:\bA(?:nswer|NSWER)|["'`]answer)\b[^\n]{0,3}:"""
)  # `each answer: say why` asks for none


def template_problems(step: Step, arm: ResolvedCell, templates: Templates) -> Iterator[Problem]:
    """Yield the problems of the templates of a step: missing, malformed, or without something that the step shows."""
    for prompt in step.prompts:
        yield from _problems(step, prompt, arm, templates)


def _problems(step: Step, prompt: str, arm: ResolvedCell, templates: Templates) -> Iterator[Problem]:
    where = str(arm.prompts[step.name])
    try:
        used, system = templates.uses(prompt), templates.uses(SYSTEM)
    except SpecError as error:
        for problem in error.problems:
            is_own = problem.where == prompt
            what = problem.what if is_own else f"{problem.what} (used at {where})"
            yield replace(problem, where=where if is_own else problem.where, what=what)
        return
    if used is None or system is None:  # it includes a template whose name is computed
        return
    file = templates.path(prompt)
    for what, names, remedy in _needed(step):
        if not used & set(names):
            yield Problem(where, f"methods.{arm.method}: step {step.name} {what}, and {file} never uses it", remedy)
    if prompt in step.said:  # it asks no model for an answer
        return
    if "belief" in step.beside and "belief_format" not in used and not _BELIEF_LINE.search(templates.text_of(prompt)):
        what = f"methods.{arm.method}: step {step.name} reads a belief, and {file} does not say how to give one"
        yield Problem(where, what, "end the template with {{ belief_format }}, or use common/belief.j2")
        return
    if (
        step.reads == "answer"
        and not used & {"answer_format", "belief_format"}
        and not _ANSWER_LINE.search(templates.text_of(prompt))
    ):
        what = f"methods.{arm.method}: step {step.name} reads an answer, and {file} does not say how to give one"
        yield Problem(where, what, "end the template with {{ answer_format }}, or write reads: comment")


def _needed(step: Step) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield what a step shows its speaker, the variables that hold it, and the remedy."""
    talk = set(step.shows) - {"evidence"}
    if not isinstance(step.hears, Nobody) and talk:
        yield (
            "hears what others said", ("heard", "by_answer", "talk", "quartiles", *(["item"] if step.split else [])),
            "write {% include 'common/heard.j2' %}, or use heard; or let the step hear nobody",
        )  # fmt: skip
    if "evidence" in step.shows:
        yield "is told its evidence", ("evidence", "pool"), "use evidence, or leave it out of shows"
    if step.memory != "none":
        yield (
            "is shown its own turns", ("own", "talk", "quartiles"),
            "write {% include 'common/own.j2' %}, or use own; or write memory: none",
        )  # fmt: skip
