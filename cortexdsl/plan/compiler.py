"""Spec -> plan: arms become cells, questions become shards, names in families become cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from cortexdsl.errors import DataError, Problem, SpecDataError, SpecError
from cortexdsl.plan.asked import experiment_name, spec_path
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.parts.cells import cells_of
from cortexdsl.plan.parts.claimed import unanswerable
from cortexdsl.plan.parts.families import judge_families
from cortexdsl.plan.parts.judging import judge_of, judging_of
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.plan.parts.money import check_money, check_providers
from cortexdsl.plan.parts.recut import earlier
from cortexdsl.plan.parts.shards import Shard, cut, cut_in_step, shard_size
from cortexdsl.plan.parts.stopping import stopping_of
from cortexdsl.plan.parts.tools import without_module
from cortexdsl.plan.parts.weights import weighed, with_weights
from cortexdsl.plan.parts.whatif import Whatif, judge_whatifs
from cortexdsl.plan.training.judged import judge_trainings
from cortexdsl.plan.training.phases import Training
from cortexdsl.protocols.arms.arms import Arm, judge_arms
from cortexdsl.protocols.prompts.prompting import amiss
from cortexdsl.protocols.prompts.templates import Templates
from cortexdsl.spec.check.places import add_new, by_place
from cortexdsl.spec.check.problems import in_order
from cortexdsl.spec.load import Spec, judge_spec
from cortexdsl.spec.text.nodes import Mark, Route
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Cell, Family, SitePlace, StoppingRule


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
    places : mapping of cell to its places
        Where the conditions, choices and steps of a cell are written, of those that are not in a built-in file.
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
    places: Mapping[str, Mapping[SitePlace, Mark]] = field(default_factory=dict)
    is_text_right: bool = False

    def with_problems(self, more: Iterable[Problem]) -> Judged:
        """Return it with what was found besides, in the order of places."""
        problems = list(self.problems)
        add_new(problems, more)
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
    add_new(problems, unweighed)
    templates = Templates(_prompt_folders(path))
    resolved = judge_arms(spec, weighed)
    add_new(problems, resolved.problems)
    sound, prompts = _with_templates(resolved.arms, templates, problems)
    doubtful = resolved.doubtful.with_(*(("methods", arm.method) for arm in resolved.arms if arm not in sound))
    tasks, lost = _tasks(spec)
    layout = Layout(f"results/{experiment or experiment_name(path)}")
    learns = judge_trainings(spec, sound, tasks, templates, layout)
    add_new(problems, learns.problems)
    lost += learns.lost
    spec, sound = learns.spec, list(learns.arms)
    cells, more = cells_of(spec, sound, templates)
    add_new(problems, more)
    add_new(problems, unanswerable(spec, cells, doubtful))
    families, more = judge_families(spec, cells, doubtful)
    add_new(problems, more)
    whatifs, more = judge_whatifs(spec, cells, doubtful)
    add_new(problems, more)
    add_new(problems, without_module(spec))
    if not spec.doubtful.has("models"):
        add_new(problems, _told(lambda: check_providers(spec)))
    if not spec.doubtful.has("models") and not spec.doubtful.has("limits"):
        add_new(problems, _told(lambda: check_money(spec, cells, judge_of(spec))))
    is_text_right = not problems
    problems += lost
    plan = None
    if cells and is_text_right and not lost:
        try:
            plan = _plan(spec, path, layout, experiment, cells, tasks, families, whatifs, learns.trainings, templates)
        except SpecError as error:
            problems += error.problems
            is_text_right = False
    files = [spec.path, *spec.files]
    places = {arm.name: arm.places for arm in sound}
    return Judged(spec, plan, by_place(problems, files), cells, tasks, templates, prompts, places, is_text_right)


def _told(check: Callable[[], object]) -> tuple[Problem, ...]:
    try:
        check()
    except SpecError as error:
        return error.problems
    return ()


def _with_templates(
    arms: Sequence[Arm], templates: Templates, problems: list[Problem]
) -> tuple[list[Arm], dict[str, str]]:
    """Return the arms whose templates can be read and fit their steps, and where each template is named."""
    sound, prompts = [], {}
    for arm in arms:
        wrong = [problem for step in arm.debate.steps.values() for problem in amiss(step, arm, templates)]
        add_new(problems, wrong)
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
    layout: Layout,
    experiment: str | None,
    cells: tuple[Cell, ...],
    tasks: Mapping[str, Task],
    families: tuple[Family, ...],
    whatifs: tuple[Whatif, ...],
    trainings: tuple[Training, ...],
    templates: Templates,
) -> Plan:
    text = spec.text
    stopping = stopping_of(spec, tasks)
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
        shards=_shards(spec, tasks, cells, stopping, layout),
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
        trainings=trainings,
    )


def _prompt_folders(spec: Path) -> tuple[Path, ...]:
    """Return where a spec's own prompts are: prompts/ beside the spec, beside specs/, or here."""
    candidates = (
        spec.parent / "prompts",
        *(parent / "prompts" for parent in spec.resolve().parents[1:2]),
        Path("prompts"),
    )
    return tuple(dict.fromkeys(folder.resolve() for folder in candidates if folder.is_dir()))


def _shards(
    spec: Spec, tasks: Mapping[str, Task], cells: Sequence[Cell], stopping: StoppingRule | None, layout: Layout
) -> dict[str, tuple[Shard, ...]]:
    sizes, replicates = {label: len(task.questions) for label, task in tasks.items()}, spec.text.replicates
    if stopping is not None:
        largest = max(sizes.values())
        return {label: cut_in_step(size, replicates, stopping, largest) for label, size in sizes.items()}
    models = [model for cell in cells for model in cell.debate.models]
    size = shard_size(
        spec.text.shard_size,
        is_local=all(model.is_program for model in models),
        connections=spec.limits.connections,
        calls_per_question=max(len(cell.debate.cast) * 3 for cell in cells),
        kept=lambda auto: earlier(Path(layout.cut)).size(auto),
    )
    return {label: cut(questions, replicates, size) for label, questions in sizes.items()}
