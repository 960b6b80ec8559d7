"""Warnings before a run: steps that show nothing, partial judges."""

from __future__ import annotations

from collections.abc import Iterator

from cortexdsl.core import Cell, Model, Nobody, Self
from cortexdsl.engine.methods import scheduled_steps, spoken_steps
from cortexdsl.errors import Problem
from cortexdsl.language.spec import Spec
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan


def labels_of_own_turns(plan: Plan) -> list[Problem]:
    """Warn of a judge that labels turns which the same model has spoken."""
    if plan.labelling is None or (judge := plan.labelling.judge) is None:
        return []
    own = [cell.method for cell in plan.cells if any(model.model == judge.model for model in cell.debate.models)]
    if not own or judge.model.startswith("builtin/"):
        return []
    methods = ", ".join(dict.fromkeys(own))
    what = f"analysis.judge: {judge.name} labels turns of its own model ({judge.model}), in {methods}"
    return [Problem(plan.spec_path, what, "name another model as the judge, or compare its labels with human ones")]


def steps_that_show_nothing(plan: Plan) -> list[Problem]:
    """Warn of steps that are never spoken, or that show no agents, passage or question where they need them."""
    problems: dict[str, Problem] = {}
    for cell in plan.cells:
        for what, remedy in _of_steps(cell, plan):
            problems.setdefault(what, Problem(plan.spec_path, f"methods.{cell.method}: {what}", remedy))
    return list(problems.values())


def _of_steps(cell: Cell, plan: Plan) -> Iterator[tuple[str, str]]:
    method, spoken = cell.debate, [*spoken_steps(cell.debate.schedule)]
    has_zero = not cell.axes and any(type(value) is int and value == 0 for value in cell.settings.values())
    for name in dict.fromkeys(scheduled_steps(method.schedule)):
        if name not in spoken and has_zero:
            yield f"step {name} is never spoken, as its loop runs 0 times", "let the loop run, or use another protocol"
    first = method.steps[spoken[0]]
    is_once = method.schedule[0] == first.name and spoken.count(first.name) == 1
    if is_once and not isinstance(first.hears, Nobody | Self) and first.order == "simultaneous":
        yield f"step {first.name} hears others, and nobody has spoken before it", "put a step before it"
    for step in (method.steps[name] for name in method.steps if name in spoken):
        read = {step.reads, *step.beside}
        if ("quotes" in read or (step.split and not step.split.step)) and not _has_passage(plan):
            yield f"step {step.name} needs a passage, and no question has one", "name its column: context: COLUMN"
        is_alone = isinstance(step.hears, Nobody) and step.memory == "none" and step.chooses != "answers"
        if is_alone and read & {"choice", "ranking"}:
            yield f"step {step.name} chooses among {step.chooses}, and is shown none", "write hears: or memory:"
        for prompt in step.prompts if step.reads == "answer" else ():
            used = plan.templates.uses(prompt)
            if used is not None and "question" not in used and prompt not in step.said:
                what = f"step {step.name} reads an answer, and {plan.templates.path(prompt)} does not show the question"
                yield what, "write {% include 'common/question.j2' %}"


def _has_passage(plan: Plan) -> bool:
    return any(question.context for task in plan.tasks.values() for question in task.questions)


def partial_judges(plan: Plan, spec: Spec) -> list[Problem]:
    """Warn of judges of a tournament that also speak in its debates: models may prefer their own replies."""
    models = [(model, cell.name) for cell in reversed(plan.cells) for model in cell.debate.models]
    speaking = {_speaker(model): cell for model, cell in models}
    return [
        spec.problem(
            ("analysis", "tournament", i),
            f"{judge.name} ({judge.model}) judges debates in which it speaks ({speaking[_speaker(judge)]}), and models "
            "tend to prefer their own replies",
            "let another model judge, or compare its ranking with that of another judge",
        )
        for i, judge in enumerate(plan.tournament.judges if plan.tournament else ())
        if _speaker(judge) in speaking
    ]


def _speaker(model: Model) -> str:
    """Return what two entries of one model share; built-in solvers of different entries differ in skill."""
    return model.name if model.model.startswith("builtin/") else model.model


def models_of(plan: Plan) -> list[Model]:
    """Return the models that a plan calls, each once: those of its agents and its judge, without programs."""
    # An entry that needs more replaces its equals.
    models = sorted(plan.called_models, key=lambda model: bool(model.options.get("logprobs")))
    used = {_identity(model): model for model in models if not model.is_program}
    return sorted(used.values(), key=lambda model: model.name)


def _identity(model: Model) -> tuple[str, str | None, str | None, str]:
    """Return what identifies the model of a server: entries of a grid over a temperature call the same one."""
    return model.name, model.api_base, model.api_key_env, model.model


def cells_in_words(plan: Plan) -> str:
    """Return how many cells a plan has, and which of them are methods that have a grid without their own settings."""
    varied = {cell.method for cell in plan.cells if cell.axes}
    bases = [cell for cell in plan.cells if not cell.axes and cell.method in varied]
    own = [cell.name for cell in bases if not any(alias.startswith(f"{cell.method}[") for alias in cell.aliases)]
    settings = f" (not in the grid: {', '.join(own)}, with {'its' if len(own) == 1 else 'their'} own settings)"
    return counted(len(plan.cells), "cell") + (settings if own else "")
