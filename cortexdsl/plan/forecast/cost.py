"""Estimate the cost of a whole plan by rehearsing a few questions of each dataset.

A rehearsal uses passages of the corpus if it is a local file, else made-up ones. The module also computes upper bounds
for one question: rounds, calls, and tokens that models write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import bound_of
from cortexdsl.core import Cell, Dataset, Message, Method, Question, Render, Sparse, by_key
from cortexdsl.engine.methods import in_each_wording, pool_sources, with_pool, with_samples
from cortexdsl.engine.trajectories import trajectory, unguided
from cortexdsl.errors import DebateError, Problem, SpecError
from cortexdsl.metrics.replies import debate_calls
from cortexdsl.models.call_keys import call_key
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.judges import judge_calls, label_calls, sample_ballots
from cortexdsl.plan.forecast.matches import made_up_passages, matched_method, passages_for
from cortexdsl.plan.rehearsal.estimate import (
    CallLengths,
    CostEstimate,
    Lengths,
    Rehearsal,
    RehearsedCalls,
    rehearse,
)
from cortexdsl.plan.training import GUIDE, Phase, Training, guides_for
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from cortexdsl.templates.templates import Templates

if TYPE_CHECKING:
    from cortexdsl.plan.compiler import Compilation

SAMPLE = 3  # questions of each dataset: prompts of one dataset differ little in length
MANY_CELLS = 100  # with more cells one question represents all: 496 cells took 11 s of CPU with three
JUDGE = "(judge)"  # not a valid name of a cell
TOURNAMENT = "(tournament)"
LABELS = "(labels)"
WHAT_IF = "(what if: {})"
TRAIN = "(train: {})"
FIT = "(fit: {})"
RehearsedMethods: TypeAlias = dict[str, tuple[Method, RehearsedCalls]]
"""The method of each cell as it was rehearsed, and its calls."""


def rehearse_plan(plan: Plan) -> tuple[CostEstimate, dict[str, CostEstimate]]:
    """Estimate a plan's cost.

    Returns
    -------
    (CostEstimate, mapping of cell name to CostEstimate)
        Of all datasets and replicates together. If answers are judged, the entry after the cells is the judge, `JUDGE`:
        at most one call for each debate, since equal answers are judged once. If the judge labels turns, an
        entry `LABELS` has at most one call for each turn and label. Next is `TOURNAMENT`: at most two calls
        of each judge for each two debates of a question. Then follow counterfactuals, one entry a cell, and the debates
        that trainings learn from, one entry a training, and those that functions are fitted on.

    Raises
    ------
    SpecError
        A template cannot be rendered on real questions.
    """
    by_cell = {cell.name: CostEstimate() for cell in plan.cells}
    rows = [(row, sent.estimate * factor) for row, sent, factor in _loads(plan)]
    rows += _rehearse_whatifs(plan)
    for row, estimate in (*rows, *_rehearse_trainings(plan), *_rehearse_fits(plan)):
        by_cell[row] = by_cell.get(row, CostEstimate()) + estimate
    return sum(by_cell.values(), CostEstimate()), by_cell


class Load(NamedTuple):
    """Calls about one dataset: of a cell, or of judges; each is sent `factor` times."""

    row: str
    sent: RehearsedCalls
    factor: float


def _loads(plan: Plan) -> Iterator[Load]:
    """Yield what the cells send about each dataset, and what judges send about their debates."""
    lengths = Lengths()
    for task, sample, factor in _samples(plan):
        rehearsed = asyncio.run(_rehearsed_methods(plan, task, sample, {}, lengths))
        yield from (Load(name, sent, factor) for name, (_, sent) in rehearsed.items())
        methods, render = [method for method, _ in rehearsed.values()], renderer(plan.templates, task)
        cells = len(plan.cells)
        for row, calls, times in (
            (JUDGE, judge_calls(plan, task, sample, lengths), cells),
            (LABELS, label_calls(plan, task, sample, methods, lengths, render), 1),
            (TOURNAMENT, sample_ballots(plan, task, sample, lengths), comb(cells, 2)),
        ):
            if calls:
                yield Load(row, RehearsedCalls(calls, calls), factor * times)


def rehearsed_loads(plan: Plan) -> dict[str, tuple[float, float]]:
    """Return the calls that are sent to each model entry in debates and judgements, and their tokens."""
    loads: dict[str, tuple[float, float]] = {}
    for _, sent, factor in _loads(plan):
        for call, input_tokens, output_tokens in sent.new:
            requests, tokens = loads.get(call.model.name, (0.0, 0.0))
            used = factor * (input_tokens + output_tokens)
            loads[call.model.name] = requests + factor, tokens + used
    return loads


def _rehearse_whatifs(plan: Plan) -> Iterator[tuple[str, CostEstimate]]:
    """Yield the cost of each counterfactual; calls of the debates, or of earlier counterfactuals, count as shared."""
    lengths = Lengths()
    for task, sample, factor in _samples(plan) if plan.whatifs else ():
        seen: dict[str, CallLengths] = {}
        methods = asyncio.run(_rehearsed_methods(plan, task, sample, seen, lengths))
        how: dict[str, Any] = {"seed": plan.seed, "lengths": lengths, "seen": seen}
        render = renderer(plan.templates, task)
        for one in plan.whatifs:
            for without in one.without:
                sent = asyncio.run(rehearse(methods[one.cell][0], sample, render, without=without, **how))
                yield WHAT_IF.format(one.cell), sent.estimate * factor


def _rehearse_trainings(plan: Plan) -> Iterator[tuple[str, CostEstimate]]:
    """Yield the cost of the debates that each phase of a training learns from; phases share equal calls."""
    seen: dict[str, CallLengths] = {}
    lengths = Lengths()
    for training in plan.trainings:
        for phase in training.phases:
            yield TRAIN.format(training.name), asyncio.run(_rehearse_phase(plan, training, phase, seen, lengths))


def _rehearse_fits(plan: Plan) -> Iterator[tuple[str, CostEstimate]]:
    """Yield the cost of the debates that functions are fitted on, by their names: some share their debates."""
    debates = by_key(((fitted.label, fitted.cell), fitted.name) for fitted in plan.learned)
    seen: dict[str, CallLengths] = {}
    lengths = Lengths()
    for (label, cell), names in debates.items():
        task, method = plan.task(label), plan.cell_named(cell).debate
        sample, render = _sample(task, len(plan.cells)), renderer(plan.templates, task)
        sent = asyncio.run(rehearse(method, sample, render, seed=plan.seed, lengths=lengths, seen=seen))
        yield FIT.format(", ".join(names)), sent.estimate * (len(task.questions) / max(1, len(sample)))


async def _rehearse_phase(
    plan: Plan, training: Training, phase: Phase, seen: dict[str, CallLengths], lengths: Lengths
) -> CostEstimate:
    task = training.task
    sample = _sample(task, len(plan.cells))
    rehearsal = Rehearsal(renderer(plan.templates, task), lengths)
    said, ports = training.said, rehearsal.ports()
    how: dict[str, Any] = {"role": phase.role, "samples": said.samples, "seed": plan.seed}
    for question in sample:
        if said.is_guided:
            guides = guides_for(task, question, GUIDE, plan.templates, plan.seed)
            await trajectory(phase.method, question, ports, guides, **how)
        else:
            await unguided(phase.method, question, ports, **how)
    return rehearsal.beyond(seen).estimate * (len(task.questions) / len(sample))


def _samples(plan: Plan) -> Iterator[tuple[Task, Sequence[Question], float]]:
    """Yield each dataset with its questions to rehearse, and the debates of a cell that each of them stands for."""
    for task in plan.tasks.values():
        sample = _sample(task, len(plan.cells))
        yield task, sample, plan.replicates * len(task.questions) / max(1, len(sample))


def _sample(task: Task, cells: int) -> tuple[Question, ...]:
    """Return the questions to rehearse: the first few, or for many cells the one of median length."""
    if cells <= MANY_CELLS:
        return task.questions[:SAMPLE]
    by_length = sorted(task.questions, key=lambda question: len(question.text) + len(question.context))
    return (by_length[len(by_length) // 2],)


def template_problems(compilation: Compilation) -> list[Problem]:
    """Rehearse every distinct use of a prompt on real questions, and return the problems with the templates.

    Cells that differ only in things that no prompt shows (weights, recalibration, votes, models) are rehearsed once. If
    no dataset could be loaded, a made-up question is used.

    Parameters
    ----------
    compilation : Compilation
        Of a spec that may have other problems.
    """
    tasks = list(compilation.tasks.values()) or [load(Dataset("example", name="arithmetic", size=1))]
    cells = {prompt_inputs(cell.debate): cell for cell in reversed(compilation.cells)}
    problems: dict[Problem, None] = {}
    for task in tasks:
        render = renderer(compilation.templates, task)
        for cell in reversed(cells.values()):
            problems.update(dict.fromkeys(_render_problems(compilation, cell, task, render)))
    return list(problems)


def prompt_inputs(method: Method) -> Any:
    """Return the parts of a method that can reach a prompt: methods that agree in them have equal prompts."""
    steps = [
        replace(step, hears=replace(step.hears, weight="")) if isinstance(step.hears, Sparse) else step
        for step in method.steps.values()
    ]
    role_agents = [
        (role, [(agent.name, agent.persona, sorted(agent.vars.items())) for agent in agents])
        for role, agents in method.role_agents.items()
    ]
    own = (steps, role_agents, method.schedule, method.quote, method.confidence.prompt)
    return repr((*own, prompt_inputs(method.defer.method) if method.defer else ""))


def _render_problems(compilation: Compilation, cell: Cell, task: Task, render: Render) -> Iterator[Problem]:
    wrong: list[Problem] = []

    def forgiving(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        try:
            return render(prompt, view)
        except SpecError as error:
            place = compilation.prompts.get(prompt, prompt)
            wrong.extend(
                replace(p, what=f"{p.what} (used at {place})") if p.where != prompt else replace(p, where=place)
                for p in error.problems
            )
            return ({"role": "user", "content": prompt},)

    method = with_pool(cell.debate, made_up_passages(len(pool_sources(cell.debate))))
    sample = task.questions[:SAMPLE]
    try:
        for worded in in_each_wording(method):
            asyncio.run(rehearse(worded, sample, forgiving, seed=0, lengths=Lengths(), seen={}))
    except DebateError as error:
        assert compilation.spec is not None
        reason, _, remedy = str(error).partition("\n")
        what, remedy = f"methods.{cell.name}: {reason}", remedy.strip() or "change the setting that makes it so"
        wrong.append(compilation.spec.problem(("methods", cell.method), what, remedy))
    yield from wrong


async def _rehearsed_methods(
    plan: Plan, task: Task, sample: Sequence[Question], seen: dict[str, CallLengths], lengths: Lengths
) -> RehearsedMethods:
    """Return the method of each cell as it was rehearsed, and its calls."""
    render = renderer(plan.templates, task)
    rehearsed: RehearsedMethods = {}
    # A matched budget needs the calls of the cell that it is matched to, which is never matched itself, first.
    for cell in sorted(plan.cells, key=lambda cell: cell.match is not None):
        method = with_pool(cell.debate, passages_for(plan, cell))
        budget = plan.budget_of(cell)
        if cell.match is not None and cell.match.grow:
            method = matched_method(plan, cell, sample[0], render, lengths)
        elif budget is not None:
            method = with_samples(method, max(1, len(rehearsed[budget.name][1].calls) // len(sample)))
        sent = await rehearse(method, sample, render, seed=plan.seed, lengths=lengths, seen=seen)
        rehearsed[cell.name] = method, sent
    return rehearsed


def renderer(templates: Templates, task: Task) -> Callable[..., tuple[Message, ...]]:
    """Return a function that renders the prompts of debates about a task's questions."""

    def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        return templates.render(prompt, {**view, **task.formats_of(view["question"].id)})

    return render


