"""Cross references of a spec: names that other sections must define, and rules between sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

from cortexdsl.claims.meaning import impossible_value
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import CLAIMED_METRICS, KNOWN_METRICS
from cortexdsl.core.metric_types import OF_DEBATES, OF_TURNS, of_label
from cortexdsl.errors import Problem, SpecError, nearest
from cortexdsl.language.grammar.addresses import holds_secret
from cortexdsl.language.grammar.experiment import CellsWord, SpecText
from cortexdsl.language.grammar.labels import BUILT_IN, as_label
from cortexdsl.language.grammar.methods import parse_budget
from cortexdsl.language.grammar.questions import DatasetText
from cortexdsl.language.grammar.reserved import reserved
from cortexdsl.language.grammar.speakers import trained_parts
from cortexdsl.language.nodes import Mark, Node, PlacedProblem, ProblemAt, Route, dotted

_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(1, 10))})


def cross_check(root: Node, text: SpecText) -> Iterator[PlacedProblem]:
    """Yield the problems between sections of a spec.

    Parameters
    ----------
    root : Node
        With `extends` of methods resolved.
    text : SpecText
        The same, validated.
    """
    spec = _References(root, dotted, text)
    yield from _names(spec)
    yield from _servers(spec)
    yield from _engines(spec)
    yield from _agents(spec)
    yield from _methods(spec)
    yield from _grid(spec)
    yield from _labels(spec)
    yield from _analysis(spec)
    yield from _expected(spec)
    yield from _stopping(spec)
    yield from _tools(spec)
    yield from _training(spec)


@dataclass(frozen=True, slots=True)
class _References(ProblemAt):
    text: SpecText


def secret_texts(node: Node, route: Route = ()) -> Iterator[PlacedProblem]:
    """Yield the texts that look like keys. The messages do not show them; call this before any value is shown."""
    if isinstance(node.value, str) and holds_secret(node.value):
        remedy = "put it into an environment variable, and write api_key_env: NAME (the key is not shown here)"
        yield node.mark, Problem(str(node.mark), f"{dotted(route)} looks like a key", remedy)
    items = (
        node.mapping().items()
        if isinstance(node.value, dict)
        else enumerate(node.value if isinstance(node.value, list) else [])
    )
    for key, child in items:
        yield from secret_texts(child, (*route, key))


def _names(spec: _References) -> Iterator[PlacedProblem]:
    """Yield words of the language, and names that cannot be file names or differ in case alone, which is one file."""
    for i, agent in enumerate(spec.text.agents):
        if problem := reserved("agents", agent.name):
            yield spec(("agents", i, "name"), *problem)
    for section in ("teams", "methods", "datasets"):
        for name in getattr(spec.text, section) or ():
            if problem := reserved(section, name):
                yield spec((section, name), *problem, key=True)
    for section in ("methods", "datasets"):
        names: dict[str, str] = {}
        for name in getattr(spec.text, section) or ():
            if name.partition(".")[0].casefold() in _DEVICES:
                what = f"{name} is the name of a device on some systems"
                yield spec((section, name), what, "rename it: it is a file name, too", key=True)
            other = names.setdefault(name.casefold(), name)
            if other != name:
                what = f"{other} and {name} differ in case alone"
                yield spec((section, name), what, "rename one: they are file names, too", key=True)


def _servers(spec: _References) -> Iterator[PlacedProblem]:
    """Yield servers that share a name: jobs would use the second server for the models of both."""
    by_variable: dict[str, str] = {}
    for name, entry in spec.text.servers.items():
        other = by_variable.setdefault(entry.env, name)
        if other != name:
            what = f"the server {other} is called {entry.env}, too"
            yield spec(("servers", name, "env"), what, "give each a name of its own")


def _judges(spec: _References) -> Iterator[tuple[Route, str]]:
    """Yield the place and the model of each judge of answers."""
    analysis = spec.text.analysis
    if analysis.judge is not None:
        yield ("analysis", "judge"), analysis.judge
    for i, judge in enumerate(analysis.tournament):
        yield ("analysis", "tournament", i), judge


def _engines(spec: _References) -> Iterator[PlacedProblem]:
    """Yield engines that are not there, and what an experiment with engines cannot do, since its rounds are fixed."""
    answered = {name: engine for name, entry in spec.text.models.items() if (engine := entry.as_model(name).engine)}
    for name, engine in answered.items():
        yield from spec.unknown(("models", name, "engine"), "engine", engine, spec.text.engines)
        provider = spec.text.engines[engine].provider if engine in spec.text.engines else None
        if provider is not None and not spec.text.models[name].model.startswith(f"{provider}/"):
            what = f"the engine {engine} asks {provider}, and {spec.text.models[name].model} is of another provider"
            yield spec(("models", name, "engine"), what, f"write model: {provider}/NAME, or another engine")
    if not answered:
        return
    for section in ("stopping", "whatif", "train", "learned"):
        if getattr(spec.text, section):
            what = f"{section} asks models outside of the rounds of files"
            yield spec((section,), what, "give the models an api_base, and remove engine", key=True)
    for name, tool in spec.text.tools.items():
        source = spec.text.knowledge.get(tool.source or "")
        if source is not None and source.retriever == "search":
            what = f"the tool {name} needs a network, which jobs that answer files may not have"
            yield spec(("tools", name, "tool"), what, "search a corpus, or give the models an api_base")


def _agents(spec: _References) -> Iterator[PlacedProblem]:
    names = [agent.name for agent in spec.text.agents]
    for i, agent in enumerate(spec.text.agents):
        yield from spec.unknown(("agents", i, "model"), "model", agent.model, spec.text.models)
        if names.index(agent.name) < i:
            yield spec(("agents", i, "name"), f"a second agent is called {agent.name}", "rename one")
    for team, members in spec.text.teams.items():
        if isinstance(members, str):
            continue
        for i, member in enumerate(members):
            yield from spec.unknown(("teams", team, i), "agent", member, names)
        copies = Counter(members)
        for name, times in copies.items():
            if clash := [f"{name}-{k}" for k in range(2, times + 1) if f"{name}-{k}" in copies]:
                what = f"{clash[0]} is both an agent and the name of a copy of {name}"
                yield spec(("teams", team), what, "rename the agent")


def _methods(spec: _References) -> Iterator[PlacedProblem]:
    agents, teams = [agent.name for agent in spec.text.agents], [*spec.text.teams, "everyone"]
    methods = {name: node.plain() for name, node in spec.node.mapping()["methods"].mapping().items()}
    for name, plain in methods.items():
        route: Route = ("methods", name)
        chosen = plain.get("agents", "everyone")
        if isinstance(chosen, str):
            yield from unknown_team(
                spec.node.where((*route, "agents")), f"{dotted(route)}.agents", chosen, teams, agents
            )
        for i, agent in enumerate(chosen if isinstance(chosen, list) else ()):
            yield from spec.unknown((*route, "agents", i), "agent", agent, agents)
        if "budget" not in plain:
            continue
        other = parse_budget(plain["budget"])[1].partition("[")[0]
        yield from spec.unknown((*route, "budget"), "method", other, methods)
        if other == name:
            yield spec((*route, "budget"), "a method cannot match itself", "name another method")
        elif "budget" in methods.get(other, ()):
            what = f"{other} is matched to {parse_budget(methods[other]['budget'])[1]} itself"
            yield spec((*route, "budget"), what, "name a method that is not matched")


def unknown_team(
    mark: Mark, label: str, name: str, teams: Iterable[str], agents: Iterable[str]
) -> Iterator[PlacedProblem]:
    """Yield the problem of a name that is not a team's."""
    if name not in teams:
        remedy = f"write [{name}]" if name in agents else nearest(name, teams, say="teams")
        yield mark, Problem(str(mark), f"{label}: there is no team {name}", remedy)


