"""A spec file -> a checked experiment: datasets, models, agents, methods, claims, limits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cortexdsl.errors import Problem, SpecError
from cortexdsl.spec.check.crosscheck import cross_check, redacted, secrets
from cortexdsl.spec.check.likeness import resolve_likeness
from cortexdsl.spec.check.mending import Doubtful, mend
from cortexdsl.spec.check.problems import in_order
from cortexdsl.spec.check.stand_ins import of_spec
from cortexdsl.spec.claims.checks import check_claim
from cortexdsl.spec.claims.language import Claim, parse_claim
from cortexdsl.spec.claims.meaning import repeated
from cortexdsl.spec.grammar.sections.sources import COLUMNS, DatasetText
from cortexdsl.spec.grammar.sections.speakers import SAMPLING, SOLVER_PARAMETERS, TOOLS, ModelText, ToolText
from cortexdsl.spec.grammar.sheet import SpecText
from cortexdsl.spec.text.extends import read_extended
from cortexdsl.spec.text.nodes import Found, Mark, Node, Route
from cortexdsl.terms import FREE, Agent, Dataset, Limits, Model


@dataclass(frozen=True, slots=True)
class Spec:
    """A checked spec.

    Attributes
    ----------
    name : str
        The experiment's name: the file's, without its ending.
    path : Path
    files : tuple of Path
        All that were read: the extended ones first.
    text : SpecText
        Every section as written, with defaults, checked.
    node : Node
        The values with their positions; each method holds what it inherits by `like`.
    datasets : mapping of label to Dataset
    models, tools : mapping of name to Model
    agents : mapping of name to Agent
        In the order of the spec.
    teams : mapping of name to agents
        With copies of repeated agents; see `team_of`.
    hypotheses : tuple of Claim
    limits : Limits
    doubtful : Doubtful
        What was wrong and is judged with a stand-in; empty in a spec that may be run.
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
    doubtful: Doubtful = Doubtful()  # noqa: RUF009 - frozen and empty, safe to share

    @property
    def claims(self) -> tuple[tuple[int, Claim], ...]:
        """The claims that could be read, each with its place in the list."""
        left, found = list(self.hypotheses), []
        for i, line in enumerate(self.text.hypotheses):
            if left and left[0].text == line:
                found.append((i, left.pop(0)))
        return tuple(found)

    def where(self, route: Route) -> str:
        """Return `file:line:column` of a value, such as `("methods", "sparse", "keep")`, or of what is nearest."""
        return str(self.node.where(route))

    def problem(self, route: Route, what: str, remedy: str = "") -> Problem:
        """Return a problem placed at a value, for layers that know more than the language does."""
        return Problem(self.where(route), what, remedy)


def load_spec(path: Path | str, environment: Mapping[str, str] | None = None) -> Spec:
    """Read and check a spec.

    Parameters
    ----------
    path : Path or str
    environment : mapping or None
        Where `env:NAME` in paths of datasets is looked up; None for the process's own. Addresses and keys of
        models stay names: the door alone resolves them.

    Raises
    ------
    SpecError
        Everything that is wrong, in the order of the text.
    """
    spec, problems = judge_spec(path, environment)
    if problems or spec is None:
        raise SpecError(in_order(problems))
    return spec


