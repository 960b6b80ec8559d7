"""Spec -> plan: arms become cells, questions become shards, names in families become cells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cortexdsl.errors import InputError, SpecError
from cortexdsl.plan.digests import method_digest
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.families import resolve_families
from cortexdsl.plan.judging import JUDGED, judge_of, judging_of
from cortexdsl.plan.money import check_money
from cortexdsl.plan.shards import Shard, cut, cut_in_step, shard_size
from cortexdsl.protocols.arms import Arm, arms
from cortexdsl.protocols.templates import Templates
from cortexdsl.spec.claims import unlookable
from cortexdsl.spec.load import Spec, load_spec
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Cell, StoppingRule

SPECS = Path("specs")
_NAME = re.compile(r"[^\W_][\w.+-]*(/[^\W_][\w.+-]*)*")


def asked_experiments(asked: str | None) -> dict[str, str]:
    """Return the specs that a workflow runs: those asked for, or all that lie directly in specs/.

    Parameters
    ----------
    asked : str or None
        A name (`quickstart`, `examples/groups`) or the path of a spec; several separated by commas.

    Returns
    -------
    dict of experiment to the path of its spec

    Raises
    ------
    InputError
        There is no such spec, or two would write to one folder of results.
    """
    if asked is not None:
        paths = [spec_path(part.strip()) for part in str(asked).split(",") if part.strip()]
    else:
        paths = sorted(path for path in SPECS.glob("*.yaml") if not path.name.startswith("_"))
    if not paths:
        raise InputError(f"there is no spec directly in specs/\n    write one: cortexdsl new NAME; {_specs_here()}")
    found: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        name = experiment_name(path)
        if name in found:
            raise InputError(f"{found[name]} and {path} would both write to results/{name}\n    rename one of them")
        found[name] = _from_here(path)
    return found


def _from_here(path: Path) -> str:
    """Spell a path in one way: it stands in the params of jobs, which run again where those change."""
    here, whole = Path.cwd().resolve(), path.resolve()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def spec_path(asked: str) -> Path:
    """Return the path of a spec from its name or path."""
    for path in (Path(asked), SPECS / asked, SPECS / f"{asked}.yaml"):
        if path.is_file():
            return path
    raise InputError(f"there is no spec {asked!r}\n    {_specs_here()}")


def _specs_here() -> str:
    names = sorted(path.relative_to(SPECS).with_suffix("").as_posix() for path in SPECS.rglob("*.yaml"))
    shown = [name for name in names if not Path(name).name.startswith("_")]
    return f"specs: {', '.join(shown) or 'none in specs/ of this folder'}"


def experiment_name(path: Path) -> str:
    """Return the name of a spec's experiment: its path below specs/, or its file's name, without the ending.

    Raises
    ------
    InputError
        The name cannot stand in paths and rules.
    """
    try:
        name = path.resolve().relative_to(SPECS.resolve()).with_suffix("").as_posix()
    except ValueError:
        name = path.stem
    check_name(name)
    return name


def check_name(name: str) -> None:
    """Refuse what cannot name an experiment: it stands in paths, in rules and on the command line."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot name an experiment, whose results lie in results/NAME\n"
            "    a name has letters, digits and _ + - . only, and begins with a letter or digit"
        )


def compile_spec(asked: str, *, experiment: str | None = None) -> Plan:
    """Compile a spec.

    Parameters
    ----------
    asked : str
        Its name or path.
    experiment : str or None
        The experiment's name, where it is not to be taken from the path.

    Raises
    ------
    SpecError, DataError
        Everything that is wrong in the text; then what is wrong with the data.
    """
    path = spec_path(asked)
    spec = load_spec(path)
    templates_folders = _prompt_folders(path)
    templates = Templates(templates_folders)
    cells = _cells(spec, arms(spec), templates)
    families = resolve_families(spec, cells)
    check_money(spec, cells, judge_of(spec))
    tasks = {label: load(dataset) for label, dataset in spec.datasets.items()}
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
        prompt_folders=templates_folders,
        reply_tokens=text.expected.reply_tokens if text.expected else 200,
        stopping=stopping,
    )


def _prompt_folders(spec: Path) -> tuple[Path, ...]:
    """Return where a spec's own prompts are: prompts/ beside the spec, beside specs/, or here."""
    candidates = (
        spec.parent / "prompts",
        *(parent / "prompts" for parent in spec.resolve().parents[1:2]),
        Path("prompts"),
    )
    return tuple(dict.fromkeys(folder.resolve() for folder in candidates if folder.is_dir()))


def _cells(spec: Spec, found: Sequence[Arm], templates: Templates) -> tuple[Cell, ...]:
    """Merge arms whose digests are equal: one cell, called as the first of them, the others its aliases."""
    cells: dict[str, Cell] = {}
    digests: dict[str, str] = {}
    # A matched arm's digest holds that of the cell it is matched to.
    for arm in sorted(found, key=lambda arm: arm.match is not None):
        budget = digests[arm.match.cell] if arm.match else None
        if arm.match and arm.match.cell not in digests:
            raise SpecError([spec.problem(("methods", arm.method, "match"), f"{arm.match.cell} is matched itself")])
        pools = [spec.text.knowledge[name] for name in _pools(arm) if name in spec.text.knowledge]
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


def _pools(arm: Arm) -> tuple[str, ...]:
    return tuple({name: None for step in arm.debate.steps.values() for name in step.material.get("pool", ())})


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
    return StoppingRule(said.fewest, said.batch, said.alpha or spec.text.analysis.alpha)


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
        is_local=all(model.model.startswith("builtin/") for model in models),
        connections=spec.limits.connections,
        calls_per_question=max(len(cell.debate.cast) * 3 for cell in cells),
    )
    return {label: cut(questions, replicates, size) for label, questions in sizes.items()}