def _grid(spec: _References) -> Iterator[PlacedProblem]:
    for method in spec.text.grid:
        yield from spec.unknown(("grid", method), "method", method, spec.text.methods, key=True)


def _labels(spec: _References) -> Iterator[PlacedProblem]:
    """Yield labels that are not built in, need a judge that is not named, or share a metric with another label."""
    metrics: dict[str, str] = {}
    for name, text in spec.text.labels.items():
        route: Route = ("labels", name)
        if text == "built-in" and name not in BUILT_IN:
            remedy = nearest(name, BUILT_IN, say="built-in labels")
            yield spec(route, f"no built-in label is called {name}", f"{remedy}; or write a rule, or a prompt")
            continue
        label = as_label(name, text)
        if label.prompt and spec.text.analysis.judge is None:
            what = f"a model labels turns with {name}, and the spec names no judge"
            yield spec(route, what, "write analysis: {judge: NAME}")
        for metric in label.counted:
            if (other := metrics.setdefault(metric, name)) != name:
                what = f"the metric turns_with_{metric} would be of {other} and of {name}"
                yield spec(route, what, "rename one of the labels", key=True)


def _unlabelled(spec: _References, route: Route, metrics: Iterable[str]) -> Iterator[PlacedProblem]:
    """Yield metrics of labels that the spec does not have."""
    known = [
        f"{start}{name}"
        for label, text in spec.text.labels.items()
        if text != "built-in" or label in BUILT_IN
        for start in (OF_TURNS, OF_DEBATES)
        for name in as_label(label, text).counted
    ]
    for metric in metrics:
        if of_label(metric) is not None and metric not in known:
            what = f"no label of the spec has the metric {metric}"
            remedy = nearest(metric, known, say="metrics of labels")
            built_in = metric.removeprefix(OF_TURNS).removeprefix(OF_DEBATES)
            written = "built-in" if built_in in BUILT_IN else "RULE"
            yield spec(route, what, remedy or f"write labels: {{{built_in}: {written}}}")


