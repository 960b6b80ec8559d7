"""Compile a spec into a plan: equal cells are merged, questions become shards, names in families become cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from cortexdsl.core import Cell, StoppingRule
from cortexdsl.errors import DataError, InputError, Problem, SpecDataError, SpecError
from cortexdsl.language.methods.resolved_cells import ResolvedCell, resolve_cells
from cortexdsl.language.nodes import Route
from cortexdsl.language.problems import add_new, sorted_by_place
from cortexdsl.language.spec import Spec, load_spec
from cortexdsl.language.template_problems import template_problems
from cortexdsl.plan.analysis import (
    judge_problems,
    judges_of,
    label_problems,
    metrics_of,
    resolve_families,
    resolve_judging,
    resolve_labelling,
    resolve_stopping,
    resolve_tournament,
    unanswerable_claims,
)
from cortexdsl.plan.digests import cell_digest, fit_digests
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout, experiment_name, selected_experiments, spec_path
from cortexdsl.plan.learned import resolve_learned
from cortexdsl.plan.models import cost_problems, missing_modules, pin_spec_weights, pin_weights, provider_problems
from cortexdsl.plan.parts import dataset_facts
from cortexdsl.plan.permissions import permissions_of
from cortexdsl.plan.shards import Shard, cut, cut_in_step, read_previous_shards, shard_size
from cortexdsl.plan.training import resolve_trainings
from cortexdsl.plan.whatif import resolve_whatifs
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from cortexdsl.templates.templates import Templates


@dataclass(frozen=True, slots=True)
class Compilation:
    """The result of compiling a spec: the plan or what exists of it, and everything that is wrong with the spec.

    Attributes
    ----------
    spec : Spec or None
    plan : Plan or None
        None if anything is wrong.
    problems : tuple of Problem
        In the order of files and places, the spec's own files first.
    cells : tuple of Cell
        Those without problems.
    tasks : mapping of dataset label to Task
        Those that could be loaded.
    templates : Templates
    prompts : mapping of template to the place at which the spec names it
    is_text_right : bool
        Whether only the data is wrong.
    """

    spec: Spec | None
    plan: Plan | None
    problems: tuple[Problem, ...]
    cells: tuple[Cell, ...] = ()
    tasks: Mapping[str, Task] = field(default_factory=dict)
    templates: Templates = field(default_factory=Templates)
    prompts: Mapping[str, str] = field(default_factory=dict)
    is_text_right: bool = False

    def with_problems(self, more: Iterable[Problem]) -> Compilation:
        """Return the compilation with more problems, in the order of places."""
        problems = list(self.problems)
        add_new(problems, more)
        if len(problems) == len(self.problems):
            return self
        files = [] if self.spec is None else [self.spec.path, *self.spec.files]
        return replace(self, plan=None, problems=sorted_by_place(problems, files), is_text_right=False)


Compiler: TypeAlias = Callable[[str, str | None], Plan]
"""Compiles the spec of a path or a name for an experiment: `compile_spec`, or a cache of it."""


def compile_spec(spec: str, experiment: str | None = None) -> Plan:
    """Compile a spec.

    Parameters
    ----------
    spec : str
        Its name or path.
    experiment : str or None
        The experiment's name if it does not follow from the path.

    Raises
    ------
    SpecError
        Everything that is wrong in the text, the templates and the data; a SpecDataError if only the data is wrong.
    """
    return plan_of(validate_experiment(spec, experiment=experiment))


def plan_of(compilation: Compilation) -> Plan:
    """Return the plan of a compilation.

    Raises
    ------
    SpecError
        There is none, as something is wrong; a SpecDataError if only the data is wrong.
    """
    if compilation.plan is None:
        raise (SpecDataError if compilation.is_text_right else SpecError)(compilation.problems)
    return compilation.plan


def validate_experiment(name: str, *, experiment: str | None = None) -> Compilation:
    """Compile as much of a spec as possible, and list everything that is wrong with it.

    Raises
    ------
    InputError
        There is no such spec, or a file of it is not YAML.
    """
    path = spec_path(name)
    files = [path]
    try:
        spec = load_spec(path)
        files += spec.files
        return _compiled(pin_spec_weights(spec), path, experiment)
    except SpecError as error:
        return Compilation(None, None, sorted_by_place(error.problems, files))


def _compiled(spec: Spec, path: Path, experiment: str | None) -> Compilation:
    """Compile a spec whose sections are valid.

    Raises
    ------
    SpecError
        All problems of the first stage that has some: methods, templates, what the experiment does with its cells.
    """
    templates = Templates(_prompt_folders(path))
    resolved = resolve_cells(spec, pin_weights)
    prompts = _check_templates(resolved, templates)
    tasks, data_problems = _tasks(spec)
    layout = Layout(f"results/{experiment or experiment_name(path)}")
    trained = resolve_trainings(spec, resolved, tasks, templates, layout)
    learning = resolve_learned(trained, tasks, templates, layout)
    spec, problems, data_problems = learning.spec, [*learning.problems], [*data_problems, *learning.lost]
    cells, more = _merge_cells(spec, learning.arms, templates, fit_digests(learning.learned))
    problems += more
    problems += unanswerable_claims(spec, cells)
    families, more = resolve_families(spec, cells)
    problems += more
    whatifs, more = resolve_whatifs(spec, cells)
    problems += more
    problems += label_problems(spec, templates)
    problems += missing_modules(spec)
    problems += _endless_rounds(spec, cells)
    problems += provider_problems(spec)
    problems += judge_problems(spec)
    problems += cost_problems(spec, cells, judges_of(spec))
    if problems:
        raise SpecError(problems)
    compilation = Compilation(
        spec,
        None,
        sorted_by_place(data_problems, [path, *spec.files]),
        cells,
        tasks,
        templates,
        prompts,
        is_text_right=True,
    )
    if data_problems:
        return compilation
    stopping = resolve_stopping(spec, tasks)
    plan = Plan(
        experiment=experiment or experiment_name(path),
        spec_path=path.as_posix(),
        title=spec.text.title or path.stem,
        seed=spec.text.seed,
        replicates=spec.text.replicates,
        tasks=tasks,
        datasets=spec.datasets,
        cells=cells,
        shards=_shards(spec, tasks, cells, stopping, layout),
        families=families,
        hypotheses=spec.text.hypotheses,
        metrics=metrics_of(spec, tasks),
        limits=spec.limits,
        analysis=spec.text.analysis.model_dump(include={"alpha", "correction", "judge", "metrics"}),
        judging=resolve_judging(spec, tasks, templates),
        tournament=resolve_tournament(spec, templates, cells),
        knowledge=dict(spec.text.knowledge),
        servers=spec.text.servers,
        models=spec.models,
        templates=templates,
        stopping=stopping,
        whatifs=whatifs,
        trainings=learning.trainings,
        learned=learning.learned,
        permissions=permissions_of(
            spec,
            [
                *tasks.values(),
                *(training.task for training in learning.trainings),
                *(each.task for each in learning.learned),
            ],
            dict.fromkeys(cell.debate.similarity for cell in cells),
            templates,
        ),
        labelling=resolve_labelling(spec, templates),
        facts=dataset_facts(tasks),
        spec_files=tuple(map(str, spec.files)),
    )
    used = {model.engine for model in plan.called_models}
    engines = {name: engine for name, engine in spec.text.engines.items() if name in used}
    return replace(compilation, plan=replace(plan, engines=engines))


def _merge_cells(
    spec: Spec, arms: Sequence[ResolvedCell], templates: Templates, fits: Mapping[str, str]
) -> tuple[tuple[Cell, ...], tuple[Problem, ...]]:
    """Merge arms with equal digests into one cell, named after the first of them; the others are its aliases.

    `fits` are the digests of the fitted functions of the spec.

    Returns
    -------
    (tuple of Cell, tuple of Problem)
        Cells in the order of the spec; a problem for each arm that is matched to a matched one.
    """
    problems: list[Problem] = []
    cells: dict[str, Cell] = {}
    digests: dict[str, str] = {}
    # A matched arm's digest holds that of the cell it is matched to.
    for arm in sorted(arms, key=lambda arm: arm.match is not None):
        if arm.match and arm.match.cell not in digests:
            if any(other.name == arm.match.cell for other in arms):
                what, route = f"{arm.match.cell} is matched itself", ("methods", arm.method, "budget")
                problems.append(spec.problem(route, what, "name a cell that is not matched"))
            continue
        budget = digests[arm.match.cell] if arm.match else None
        meaning = arm.debate, spec.text.seed, templates.digest, arm.match, budget, arm.steps
        own = cell_digest(*meaning, spec.text.knowledge, spec.models, fits)
        digests[arm.name] = own
        if own in cells:
            cells[own] = replace(cells[own], aliases=(*cells[own].aliases, arm.name))
        else:
            named = arm.name, arm.slug, arm.method, ()
            cells[own] = Cell(*named, arm.settings, arm.axes, arm.debate, own, arm.match, arm.steps)
    order = {arm.name: k for k, arm in enumerate(arms)}
    return tuple(sorted(cells.values(), key=lambda cell: order[cell.name])), tuple(problems)


def _check_templates(resolved: Sequence[ResolvedCell], templates: Templates) -> dict[str, str]:
    """Return where each template is named.

    Raises
    ------
    SpecError
        A template cannot be read or does not fit its step.
    """
    prompts: dict[str, str] = {}
    problems: list[Problem] = []
    for arm in resolved:
        for step in arm.debate.steps.values():
            problems += template_problems(step, arm, templates)
            prompts.update(dict.fromkeys(step.prompts, str(arm.prompts[step.name])))
    if problems:
        raise SpecError(problems)
    return prompts


_WORDS = {"tolerance": "metric", "reading": "strict", "labels": "kind", "revision": "hub"}
"""Words of a dataset whose value is written under another one."""


def _tasks(spec: Spec) -> tuple[dict[str, Task], list[Problem]]:
    tasks, problems = {}, []
    for label, dataset in spec.datasets.items():
        try:
            tasks[label] = load(dataset)
        except DataError as error:
            entry: Route = ("dataset",) if spec.text.dataset is not None else ("datasets", label)
            words = [error.word or "", _WORDS.get(error.word or "", ""), "file", "name"]
            route = next(((*entry, word) for word in words if spec.node.find((*entry, word))), entry)
            problems.append(Problem.of(spec.where(route), error))
    return tasks, problems


def _endless_rounds(spec: Spec, cells: Sequence[Cell]) -> Iterator[Problem]:
    """Yield the cells whose debates are repeated until they have spent a budget, in rounds of files."""
    for cell in cells:
        grows = cell.match is not None and cell.match.grow
        if grows and any(model.engine is not None for model in cell.debate.models):
            what = f"{cell.name} grows until its budget is spent, so its rounds of files cannot be counted"
            yield spec.problem(("methods", cell.method), what, "match calls or tokens without grow, or ask by a server")


def _prompt_folders(spec: Path) -> tuple[Path, ...]:
    """Return the folders of a spec's prompts: prompts/ next to the spec, next to specs/, in the working folder."""
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
        calls_per_question=max(len(cell.debate.role_agents) * 3 for cell in cells),
        kept=lambda auto: read_previous_shards(Path(layout.cut)).size(auto),
    )
    return {label: cut(questions, replicates, size) for label, questions in sizes.items()}


def sound_experiments(names: str | None, compiled: Compiler = compile_spec) -> tuple[dict[str, str], dict[str, str]]:
    """Return the specs that a workflow runs, and those in specs/ that it cannot run.

    One invalid spec in specs/ does not keep the others from running.

    Parameters
    ----------
    names : str or None
        As for `selected_experiments`. A spec that is named is never left out: its problems end the run.
    compiled : callable of (spec, experiment)
        Compiles one spec. Give a cache if you need the plans afterwards.

    Returns
    -------
    (dict, dict) of experiment to the path of its spec

    Raises
    ------
    InputError
        There is no spec, a spec that was named cannot run, or none of those in specs/ can.
    """
    experiments = selected_experiments(names)
    if names is not None:
        return experiments, {}
    sound: dict[str, str] = {}
    broken: dict[str, str] = {}
    first: InputError | None = None
    for experiment, path in experiments.items():
        try:
            compiled(path, experiment)
            sound[experiment] = path
        except InputError as error:
            broken[experiment], first = path, first or error
    if first is not None and not sound:
        raise first
    return sound, broken