_REHEARSED = 500_000  # tokens: no longer replies are made up to measure the prompts that show them


def most_of_question(plan: Plan) -> dict[str, Mapping[str, float]]:
    """Return upper bounds for one question of each cell, by rehearsing a debate that never ends early.

    Returns
    -------
    mapping of cell name to mapping
        `rounds` and `calls`, as the metrics of these names count them; `output_tokens`, the sum of `max_tokens` over
        the calls, if every model has it; `input_tokens` and `total_tokens`, by the prompts that show replies as long
        as that, at four characters a token. Empty if no claim and no metric of the plan is about any of these.
    """
    named = {*plan.metrics, *(metric for claim in plan.hypotheses for metric in parse_claim(claim).metrics)}
    if not any(map(bound_of, named)):
        return {}
    return {cell.name: _most(plan, cell) for cell in plan.cells}


def _most(plan: Plan, cell: Cell) -> dict[str, float]:
    bounds = [asyncio.run(_rehearsed(plan, cell, label)) for label in plan.tasks]
    kinds = set(bounds[0]).intersection(*bounds[1:])
    return {kind: max(one[kind] for one in bounds) for kind in sorted(kinds)}


async def _rehearsed(plan: Plan, cell: Cell, dataset: str) -> dict[str, float]:
    task, method = plan.tasks[dataset], with_pool(cell.debate, passages_for(plan, cell))
    question = max(task.questions, key=lambda question: len(question.text) + len(question.context))
    if (budget := plan.budget_of(cell)) and cell.match:
        if cell.match.grow and not cell.steps:  # as many samples, or as long a reply, as a budget buys
            return {}
        if not cell.match.grow:
            method = with_samples(method, int((await _rehearsed(plan, budget, dataset))["calls"]))
    rehearsal = Rehearsal(renderer(plan.templates, task))
    example = await rehearsal.debate(method, question, seed=plan.seed)
    calls = len(list(debate_calls(example)))
    written = [call.model for call in rehearsal.sent if not call.model.is_tool]
    limits = [int(model.options.get("max_tokens", 0)) for model in written]
    bounds = {"rounds": float(example.rounds), "calls": float(calls)}
    if 0 in limits:  # no bound on the reply of some model
        return bounds
    output = float(sum(limits))
    bounds["output_tokens"] = output
    if output > _REHEARSED:
        return bounds
    rehearsal = Rehearsal(renderer(plan.templates, task), Lengths(_REHEARSED))
    await rehearsal.debate(method, question, seed=plan.seed)
    bounds["input_tokens"] = float(sum(rehearsal.calls[call_key(call)].input_tokens for call in rehearsal.sent))
    return bounds | {"total_tokens": bounds["input_tokens"] + output}