def _analysis(spec: _References) -> Iterator[PlacedProblem]:
    for i, metric in enumerate(spec.text.analysis.metrics):
        if of_label(metric) is None:
            yield from spec.unknown(("analysis", "metrics", i), "metric", metric, KNOWN_METRICS)
        yield from _unlabelled(spec, ("analysis", "metrics", i), [metric])
    for i, claim in enumerate(spec.text.hypotheses):
        yield from _unlabelled(spec, ("hypotheses", i), _metrics_of(claim))
    for name, family in spec.text.analysis.families.items():
        route: Route = ("analysis", "families", name)
        compared = [] if isinstance(family.compare, str) else list(enumerate(family.compare))
        if isinstance(family.compare, str) and not (
            family.compare in get_args(CellsWord) or family.compare.startswith("grid.")
        ):
            yield spec((*route, "compare"), f"{family.compare!r} is not a set of cells",
                "write a list of methods, or all, grid, grid.AXIS",
            )  # fmt: skip
        for i, cell in compared:
            yield from spec.unknown((*route, "compare", i), "method", cell.partition("[")[0], spec.text.methods)
        yield from spec.unknown((*route, "to"), "method", family.to.partition("[")[0], spec.text.methods)
    for place, judge in _judges(spec):
        yield from spec.unknown(place, "model", judge, spec.text.models)


def _expected(spec: _References) -> Iterator[PlacedProblem]:
    """Yield expectations that are not of a claim, of the first cell of one, or (a spread) of a metric."""
    if spec.text.expected is None:
        return
    claims = [" ".join(claim.split()) for claim in spec.text.hypotheses]
    for key, value in spec.text.expected.differences.items():
        name, route = " ".join(key.split()), ("expected", "differences", key)
        if name.partition("[")[0] not in spec.text.methods and name not in claims:
            yield from spec.unknown(route, "claim or method", name, [*spec.text.methods, *claims], key=True)
        elif what := _unexpectable(name if name in claims else None, value):
            remedy = f"as a share: {value / 100:g}?" if 1 < abs(value) <= 100 else "write what the claim is about"
            yield spec(route, f"nobody can expect {value:g}: {what}", remedy)
    for key in spec.text.expected.spread:
        name, known = " ".join(key.split()), [*CLAIMED_METRICS, *claims]
        unknown = [metric for metric in name.split(" per ") if metric not in CLAIMED_METRICS]
        if name not in claims and unknown:
            yield from spec.unknown(("expected", "spread", key), "claim or metric", unknown[0], known, key=True)


