"""The cost of a whole plan, rehearsed on a few questions of each dataset."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cortexdsl.debate.adapt import with_draws, with_pool
from cortexdsl.debate.engine import debate
from cortexdsl.debate.trajectory import trajectory
from cortexdsl.errors import DebateError, Problem, SpecError
from cortexdsl.plan.compiler import Judged
from cortexdsl.plan.cost.passages import made_up_passages, passages_for
from cortexdsl.plan.experiment import Plan, pool_sources
from cortexdsl.plan.parts.whatif import Whatif
from cortexdsl.plan.rehearsal.estimate import Estimate, Rehearsal, estimate_of, goes_by_replies, longest, rehearse
from cortexdsl.plan.rehearsal.lengths import Lengths, OwnLengths
from cortexdsl.plan.training.guides import guides_for
from cortexdsl.plan.training.phases import Phase, Training
from cortexdsl.protocols.prompts.templates import Templates
from cortexdsl.tasks.grading.judge import judge_call
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Cell, Dataset, Message, Method, Question, Render, Sparse, Without

SAMPLE = 3  # questions of each dataset: prompts of one dataset differ little in length
MANY_CELLS = 100  # with more of them one question stands for all: 496 cells took 11 s of CPU with three
JUDGE = "(judge)"  # no cell can be called so
WHAT_IF = "(what if: {})"
TRAIN = "(train: {})"


def is_bound(plan: Plan) -> bool:
    """Say whether no run sends more calls than rehearsed; two cells that go by the replies share as it happens."""
    return sum(goes_by_replies(cell.debate) for cell in plan.cells) < 2


def rehearse_plan(plan: Plan) -> tuple[Estimate, dict[str, Estimate]]:
    """Estimate a plan's cost.

    Returns
    -------
    (Estimate, mapping of cell name to Estimate)
        Of all datasets and replicates together. Where answers are judged, the judge is the last entry, `JUDGE`:
        it is asked about as many answers as there are debates at most, since equal answers are judged once. After it
        come counterfactuals, one entry a cell, and the debates that trainings learn from, one entry a training.

    Raises
    ------
    SpecError
        A template cannot be rendered on real questions.
    """
    by_cell = {cell.name: Estimate() for cell in plan.cells}
    lengths = OwnLengths(plan.reply_tokens)
    for label, task in plan.tasks.items():
        sample = _sample(task, len(plan.cells))
        factor = plan.replicates * len(task.questions) / max(1, len(sample))
        for name, estimate in asyncio.run(_rehearse_task(plan, task, sample, lengths)).items():
            by_cell[name] += estimate.times(factor)
        if plan.is_judged(label):
            judged = _rehearse_judge(plan, task, sample, lengths).times(factor * len(plan.cells))
            by_cell[JUDGE] = by_cell.get(JUDGE, Estimate()) + judged
    for (name, _), estimate in rehearse_whatifs(plan, plan.whatifs).items():
        by_cell[WHAT_IF.format(name)] = by_cell.get(WHAT_IF.format(name), Estimate()) + estimate
    by_cell |= {TRAIN.format(name): estimate for name, estimate in rehearse_trainings(plan).items()}
    return sum(by_cell.values(), Estimate()), by_cell


def rehearse_whatifs(plan: Plan, whatifs: Sequence[Whatif]) -> dict[tuple[str, Without], Estimate]:
    """Estimate the cost of counterfactuals, by cell and by what is left out.

    Calls that the debates themselves make, or counterfactuals before, count as shared.
    """
    found: dict[tuple[str, Without], Estimate] = {}
    lengths = OwnLengths(plan.reply_tokens)
    for task in plan.tasks.values() if whatifs else ():
        sample = _sample(task, len(plan.cells))
        factor = plan.replicates * len(task.questions) / max(1, len(sample))
        for key, estimate in asyncio.run(_rehearse_whatifs(plan, task, sample, whatifs, lengths)).items():
            found[key] = found.get(key, Estimate()) + estimate.times(factor)
    return found


def rehearse_trainings(plan: Plan) -> dict[str, Estimate]:
    """Estimate the cost of the debates that trainings learn from; phases share what is the same in their debates."""
    seen: set[str] = set()
    lengths = OwnLengths(plan.reply_tokens)
    return {
        training.name: sum(
            (asyncio.run(_rehearse_phase(plan, training, phase, seen, lengths)) for phase in training.phases),
            Estimate(),
        )
        for training in plan.trainings
    }


async def _rehearse_phase(plan: Plan, training: Training, phase: Phase, seen: set[str], lengths: Lengths) -> Estimate:
    task = training.task
    sample = _sample(task, len(plan.cells))
    rehearsal = Rehearsal(renderer(plan.templates, task), lengths)
    for question in sample:
        guides = guides_for(task, question, training.said.guide, plan.templates, plan.seed)
        await trajectory(
            phase.method, question, rehearsal.hands(), guides, role=phase.role, samples=training.said.samples,
            seed=plan.seed, opening=training.said.opening,
        )  # fmt: skip
    shared = len(seen & rehearsal.calls.keys())
    seen.update(rehearsal.calls)
    found = estimate_of(tuple(rehearsal.calls.values()), shared)
    return found.times(len(task.questions) / len(sample))


async def _rehearse_whatifs(
    plan: Plan, task: Task, sample: Sequence[Question], whatifs: Sequence[Whatif], lengths: Lengths
) -> dict[tuple[str, Without], Estimate]:
    seen: set[str] = set()
    methods = await _rehearsed_methods(plan, task, sample, seen, lengths)
    render = renderer(plan.templates, task)
    return {
        (one.cell, without): await rehearse(
            methods[one.cell][0], sample, render, seed=plan.seed, lengths=lengths, seen=seen,
            without=without,
        )
        for one in whatifs
        for without in one.debated
    }  # fmt: skip


def _sample(task: Task, cells: int) -> tuple[Question, ...]:
    """Return the questions that are rehearsed: the first few, or for many cells the one of median length."""
    if cells <= MANY_CELLS:
        return task.questions[:SAMPLE]
    by_length = sorted(task.questions, key=lambda question: len(question.text) + len(question.context))
    return (by_length[len(by_length) // 2],)


def misrendered(judged: Judged) -> list[Problem]:
    """Rehearse every distinct use of a prompt on real questions, and return what is wrong with the templates.

    Cells that differ in what no prompt shows (weights, recalibration, votes, models) are rehearsed once. Where no
    dataset could be loaded, a made-up question stands in.

    Parameters
    ----------
    judged : Judged
        A spec that may be wrong elsewhere.
    """
    tasks = list(judged.tasks.values()) or [load(Dataset("example", name="arithmetic", size=1))]
    cells = {shown_of(cell.debate): cell for cell in reversed(judged.cells)}
    found: dict[Problem, None] = {}
    for task in tasks:
        render = renderer(judged.templates, task)
        for cell in reversed(cells.values()):
            found.update(dict.fromkeys(_misrendered(judged, cell, task, render)))
    return list(found)


def shown_of(method: Method) -> Any:
    """Return what of a method can reach a prompt: two methods that agree on it are shown alike."""
    steps = [
        replace(step, hears=replace(step.hears, weight="")) if isinstance(step.hears, Sparse) else step
        for step in method.steps.values()
    ]
    cast = [(role, [(agent.name, agent.persona) for agent in agents]) for role, agents in method.cast.items()]
    return repr((steps, cast, method.schedule, method.rounds_cap, method.passes, method.confidence.prompt))


def _misrendered(judged: Judged, cell: Cell, task: Task, render: Render) -> Iterator[Problem]:
    wrong: list[Problem] = []

    def forgiving(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        try:
            return render(prompt, view)
        except SpecError as error:
            place = judged.prompts.get(prompt, prompt)
            wrong.extend(
                replace(p, what=f"{p.what} (used at {place})") if p.where != prompt else replace(p, where=place)
                for p in error.problems
            )
            return ({"role": "user", "content": prompt},)

    method = with_pool(cell.debate, made_up_passages(len(pool_sources(cell))))
    sample = task.questions[:SAMPLE]
    try:
        asyncio.run(rehearse(method, sample, forgiving, seed=0, lengths=Lengths(), seen=set()))
    except DebateError as error:
        assert judged.spec is not None
        said, _, remedy = str(error).partition("\n")
        what, remedy = f"methods.{cell.name}: {said}", remedy.strip() or "change the setting that makes it so"
        wrong.append(judged.spec.problem(("methods", cell.method), what, remedy))
    yield from wrong


def longest_prompts(plan: Plan) -> dict[tuple[str, str], int]:
    """Return the tokens of the longest prompt of each cell and model entry, rehearsed on the longest question.

    It is an estimate: `Lengths` says how it is counted.
    """
    found: dict[tuple[str, str], int] = {}
    lengths = OwnLengths(plan.reply_tokens)
    for task in plan.tasks.values():
        render = renderer(plan.templates, task)
        sample = max(task.questions, key=lambda question: len(question.text) + len(question.context))
        for cell in plan.cells:
            rehearsal = Rehearsal(render, lengths)
            method = with_pool(cell.debate, passages_for(plan, cell))
            asyncio.run(debate(longest(method), sample, rehearsal.hands(), seed=plan.seed, replicate=1))
            for asked in rehearsal.calls.values():
                place = cell.name, asked.call.model.name
                found[place] = max(found.get(place, 0), asked.input_tokens)
    return found


async def _rehearse_task(plan: Plan, task: Task, sample: Sequence[Question], lengths: Lengths) -> dict[str, Estimate]:
    rehearsed = await _rehearsed_methods(plan, task, sample, set(), lengths)
    return {name: estimate for name, (_, estimate) in rehearsed.items()}


async def _rehearsed_methods(
    plan: Plan, task: Task, sample: Sequence[Question], seen: set[str], lengths: Lengths
) -> dict[str, tuple[Method, Estimate]]:
    """Return the method of each cell as it was rehearsed, and what it costs."""
    render = renderer(plan.templates, task)
    found: dict[str, tuple[Method, Estimate]] = {}
    # A matched budget needs the calls of the cell that it is matched to, which is never matched itself.
    for cell in sorted(plan.cells, key=lambda cell: cell.match is not None):
        method = with_pool(cell.debate, passages_for(plan, cell))
        budget = plan.budget_of(cell)
        if budget is not None:
            method = with_draws(method, max(1, found[budget.name][1].calls // len(sample)))
        estimate = await rehearse(method, sample, render, seed=plan.seed, lengths=lengths, seen=seen)
        found[cell.name] = method, estimate
    return found


def _rehearse_judge(plan: Plan, task: Task, sample: Sequence[Question], lengths: Lengths) -> Estimate:
    """Rehearse the judge on an answer to each question: the first gold, which is about as long as any."""
    assert plan.judging is not None
    judge, render = plan.judging.model, plan.templates.render
    golds = [task.gold(question.id) for question in sample]
    calls = [
        judge_call(judge, question, gold, next(iter(gold), ""), render, seed=plan.seed)
        for question, gold in zip(sample, golds, strict=True)
    ]
    return estimate_of([lengths.asked(call) for call in calls])


def renderer(templates: Templates, task: Task) -> Callable[..., tuple[Message, ...]]:
    """Return what renders the prompts of debates about a task's questions."""

    def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        return templates.render(prompt, {**view, "answer_format": task.format_of(view["question"].id)})

    return render