def judge_spec(path: Path | str, environment: Mapping[str, str] | None = None) -> tuple[Spec | None, tuple[Found, ...]]:
    """Read a spec and judge all of it that can be judged.

    Returns
    -------
    Spec or None
        With stand-ins where something is wrong (`spec.doubtful` says where); None where nothing can be judged.
    tuple of Found
        Everything that is wrong with it.

    Raises
    ------
    SpecError
        A file is missing or is no YAML.
    """
    path = Path(path)
    root, files, odd = read_extended(path)
    problems: list[Found] = [(_mark_of(problem), problem) for problem in odd]
    keys = list(secrets(root))
    problems += [found for _, found in keys]
    root, doubtful = redacted(root, [route for route, _ in keys])
    mended = mend(SpecText, root, of_spec(root), doubtful=doubtful)
    odd_places = {problem.where for problem in odd}  # in whose place 0 was read
    problems += [found for found in mended.problems if found[1].where not in odd_places]
    text, doubtful = mended.text, mended.doubtful
    if text is None:
        return None, tuple(problems)
    raw, (root, strange) = root, resolve_likeness(mended.node)
    problems += strange
    lost = [("methods", name) for name in text.methods if name not in root.mapping()["methods"].mapping()]
    doubtful = doubtful.with_(*lost)
    problems += cross_check(root, text, doubtful)
    where = os.environ if environment is None else environment
    datasets: dict[str, Dataset] = {}
    for label, entry, route in _dataset_entries(text):
        try:
            if not doubtful.has(*route):
                datasets[label] = _dataset(label, entry, text.seed, root, route, where)
        except SpecError as error:
            problems += [(root.where(route), found) for found in error.problems]
            doubtful = doubtful.with_(route)
    claims: list[Claim] = []
    for i, line in enumerate(text.hypotheses):
        mark = root.where(("hypotheses", i))
        try:
            claims.append(parse_claim(line, str(mark)))
            check_claim(claims[-1], str(mark))
        except SpecError as error:
            problems += [(mark, found) for found in error.problems]
            doubtful = doubtful.with_(("hypotheses",))
    if len(claims) == len(text.hypotheses):
        problems += _repeated(claims, root)
    models = {name: model_of(name, entry) for name, entry in text.models.items()}
    some = next(iter(models.values()))
    agents = {entry.name: Agent(entry.name, models.get(entry.model, some), entry.persona) for entry in text.agents}
    known = {name: _known(members, agents) for name, members in text.teams.items()}
    if "protocols" in raw.mapping():  # as written: whoever judges protocols says what is wrong with them
        root = Node({**root.mapping(), "protocols": raw.mapping()["protocols"]}, root.mark, root.keys, root.size)
    spec = Spec(
        name=path.name.removesuffix(".yaml").removesuffix(".yml"),
        path=path,
        files=files,
        text=text,
        node=root,
        datasets=MappingProxyType(datasets),
        models=MappingProxyType(models),
        tools=MappingProxyType({name: tool_of(name, entry) for name, entry in text.tools.items()}),
        agents=MappingProxyType(agents),
        teams=MappingProxyType({name: team_of(members, agents) for name, members in known.items()}),
        hypotheses=tuple(claims),
        limits=Limits(**text.limits.model_dump()),
        doubtful=doubtful,
    )
    return spec, tuple(problems)


def _repeated(claims: Sequence[Claim], root: Node) -> Iterator[Found]:
    """Yield the claims that say what an earlier one says: the correction would count them twice."""
    for i, first in repeated(claims):
        mark = root.where(("hypotheses", i))
        what = f"hypotheses[{i + 1}] says the same as hypotheses[{first + 1}], {claims[first].text!r}"
        yield mark, Problem(str(mark), what, "keep one of them: the correction counts every claim")


def _known(members: str | tuple[str, ...], agents: Mapping[str, Agent]) -> tuple[str, ...]:
    """Return the members of a team; somebody stands in for one that is unknown, so that it keeps its size."""
    somebody = next(iter(agents))
    return tuple(agents) if isinstance(members, str) else tuple(n if n in agents else somebody for n in members)


def _mark_of(problem: Problem) -> Mark:
    file, line, column = problem.where.rsplit(":", 2)
    return Mark(file, int(line), int(column))


TRAINED = "trained/"
"""What the names of models begin with that are known once it is known what they are trained from."""


