"""Spec -> plan: arms become cells, questions become shards, names in families become cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from cortexdsl.errors import DataError, Problem, SpecDataError, SpecError
from cortexdsl.plan.asked import experiment_name, spec_path
from cortexdsl.plan.digests import method_digest
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.families import judge_families
from cortexdsl.plan.judging import JUDGED, judge_of, judging_of
from cortexdsl.plan.money import check_money
from cortexdsl.plan.shards import Shard, cut, cut_in_step, shard_size
from cortexdsl.plan.tools import tool_sources, without_module
from cortexdsl.plan.weights import with_weights
from cortexdsl.plan.whatif import Whatif, judge_whatifs
from cortexdsl.protocols.arms import Arm, judge_arms
from cortexdsl.protocols.prompting import amiss
from cortexdsl.protocols.templates import Templates
from cortexdsl.spec.claim_checks import unlookable
from cortexdsl.spec.load import Spec, judge_spec
from cortexdsl.spec.nodes import Route
from cortexdsl.spec.problems import in_order
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Cell, Family, StoppingRule


@dataclass(frozen=True, slots=True)
class Judged:
    """What a spec means, as far as it means anything, and everything that is wrong with it.

    Attributes
    ----------
    spec : Spec or None
    plan : Plan or None
        What it means; None where anything is wrong.
    problems : tuple of Problem
        By file and place, those of the spec's own files first.
    cells : tuple of Cell
        Those that are right.
    tasks : mapping of dataset label to Task
        Those that could be loaded.
    templates : Templates
    prompts : mapping of template to where the spec names it
    is_text_right : bool
        Whether all that is wrong is the data.
    """

    spec: Spec | None
    plan: Plan | None
    problems: tuple[Problem, ...]
    cells: tuple[Cell, ...] = ()
    tasks: Mapping[str, Task] = field(default_factory=dict)
    templates: Templates = field(default_factory=Templates)
    prompts: Mapping[str, str] = field(default_factory=dict)
    is_text_right: bool = False

    def with_problems(self, more: Iterable[Problem]) -> Judged:
        """Return it with what was found besides, in the order of places."""
        problems = list(self.problems)
        _add(problems, more)
        files = [] if self.spec is None else [self.spec.path, *self.spec.files]
        return replace(self, plan=None if problems else self.plan, problems=by_place(problems, files))


Compiled: TypeAlias = Callable[[str, str | None], Plan]
"""Compiles the spec of a path or a name for an experiment: `compile_spec`, or one that remembers."""


def compile_spec(asked: str, experiment: str | None = None) -> Plan:
    """Compile a spec.

    Parameters
    ----------
    asked : str
        Its name or path.
    experiment : str or None
        The experiment's name, where it is not to be taken from the path.

    Raises
    ------
    SpecError
        Everything that is wrong in the text, the templates and the data; a SpecDataError where it is the data alone.
    """
    judged = judge(asked, experiment=experiment)
    if judged.plan is None:
        raise (SpecDataError if judged.is_text_right else SpecError)(judged.problems)
    return judged.plan


def judge(asked: str, *, experiment: str | None = None) -> Judged:
    """Compile a spec as far as it can be, and say everything that is wrong with it.

    Raises
    ------
    InputError
        There is no such spec, or a file of it is no YAML.
    """
    path = spec_path(asked)
    spec, found = judge_spec(path)
    problems = list(in_order(found))
    if spec is None:
        return Judged(None, None, by_place(problems, [path]))
    spec, unweighed = with_weights(spec)
    _add(problems, unweighed)
    templates = Templates(_prompt_folders(path))
    resolved = judge_arms(spec)
    _add(problems, resolved.problems)
    sound, prompts = _with_templates(resolved.arms, templates, problems)
    doubtful = resolved.doubtful.with_(*(("methods", arm.method) for arm in resolved.arms if arm not in sound))
    cells = _cells(spec, sound, templates, problems)
    families, more = judge_families(spec, cells, doubtful)
    _add(problems, more)
    whatifs, more = judge_whatifs(spec, cells, doubtful)
    _add(problems, more)
    _add(problems, without_module(spec))
    if not spec.doubtful.has("models") and not spec.doubtful.has("limits"):
        _add(problems, _told(lambda: check_money(spec, cells, judge_of(spec))))
    is_text_right = not problems
    tasks, lost = _tasks(spec)
    problems += lost
    plan = None
    if cells and is_text_right and not lost:
        try:
            plan = _plan(spec, path, experiment, cells, tasks, families, whatifs, templates)
        except SpecError as error:
            problems += error.problems
            is_text_right = False
    files = [spec.path, *spec.files]
    return Judged(spec, plan, by_place(problems, files), cells, tasks, templates, prompts, is_text_right)


def _add(problems: list[Problem], more: Iterable[Problem]) -> None:
    """Add what a later stage finds, but for places at which something was wrong before: that only follows from it."""
    told = {problem.where for problem in problems}
    problems += [problem for problem in dict.fromkeys(more) if problem.where not in told]


def _told(check: Callable[[], object]) -> tuple[Problem, ...]:
    try:
        check()
    except SpecError as error:
        return error.problems
    return ()


def by_place(problems: Iterable[Problem], own: Iterable[Path]) -> tuple[Problem, ...]:
    """Sort problems by file (a spec's own files first) and place."""
    files = [str(path) for path in own]

    def place(problem: Problem) -> tuple[int, str, int, int]:
        file, line, column = problem.where, 0, 0
        if found := _POSITION.fullmatch(problem.where):
            file, line, column = found[1], int(found[2]), int(found[3])
        return files.index(file) if file in files else len(files), file, line, column

    return tuple(sorted(dict.fromkeys(problems), key=place))


_POSITION = re.compile(r"(.*):(\d+):(\d+)")


def _with_templates(
    arms: Sequence[Arm], templates: Templates, problems: list[Problem]
) -> tuple[list[Arm], dict[str, str]]:
    """Return the arms whose templates can be read and fit their steps, and where each template is named."""
    sound, prompts = [], {}
    for arm in arms:
        wrong = [problem for step in arm.debate.steps.values() for problem in amiss(step, arm, templates)]
        _add(problems, wrong)
        prompts.update({prompt: str(arm.prompts[s.name]) for s in arm.debate.steps.values() for prompt in s.prompts})
        if not wrong:
            sound.append(arm)
    return sound, prompts


def _tasks(spec: Spec) -> tuple[dict[str, Task], list[Problem]]:
    tasks, lost = {}, []
    for label, dataset in spec.datasets.items():
        try:
            tasks[label] = load(dataset)
        except DataError as error:
            what, _, remedy = str(error).partition("\n")
            entry: Route = ("dataset",) if spec.text.dataset is not None else ("datasets", label)
            words = [error.word, "file", "path", "name"]
            route = next(((*entry, word) for word in words if spec.node.find((*entry, word))), entry)
            lost.append(spec.problem(route, what, " ".join(remedy.split())))
    return tasks, lost


def _plan(
    spec: Spec,
    path: Path,
    experiment: str | None,
    cells: tuple[Cell, ...],
    tasks: Mapping[str, Task],
    families: tuple[Family, ...],
    whatifs: tuple[Whatif, ...],
    templates: Templates,
) -> Plan:
    text = spec.text
    stopping = _stopping(spec, tasks)
    analysis = text.analysis.model_dump(include={"alpha", "correction", "judge", "metrics"})
    return Plan(
        experiment=experiment or experiment_name(path),
        spec_path=path.as_posix(),
        title=text.title or path.stem,
        seed=text.seed,
        replicates=text.replicates,
        tasks=tasks,
        paths={label: (entry.path,) if entry.path else () for label, entry in spec.datasets.items()},
        cells=cells,
        shards=_shards(spec, tasks, cells, stopping),
        families=families,
        hypotheses=text.hypotheses,
        metrics=text.analysis.metrics,
        limits=spec.limits,
        analysis=analysis,
        judging=judging_of(spec, tasks, templates),
        knowledge=text.knowledge,
        servers=text.servers,
        models=spec.models,
        templates=templates,
        reply_tokens=text.expected.reply_tokens if text.expected else 200,
        stopping=stopping,
        whatifs=whatifs,
    )


def _prompt_folders(spec: Path) -> tuple[Path, ...]:
    """Return where a spec's own prompts are: prompts/ beside the spec, beside specs/, or here."""
    candidates = (
        spec.parent / "prompts",
        *(parent / "prompts" for parent in spec.resolve().parents[1:2]),
        Path("prompts"),
    )
    return tuple(dict.fromkeys(folder.resolve() for folder in candidates if folder.is_dir()))


def _cells(spec: Spec, found: Sequence[Arm], templates: Templates, problems: list[Problem]) -> tuple[Cell, ...]:
    """Merge arms whose digests are equal: one cell, called as the first of them, the others its aliases."""
    cells: dict[str, Cell] = {}
    digests: dict[str, str] = {}
    # A matched arm's digest holds that of the cell it is matched to.
    for arm in sorted(found, key=lambda arm: arm.match is not None):
        if arm.match and arm.match.cell not in digests:
            if any(other.name == arm.match.cell for other in found):
                what, route = f"{arm.match.cell} is matched itself", ("methods", arm.method, "match", arm.match.unit)
                _add(problems, [spec.problem(route, what, "name a cell that is not matched")])
            continue
        budget = digests[arm.match.cell] if arm.match else None
        pools = [spec.text.knowledge[name] for name in _sources(arm) if name in spec.text.knowledge]
        own = method_digest(
            arm.debate, spec.text.seed, templates.digest, arm.match, budget,
            [pool.model_dump(mode="json") for pool in pools], spec.models.get(arm.debate.similarity),
        )  # fmt: skip
        digests[arm.name] = own
        if own in cells:
            cells[own] = replace(cells[own], aliases=(*cells[own].aliases, arm.name))
        else:
            cells[own] = Cell(arm.name, arm.slug, arm.method, (), arm.settings, arm.axes, arm.debate, own, arm.match)
    order = {arm.name: k for k, arm in enumerate(found)}
    return tuple(sorted(cells.values(), key=lambda cell: order[cell.name]))


def _sources(arm: Arm) -> tuple[str, ...]:
    """Return the knowledge that an arm's steps are handed, and that its tools search."""
    pools = [name for step in arm.debate.steps.values() for name in step.material.get("pool", ())]
    return tuple(dict.fromkeys([*pools, *tool_sources(arm.debate)]))


def _stopping(spec: Spec, tasks: Mapping[str, Task]) -> StoppingRule | None:
    """Return when to look; questions that share clusters cannot be looked at one by one, so they are refused."""
    said = spec.text.stopping
    if said is None:
        return None
    for i, claim in enumerate(spec.hypotheses):
        why = "claims are looked at before a judge is asked" if JUDGED in claim.metrics else unlookable(claim)
        if why:
            what = f"the claim {claim.text!r} cannot be looked at early, as stopping does: {why}"
            raise SpecError([spec.problem(("hypotheses", i), what, "claim something else, or remove stopping")])
    for label, task in tasks.items():
        clusters = {question.cluster or f"\0{question.id}" for question in task.questions}
        if 1 < len(clusters) < len(task.questions):
            what = f"stopping needs questions without clusters, and those of {label} share passages or templates"
            raise SpecError([spec.problem(("stopping",), what, "remove stopping")])
    return StoppingRule(said.fewest, said.batch, said.alpha or spec.text.analysis.alpha, said.rule)


def _shards(
    spec: Spec, tasks: Mapping[str, Task], cells: Sequence[Cell], stopping: StoppingRule | None
) -> dict[str, tuple[Shard, ...]]:
    sizes, replicates = {label: len(task.questions) for label, task in tasks.items()}, spec.text.replicates
    if stopping is not None:
        largest = max(sizes.values())
        return {label: cut_in_step(size, replicates, stopping, largest) for label, size in sizes.items()}
    models = [agent.model for cell in cells for cast in cell.debate.cast.values() for agent in cast]
    size = shard_size(
        spec.text.shard_size,
        is_local=all(model.model.startswith(("builtin/", "tool/")) for model in models),
        connections=spec.limits.connections,
        calls_per_question=max(len(cell.debate.cast) * 3 for cell in cells),
    )
    return {label: cut(questions, replicates, size) for label, questions in sizes.items()}
