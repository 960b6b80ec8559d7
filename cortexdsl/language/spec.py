"""Spec files: read, validated, and turned into datasets, models, agents, claims, and limits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cortexdsl.claims.meaning import check_claim, repeated_claims
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import Claim
from cortexdsl.core import FREE, Agent, Dataset, KnowledgeSource, Limits, Model
from cortexdsl.engine.tool_use import ABOUT
from cortexdsl.errors import Problem, SpecError
from cortexdsl.language.cross_references import cross_check, secret_texts
from cortexdsl.language.grammar.core_words import core_value
from cortexdsl.language.grammar.experiment import SpecText
from cortexdsl.language.grammar.questions import COLUMNS, DatasetText
from cortexdsl.language.grammar.speakers import ToolText
from cortexdsl.language.inheritance import read_extended, resolve_methods
from cortexdsl.language.nodes import Mark, Node, PlacedProblem, Route, refuse_all
from cortexdsl.language.problems import validate
from cortexdsl.models.endpoints.providers import redirected


@dataclass(frozen=True, slots=True)
class Spec:
    """A validated spec.

    Attributes
    ----------
    name : str
        The experiment's name: the name of the file without its ending.
    path : Path
    files : tuple of Path
        All files that were read, the extended ones first.
    text : SpecText
        Every section as written, with defaults.
    node : Node
        The values with their positions; each method holds what it inherits.
    datasets : mapping of label to Dataset
    models, tools : mapping of name to Model
    agents : mapping of name to Agent
        In the order of the spec.
    teams : mapping of name to agents
        With copies of repeated agents; see `team_of`.
    hypotheses : tuple of Claim
    limits : Limits
    """

    name: str
    path: Path
    files: tuple[Path, ...]
    text: SpecText
    node: Node
    datasets: Mapping[str, Dataset]
    models: Mapping[str, Model]
    tools: Mapping[str, Model]
    agents: Mapping[str, Agent]
    teams: Mapping[str, tuple[Agent, ...]]
    hypotheses: tuple[Claim, ...]
    limits: Limits

    def where(self, route: Route) -> str:
        """Return `file:line:column` of a value, such as `("methods", "sparse", "keep")`, or of what is above."""
        return str(self.node.where(route))

    def problem(self, route: Route, what: str, remedy: str = "") -> Problem:
        """Return a problem placed at a value, for layers that know more than the language does."""
        return Problem(self.where(route), what, remedy)


def load_spec(path: Path | str, environment: Mapping[str, str] | None = None) -> Spec:
    """Read and validate a spec.

    Parameters
    ----------
    path : Path or str
    environment : mapping or None
        Resolves `env:NAME` in paths of datasets; None: the environment of the process. Addresses and keys of models
        stay names, which only the client of models resolves.

    Raises
    ------
    SpecError
        All problems of the first stage that has some, in the order of the text: reading, keys, values, references.
    """
    path = Path(path)
    environment = os.environ if environment is None else environment
    root, files = read_extended(path)
    refuse_all(secret_texts(root))  # before any message shows a value
    text = validate(SpecText, root)
    node = resolve_methods(root)
    problems: list[PlacedProblem] = list(cross_check(node, text))
    datasets = _datasets(text, node, environment, problems)
    claims = _claims(text, node, problems)
    billed = {name for name, engine in text.engines.items() if engine.provider is not None}
    models = {
        name: redirected(replace(model, is_billed=model.engine in billed), environment)
        for name, model in ((name, entry.as_model(name)) for name, entry in text.models.items())
    }
    refuse_all(problems)
    agents = {
        entry.name: Agent(entry.name, models[entry.model], entry.persona, MappingProxyType(entry.vars))
        for entry in text.agents
    }
    teams = {name: team_of(team_members(names, agents), agents) for name, names in text.teams.items()}
    return Spec(
        name=path.name.removesuffix(".yaml").removesuffix(".yml"),
        path=path,
        files=files,
        text=text,
        node=node,
        datasets=MappingProxyType(datasets),
        models=MappingProxyType(models),
        tools=MappingProxyType({name: tool_of(name, entry, text.knowledge) for name, entry in text.tools.items()}),
        agents=MappingProxyType(agents),
        teams=MappingProxyType(teams),
        hypotheses=tuple(claims),
        limits=text.limits,
    )


def _datasets(
    text: SpecText, root: Node, environment: Mapping[str, str], problems: list[PlacedProblem]
) -> dict[str, Dataset]:
    """Return the valid datasets by label, and add the problems of the others."""
    datasets: dict[str, Dataset] = {}
    for label, entry, route in _dataset_entries(text):
        try:
            datasets[label] = dataset_of(label, entry, text.seed, root, route, environment)
        except SpecError as error:
            problems += [(root.where(route), problem) for problem in error.problems]
    return datasets


def _claims(text: SpecText, root: Node, problems: list[PlacedProblem]) -> list[Claim]:
    """Return the claims that can be parsed, and add the problems of the others."""
    claims: list[Claim] = []
    valid = len(problems)
    for i, line in enumerate(text.hypotheses):
        mark = root.where(("hypotheses", i))
        try:
            claims.append(parse_claim(line, str(mark)))
            check_claim(claims[-1], str(mark))
        except SpecError as error:
            problems += [(mark, problem) for problem in error.problems]
    if len(problems) == valid:
        problems += _repeated_claims(claims, root)
    return claims


def _repeated_claims(claims: Sequence[Claim], root: Node) -> Iterator[PlacedProblem]:
    """Yield the claims that equal an earlier one: the correction would count them twice."""
    for i, first in repeated_claims(claims):
        mark = root.where(("hypotheses", i))
        what = f"hypotheses[{i + 1}] says the same as hypotheses[{first + 1}], {claims[first].text!r}"
        yield mark, Problem(str(mark), what, "keep one of them: the correction counts every claim")


def team_members(names: str | tuple[str, ...], agents: Mapping[str, Agent]) -> tuple[str, ...]:
    """Return the names of the members of a team."""
    return tuple(agents) if isinstance(names, str) else names


def tool_of(name: str, entry: ToolText, knowledge: Mapping[str, KnowledgeSource]) -> Model:
    """Return a tool as a model that costs nothing, with its parameters as options."""
    options: dict[str, Any] = {"function": entry.tool, "seconds": entry.seconds} if entry.kind == "python" else {}
    options |= {"source": entry.source, "top": knowledge[entry.source].top} if entry.source is not None else {}
    options |= {ABOUT: entry.about} if entry.about is not None else {}
    return Model(name=name, model=f"tool/{entry.kind}", options=MappingProxyType(options), price=FREE)


def team_of(names: tuple[str, ...], agents: Mapping[str, Agent]) -> tuple[Agent, ...]:
    """Return agents by name; repetitions of `qwen` are copies called `qwen-2` and `qwen-3`."""
    times: dict[str, int] = {}
    team = []
    for name in names:
        times[name] = times.get(name, 0) + 1
        agent = agents[name]
        team.append(agent if times[name] == 1 else replace(agent, name=f"{name}-{times[name]}"))
    return tuple(team)


def _dataset_entries(text: SpecText) -> list[tuple[str, DatasetText, Route]]:
    return [(_label(entry, route), entry, route) for route, entry in text.asked]


def _label(entry: DatasetText, route: Route) -> str:
    if len(route) > 1:
        return str(route[1])
    stem = Path(entry.file or "").stem or (entry.hub or "").rpartition("/")[2].partition("@")[0]
    return entry.name or re.sub(r"[^\w+.-]+", "-", stem) or "questions"


def dataset_of(
    label: str, entry: DatasetText, seed: int, root: Node, route: Route, environment: Mapping[str, str]
) -> Dataset:
    """Return the dataset of an entry at a route."""
    dataset = core_value(
        Dataset,
        entry,
        translated=("file", "table", "strict", *COLUMNS),
        label=label,
        config=entry.subset[0] if entry.hub and entry.subset else None,
        subset=() if entry.hub else entry.subset,
        path=_path_of(entry, root, route, environment),
        seed=seed if entry.seed is None else entry.seed,
        fields=MappingProxyType(entry.columns),
        metric=None,
    )
    return replace(dataset, **entry.parts)


def changed_dataset(
    dataset: Dataset, entry: DatasetText, root: Node, route: Route, environment: Mapping[str, str]
) -> Dataset:
    """Return a dataset with the words of an entry that names no other one; a path or file has the same columns."""
    own = entry.model_fields_set - {"name", "file", "hub", "table", "metric", "strict", *COLUMNS}
    changes: dict[str, Any] = {word: getattr(entry, word) for word in own} | entry.parts
    if dataset.hub and entry.subset:
        changes |= {"config": entry.subset[0], "subset": ()}
    if (path := _path_of(entry, root, route, environment)) is not None:
        changes |= {"path": path, "hub": None, "config": None, "revision": None}
    return replace(dataset, **changes, fields=MappingProxyType({**dataset.fields, **entry.columns}))


def _path_of(entry: DatasetText, root: Node, route: Route, environment: Mapping[str, str]) -> str | None:
    return None if entry.file is None else path_of(entry.file, root.where((*route, "file")), environment)


def path_of(written: str, mark: Mark, environment: Mapping[str, str]) -> str:
    """Return a path that a spec names as an absolute one, relative to the file that names it, or from `env:NAME`.

    Raises
    ------
    SpecError
        The variable is not set.
    """
    if written.startswith("env:"):
        name = written.removeprefix("env:")
        if not environment.get(name):
            what = f"the environment variable {name} is not set"
            raise SpecError([Problem(str(mark), what, f"set it to the path of the data: export {name}=...")])
        return str(Path(environment[name]).absolute())
    return os.path.normpath((Path(mark.file).parent / Path(written).expanduser()).absolute())
