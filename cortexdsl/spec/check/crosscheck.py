"""What no single entry can know: names that other sections must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cortexdsl.errors import Problem, SpecError
from cortexdsl.spec.check.mending import Doubtful, changed
from cortexdsl.spec.claims.checks import unexpectable
from cortexdsl.spec.claims.language import parse_claim
from cortexdsl.spec.claims.metric_names import CLAIMED_METRICS, KNOWN_METRICS
from cortexdsl.spec.grammar.sheet import SpecText
from cortexdsl.spec.grammar.values.addresses import holds_secret
from cortexdsl.spec.text.messages import dotted, nearest
from cortexdsl.spec.text.nodes import Found, Node, Route

_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(1, 10))})


def cross_check(root: Node, text: SpecText, doubtful: Doubtful) -> Iterator[Found]:
    """Yield what is wrong between sections of a spec.

    Parameters
    ----------
    root : Node
        With the methods' likeness resolved.
    text : SpecText
        The same, checked entry by entry.
    doubtful : Doubtful
        Entries that were wrong: what names one of them, or is one, is not judged.
    """
    look = _Look(root, text, doubtful)
    yield from _names(look)
    yield from _servers(look)
    yield from _agents(look)
    yield from _methods(look)
    yield from _grid(look)
    yield from _analysis(look)
    yield from _expected(look)
    yield from _stopping(look)
    yield from _tools(look)
    yield from _training(look)


@dataclass(frozen=True, slots=True)
class _Look:
    root: Node
    text: SpecText
    doubtful: Doubtful

    def found(self, route: Route, what: str, remedy: str = "", *, key: bool = False) -> Iterator[Found]:
        mark = self.root.key_mark(route) if key else self.root.where(route)
        yield mark, Problem(str(mark), f"{dotted(route)}: {what}", remedy)

    def unknown(
        self, route: Route, kind: str, name: str, known: Iterable[str], *, key: bool = False
    ) -> Iterator[Found]:
        named = self.doubtful.unnamed if kind == "agent" else self.doubtful.has(f"{kind}s", name)
        if not named:
            yield from self.found(route, f"there is no {kind} {name}", nearest(name, known, say=f"{kind}s"), key=key)


def secrets(node: Node, route: Route = ()) -> Iterator[tuple[Route, Found]]:
    """Yield the texts that look like keys, without showing them: to be called before any value is shown."""
    if isinstance(node.value, str) and holds_secret(node.value):
        remedy = "put it into an environment variable, and write api_key_env: NAME (the key is not shown here)"
        yield route, (node.mark, Problem(str(node.mark), f"{dotted(route)} looks like a key", remedy))
    items = (
        node.mapping().items()
        if isinstance(node.value, dict)
        else enumerate(node.value if isinstance(node.value, list) else [])
    )
    for key, child in items:
        yield from secrets(child, (*route, key))


def redacted(node: Node, routes: Iterable[Route]) -> tuple[Node, Doubtful]:
    """Return a spec without some of its texts: no message that follows can show them."""
    found = list(routes)
    for route in found:
        node = changed(node, route, "not shown")
    return node, Doubtful(frozenset(route[:2] for route in found))


def _names(look: _Look) -> Iterator[Found]:
    """Names become paths: two that differ in case alone are one file on some systems."""
    for section in ("methods", "datasets"):
        met: dict[str, str] = {}
        for name in getattr(look.text, section) or ():
            if name.partition(".")[0].casefold() in _DEVICES:
                said = f"{name} is the name of a device on some systems"
                yield from look.found((section, name), said, "rename it: it is a file name, too", key=True)
            other = met.setdefault(name.casefold(), name)
            if other != name:
                said = f"{other} and {name} differ in case alone"
                yield from look.found((section, name), said, "rename one: they are file names, too", key=True)


def _servers(look: _Look) -> Iterator[Found]:
    """Two servers in one variable: jobs would ask the second for the models of both."""
    met: dict[str, str] = {}
    for name, entry in look.text.servers.items():
        other = met.setdefault(entry.env, name)
        if other != name:
            said = f"the server {other} puts its address into {entry.env}, too"
            yield from look.found(("servers", name, "env"), said, "give each a variable of its own")


def _agents(look: _Look) -> Iterator[Found]:
    names = [agent.name for agent in look.text.agents]
    for i, agent in enumerate(look.text.agents):
        if agent.model not in look.text.models:
            yield from look.unknown(("agents", i, "model"), "model", agent.model, look.text.models)
        if names.index(agent.name) < i:
            yield from look.found(("agents", i, "name"), f"a second agent is called {agent.name}", "rename one")
    for team, members in look.text.teams.items():
        if team == "everyone":
            yield from look.found(("teams", team), "everyone is a word of the language", "rename the team", key=True)
        if isinstance(members, str):
            continue
        for i, member in enumerate(members):
            if member not in names:
                yield from look.unknown(("teams", team, i), "agent", member, names)
        copies = Counter(members)
        for name, times in copies.items():
            if clash := [f"{name}-{k}" for k in range(2, times + 1) if f"{name}-{k}" in copies]:
                said = f"{clash[0]} is both an agent and the name of a copy of {name}"
                yield from look.found(("teams", team), said, "rename the agent")


def _methods(look: _Look) -> Iterator[Found]:
    agents, teams = [agent.name for agent in look.text.agents], [*look.text.teams, "everyone"]
    methods = {name: node.plain() for name, node in look.root.mapping()["methods"].mapping().items()}
    for name, plain in methods.items():
        route: Route = ("methods", name)
        if "team" in plain and plain["team"] not in teams:
            yield from look.unknown((*route, "team"), "team", plain["team"], teams)
        for i, agent in enumerate(plain.get("agents") or ()):
            if agent not in agents:
                yield from look.unknown((*route, "agents", i), "agent", agent, agents)
        for unit, target in (plain.get("match") or {}).items():
            other = target.partition("[")[0]
            if other not in methods:
                yield from look.unknown((*route, "match", unit), "method", other, methods)
            elif other == name:
                yield from look.found((*route, "match", unit), "a method cannot match itself", "name another method")
            elif "match" in methods[other]:
                said = f"{other} is matched to {next(iter(methods[other]['match'].values()))} itself"
                yield from look.found((*route, "match", unit), said, "name a method that is not matched")


def _grid(look: _Look) -> Iterator[Found]:
    if isinstance(look.text.grid, dict):
        for method in look.text.grid:
            if method not in look.text.methods:
                yield from look.unknown(("grid", method), "method", method, look.text.methods, key=True)
        return
    for i, grid in enumerate(look.text.grid):
        if grid.method not in look.text.methods:
            yield from look.unknown(("grid", i, "method"), "method", grid.method, look.text.methods)


def _analysis(look: _Look) -> Iterator[Found]:
    for i, metric in enumerate(look.text.analysis.metrics):
        if metric not in KNOWN_METRICS:
            yield from look.unknown(("analysis", "metrics", i), "metric", metric, KNOWN_METRICS)
    for name, family in look.text.analysis.families.items():
        route: Route = ("analysis", "families", name)
        compared = [] if isinstance(family.compare, str) else list(enumerate(family.compare))
        if isinstance(family.compare, str) and not (
            family.compare in ("all", "grid") or family.compare.startswith("grid.")
        ):
            yield from look.found((*route, "compare"), f"{family.compare!r} is no set of cells",
                "write a list of methods, or all, grid, grid.AXIS",
            )  # fmt: skip
        for i, cell in compared:
            if cell.partition("[")[0] not in look.text.methods:
                yield from look.unknown((*route, "compare", i), "method", cell.partition("[")[0], look.text.methods)
        if family.to.partition("[")[0] not in look.text.methods:
            yield from look.unknown((*route, "to"), "method", family.to.partition("[")[0], look.text.methods)
    if look.text.analysis.judge is not None and look.text.analysis.judge.model not in look.text.models:
        judge = look.text.analysis.judge.model
        yield from look.unknown(("analysis", "judge", "model"), "model", judge, look.text.models)


def _expected(look: _Look) -> Iterator[Found]:
    """What is expected belongs to a claim, to the first cell of one, or (a spread) to a metric."""
    if look.text.expected is None or look.doubtful.has("hypotheses"):
        return
    claims = [" ".join(claim.split()) for claim in look.text.hypotheses]
    for key, value in look.text.expected.differences.items():
        name, known = " ".join(key.split()), [*look.text.methods, *claims]
        if name not in claims and name.partition("[")[0] not in look.text.methods:
            yield from look.unknown(("expected", "differences", key), "claim or method", name, known, key=True)
        elif said := _unexpectable(name if name in claims else None, value):
            remedy = f"as a share: {value / 100:g}?" if 1 < abs(value) <= 100 else "write what the claim is about"
            yield from look.found(("expected", "differences", key), f"nobody can expect {value:g}: {said}", remedy)
    for key in look.text.expected.spread:
        name, known = " ".join(key.split()), [*CLAIMED_METRICS, *claims]
        unknown = [one for one in name.split(" per ") if one not in CLAIMED_METRICS]
        if name not in claims and unknown:
            yield from look.unknown(("expected", "spread", key), "claim or metric", unknown[0], known, key=True)


def _unexpectable(claim: str | None, value: float) -> str:
    try:
        return unexpectable(None if claim is None else parse_claim(claim), value)
    except SpecError:  # told where claims are read
        return ""


def _tools(look: _Look) -> Iterator[Found]:
    for name, tool in look.text.tools.items():
        if tool.source is not None and tool.source not in look.text.knowledge:
            known = nearest(tool.source, look.text.knowledge, say="knowledge")
            remedy = known or f"write knowledge: {{{tool.source}: {{retriever: bm25, corpus: FILE}}}}"
            if not look.doubtful.has("knowledge", tool.source):
                yield from look.found(("tools", name, "source"), f"there is no knowledge entry {tool.source}", remedy)


def _training(look: _Look) -> Iterator[Found]:
    """What learns is named by a method, a dataset and roles; what was trained, by an entry of `train` that there is."""
    text, datasets = look.text, list(look.text.datasets or ())
    for name, entry in text.train.items():
        route: Route = ("train", name)
        label = entry.questions.dataset
        if entry.method not in text.methods:
            yield from look.unknown((*route, "method"), "method", entry.method, text.methods)
        if label is None and len(datasets) > 1:
            remedy = f"write dataset: {datasets[0]}, or another of {', '.join(datasets)}"
            yield from look.found((*route, "questions"), "the spec has several datasets", remedy)
        elif label is not None and text.datasets is not None and label not in datasets:
            yield from look.unknown((*route, "questions", "dataset"), "dataset", label, datasets)
    for name, model in text.models.items():
        if model.trained is None:
            continue
        if model.trained not in text.train:
            if not look.doubtful.has("train"):
                remedy = nearest(model.trained, text.train, say="trainings") or "write train: {NAME: ...}"
                yield from look.found(("models", name, "trained"), f"there is no training {model.trained}", remedy)
            continue
        learns = text.train[model.trained]
        if model.role not in learns.roles:
            remedy = nearest(model.role, learns.roles, say="roles that learn")
            yield from look.found(("models", name, "role"), f"{model.trained} trains no {model.role}", remedy)
        if model.repeat is not None and model.repeat > learns.repeats:
            what = f"{model.trained} repeats {learns.repeats} times at most"
            yield from look.found(("models", name, "repeat"), what, "name an earlier repeat, or raise repeats")
    judge = text.analysis.judge
    if judge is not None and judge.model in text.models and text.models[judge.model].trained is not None:
        remedy = "name a model that is not trained here"
        yield from look.found(("analysis", "judge", "model"), "who is trained is no judge of it", remedy)


def _stopping(look: _Look) -> Iterator[Found]:
    """Stopping early needs claims, a correction that holds whenever one looks, and questions in random order."""
    if look.text.stopping is None:
        return
    if not look.text.hypotheses and not look.doubtful.has("hypotheses"):
        said = "there is no claim that could be decided"
        yield from look.found(("stopping",), said, "write hypotheses: [...], or remove stopping", key=True)
    if look.text.analysis.correction not in ("holm", "none"):
        said = f"{look.text.analysis.correction} does not hold where one may stop early"
        yield from look.found(("analysis", "correction"), said, "write holm or none, or remove stopping")
    if look.text.shard_size != "auto":
        remedy = "remove shard_size, or remove stopping"
        yield from look.found(("shard_size",), "with stopping a job takes one batch of questions", remedy, key=True)
    named = [(("datasets", label), entry) for label, entry in (look.text.datasets or {}).items()]
    for route, entry in [*named, *([(("dataset",), look.text.dataset)] if look.text.dataset else [])]:
        for word in ("stratify", "ids"):
            if getattr(entry, word):
                said = "with stopping the order of questions is drawn, so that each batch is like the whole"
                yield from look.found((*route, word), said, f"remove {word}, or remove stopping", key=True)