def _metrics_of(claim: str) -> tuple[str, ...]:
    try:
        return parse_claim(claim).metrics
    except SpecError:  # reported where claims are parsed
        return ()


def _unexpectable(claim: str | None, value: float) -> str:
    try:
        return impossible_value(None if claim is None else parse_claim(claim), value)
    except SpecError:  # reported where claims are parsed
        return ""


def _tools(spec: _References) -> Iterator[PlacedProblem]:
    for name, tool in spec.text.tools.items():
        if tool.source is not None and tool.source not in spec.text.knowledge:
            known = nearest(tool.source, spec.text.knowledge, say="knowledge")
            remedy = known or f"write knowledge: {{{tool.source}: {{corpus: FILE}}}}"
            yield spec(("tools", name, "tool"), f"there is no knowledge entry {tool.source}", remedy)


def _training(spec: _References) -> Iterator[PlacedProblem]:
    """Yield unknown methods, datasets, roles, and trainings in `train` and in models that come out of it."""
    text, datasets = spec.text, list(spec.text.datasets or ())
    for name, entry in text.train.items():
        yield from spec.unknown(("train", name, "method"), "method", entry.method, text.methods)
    drawing: list[tuple[Route, DatasetText]] = [
        (("train", name), entry.questions) for name, entry in text.train.items()
    ]
    drawing += [(("learned", name), entry.questions) for name, entry in text.learned.items()]
    for route, questions in drawing:
        if not questions.sources and len(datasets) > 1:
            remedy = f"write name: {datasets[0]}, or another of {', '.join(datasets)}"
            yield spec((*route, "questions"), "the spec has several datasets", remedy)
    for name, model in text.models.items():
        if (made := trained_parts(model.model)) is None:
            continue
        (training, role, repeat), place = made, ("models", name, "model")
        if training not in text.train:
            remedy = "" if text.train else "write train: {NAME: ...}"
            yield from spec.unknown(place, "training", training, text.train, remedy)
            continue
        learns = text.train[training]
        if role not in learns.roles:
            remedy = nearest(role, learns.roles, say="roles that learn")
            yield spec(place, f"{training} trains no {role}", remedy)
        if repeat is not None and repeat > learns.repeats:
            what = f"{training} repeats {learns.repeats} times at most"
            yield spec(place, what, "name an earlier repeat, or raise repeats")
    for route, judge in _judges(spec):
        if judge in text.models and trained_parts(text.models[judge].model):
            what = "a model that is trained here cannot judge the experiment"
            yield spec(route, what, "name a model that is not trained here")


def _stopping(spec: _References) -> Iterator[PlacedProblem]:
    """Yield what early stopping excludes: no claims, corrections for one look alone, questions that are not drawn."""
    if spec.text.stopping is None:
        return
    if not spec.text.hypotheses:
        what = "there is no claim that could be decided"
        yield spec(("stopping",), what, "write hypotheses: [...], or remove stopping", key=True)
    if spec.text.analysis.correction not in ("holm", "none"):
        what = f"{spec.text.analysis.correction} does not hold where one may stop early"
        yield spec(("analysis", "correction"), what, "write holm or none, or remove stopping")
    if spec.text.shard_size is not None:
        remedy = "remove shard_size, or remove stopping"
        yield spec(("shard_size",), "with stopping a job takes one batch of questions", remedy, key=True)
    for route, entry in spec.text.asked:
        for word in ("stratify", "ids"):
            if getattr(entry, word):
                what = "with stopping the order of questions is drawn, so that each batch is like the whole"
                yield spec((*route, word), what, f"remove {word}, or remove stopping", key=True)