def model_of(name: str, entry: ModelText) -> Model:
    """Return the model of an entry: prices per token, and everything that is sent among its options.

    One that is trained is called `trained/NAME/ROLE`, or `trained/NAME/ROLE/REPEAT`: what it is, whoever knows the
    methods says.
    """
    said = {key: getattr(entry, key) for key in (*SAMPLING, *SOLVER_PARAMETERS)}
    options: dict[str, Any] = {key: value for key, value in said.items() if value is not None}
    price = None if entry.price is None else entry.price.per_token()
    return Model(
        name=name,
        model=entry.model
        or TRAINED + "/".join(str(part) for part in (entry.trained, entry.role, entry.repeat) if part),
        api_base=entry.api_base,
        api_key_env=entry.api_key_env,
        options=MappingProxyType(options | dict(entry.options)),
        parameters=entry.parameters,
        tokens=entry.tokens,
        price=price,
        reasoning_tokens=entry.reasoning_tokens,
        context=entry.context,
        transport=entry.transport,
    )


def tool_of(name: str, entry: ToolText) -> Model:
    """Return a tool as what speaks in place of a model: free, and what it is told among its options."""
    told = {key: getattr(entry, key) for key in TOOLS[entry.tool]}
    return Model(name=name, model=f"tool/{entry.tool}", options=MappingProxyType(told), price=FREE)


def team_of(names: tuple[str, ...], agents: Mapping[str, Agent]) -> tuple[Agent, ...]:
    """Return agents by name; the second and third `qwen` are copies called `qwen-2` and `qwen-3`."""
    met: dict[str, int] = {}
    team = []
    for name in names:
        met[name] = met.get(name, 0) + 1
        agent = agents[name]
        team.append(agent if met[name] == 1 else Agent(f"{name}-{met[name]}", agent.model, agent.persona))
    return tuple(team)


def _dataset_entries(text: SpecText) -> list[tuple[str, DatasetText, Route]]:
    if text.dataset is not None:
        entry = text.dataset
        stem = Path(entry.file or "").stem or (entry.hub or "").rpartition("/")[2]
        label = entry.name or re.sub(r"[^\w+.-]+", "-", stem) or "questions"
        return [(label, text.dataset, ("dataset",))]
    return [(label, entry, ("datasets", label)) for label, entry in (text.datasets or {}).items()]


def _dataset(
    label: str, entry: DatasetText, seed: int, root: Node, route: Route, environment: Mapping[str, str]
) -> Dataset:
    key = "file" if entry.file else "path"
    written = entry.file or entry.path
    path = None if written is None else path_of(written, root.where((*route, key)), environment)
    columns = {name: value for name in COLUMNS if (value := getattr(entry, name))}
    return Dataset(
        label=label,
        name=entry.name,
        path=path,
        subset=entry.subset,
        split=entry.split,
        size=entry.size,
        seed=seed if entry.seed is None else entry.seed,
        stratify=entry.stratify,
        ids=entry.ids,
        fields=MappingProxyType(columns),
        kind=entry.kind,
        metric=entry.metric,
        reading=entry.reading,
        shuffle_options=entry.shuffle_options,
        hub=entry.hub,
        config=entry.config,
        revision=entry.revision,
        delimiter=entry.delimiter,
        encoding=entry.encoding,
        decimal=entry.decimal,
        drop_unanswered=entry.drop_unanswered,
    )


def path_of(written: str, mark: Mark, environment: Mapping[str, str]) -> str:
    """Return a path that a spec names, absolute: from the file that names it, or what `env:NAME` stands for.

    Raises
    ------
    SpecError
        The variable is not set.
    """
    if written.startswith("env:"):
        name = written.removeprefix("env:")
        if not environment.get(name):
            said = f"the environment variable {name} is not set"
            raise SpecError([Problem(str(mark), said, f"set it to the path of the data: export {name}=...")])
        return str(Path(environment[name]).absolute())
    return os.path.normpath((Path(mark.file).parent / Path(written).expanduser()).absolute())
