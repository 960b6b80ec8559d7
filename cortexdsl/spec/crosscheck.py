"""What no single entry can know: names that other sections must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from cortexdsl.errors import Problem
from cortexdsl.spec.entries import holds_secret
from cortexdsl.spec.metric_names import KNOWN_METRICS
from cortexdsl.spec.nodes import Mark, Node, Route
from cortexdsl.spec.problems import dotted, nearest
from cortexdsl.spec.sheet import SpecText

Found = tuple[Mark, Problem]


_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(1, 10))})


def cross_check(root: Node, text: SpecText) -> Iterator[Found]:
    """Yield what is wrong between sections of a spec whose entries are all right.

    Parameters
    ----------
    root : Node
        With the methods' likeness resolved.
    text : SpecText
        The same, checked entry by entry.
    """
    yield from _names(root, text)
    yield from _agents(root, text)
    yield from _methods(root, text)
    yield from _grid(root, text)
    yield from _analysis(root, text)
    yield from _stopping(root, text)


def _found(root: Node, route: Route, what: str, remedy: str = "", *, key: bool = False) -> Found:
    mark = root.key_mark(route) if key else root.where(route)
    return mark, Problem(str(mark), f"{dotted(route)}: {what}", remedy)


def _unknown(root: Node, route: Route, kind: str, name: str, known: Iterable[str], *, key: bool = False) -> Found:
    return _found(root, route, f"there is no {kind} {name}", nearest(name, known, say=f"{kind}s"), key=key)


def secrets(node: Node, route: Route = ()) -> Iterator[Found]:
    """Yield the texts that look like keys, without showing them: to be called before any value is shown."""
    if isinstance(node.value, str) and holds_secret(node.value):
        remedy = "put it into an environment variable, and write api_key_env: NAME (the key is not shown here)"
        yield node.mark, Problem(str(node.mark), f"{dotted(route)} looks like a key", remedy)
    items = (
        node.mapping().items()
        if isinstance(node.value, dict)
        else enumerate(node.value if isinstance(node.value, list) else [])
    )
    for key, child in items:
        yield from secrets(child, (*route, key))


def _names(root: Node, text: SpecText) -> Iterator[Found]:
    """Names become paths: two that differ in case alone are one file on some systems."""
    for section in ("methods", "datasets"):
        met: dict[str, str] = {}
        for name in getattr(text, section) or ():
            if name.partition(".")[0].casefold() in _DEVICES:
                said = f"{name} is the name of a device on some systems"
                yield _found(root, (section, name), said, "rename it: it is a file name, too", key=True)
            other = met.setdefault(name.casefold(), name)
            if other != name:
                said = f"{other} and {name} differ in case alone"
                yield _found(root, (section, name), said, "rename one: they are file names, too", key=True)


def _agents(root: Node, text: SpecText) -> Iterator[Found]:
    names = [agent.name for agent in text.agents]
    for i, agent in enumerate(text.agents):
        if agent.model not in text.models:
            yield _unknown(root, ("agents", i, "model"), "model", agent.model, text.models)
        if names.index(agent.name) < i:
            yield _found(root, ("agents", i, "name"), f"a second agent is called {agent.name}", "rename one")
    for team, members in text.teams.items():
        if team == "everyone":
            yield _found(root, ("teams", team), "everyone is a word of the language", "rename the team", key=True)
        if isinstance(members, str):
            continue
        for i, member in enumerate(members):
            if member not in names:
                yield _unknown(root, ("teams", team, i), "agent", member, names)
        copies = Counter(members)
        for name, times in copies.items():
            if clash := [f"{name}-{k}" for k in range(2, times + 1) if f"{name}-{k}" in copies]:
                said = f"{clash[0]} is both an agent and the name of a copy of {name}"
                yield _found(root, ("teams", team), said, "rename the agent")


def _methods(root: Node, text: SpecText) -> Iterator[Found]:
    agents, teams = [agent.name for agent in text.agents], [*text.teams, "everyone"]
    methods = {name: node.plain() for name, node in root.mapping()["methods"].mapping().items()}
    for name, plain in methods.items():
        route: Route = ("methods", name)
        if "team" in plain and plain["team"] not in teams:
            yield _unknown(root, (*route, "team"), "team", plain["team"], teams)
        for i, agent in enumerate(plain.get("agents") or ()):
            if agent not in agents:
                yield _unknown(root, (*route, "agents", i), "agent", agent, agents)
        for unit, target in (plain.get("match") or {}).items():
            other = target.partition("[")[0]
            if other not in methods:
                yield _unknown(root, (*route, "match", unit), "method", other, methods)
            elif other == name:
                yield _found(root, (*route, "match", unit), "a method cannot match itself", "name another method")
            elif "match" in methods[other]:
                said = f"{other} is matched to {next(iter(methods[other]['match'].values()))} itself"
                yield _found(root, (*route, "match", unit), said, "name a method that is not matched")


def _grid(root: Node, text: SpecText) -> Iterator[Found]:
    if isinstance(text.grid, dict):
        for method in text.grid:
            if method not in text.methods:
                yield _unknown(root, ("grid", method), "method", method, text.methods, key=True)
        return
    for i, grid in enumerate(text.grid):
        if grid.method not in text.methods:
            yield _unknown(root, ("grid", i, "method"), "method", grid.method, text.methods)


def _analysis(root: Node, text: SpecText) -> Iterator[Found]:
    for i, metric in enumerate(text.analysis.metrics):
        if metric not in KNOWN_METRICS:
            yield _unknown(root, ("analysis", "metrics", i), "metric", metric, KNOWN_METRICS)
    for name, family in text.analysis.families.items():
        route: Route = ("analysis", "families", name)
        compared = [] if isinstance(family.compare, str) else list(enumerate(family.compare))
        if isinstance(family.compare, str) and not (
            family.compare in ("all", "grid") or family.compare.startswith("grid.")
        ):
            yield _found(
                root, (*route, "compare"), f"{family.compare!r} is no set of cells",
                "write a list of methods, or all, grid, grid.AXIS",
            )  # fmt: skip
        for i, cell in compared:
            if cell.partition("[")[0] not in text.methods:
                yield _unknown(root, (*route, "compare", i), "method", cell.partition("[")[0], text.methods)
        if family.to.partition("[")[0] not in text.methods:
            yield _unknown(root, (*route, "to"), "method", family.to.partition("[")[0], text.methods)
        if [cell for _, cell in compared] == [family.to]:
            yield _found(root, (*route, "compare"), f"{family.to} is compared to itself", "name another method")
        if len(set(compared)) and len({cell for _, cell in compared}) < len(compared):
            yield _found(root, (*route, "compare"), "a name is listed twice", "name each once")
    if text.analysis.judge is not None and text.analysis.judge.model not in text.models:
        yield _unknown(root, ("analysis", "judge", "model"), "model", text.analysis.judge.model, text.models)


def _stopping(root: Node, text: SpecText) -> Iterator[Found]:
    """Stopping early needs claims, a correction that holds whenever one looks, and questions in random order."""
    if text.stopping is None:
        return
    if not text.hypotheses:
        said = "there is no claim that could be decided"
        yield _found(root, ("stopping",), said, "write hypotheses: [...], or remove stopping", key=True)
    if text.analysis.correction not in ("holm", "none"):
        said = f"{text.analysis.correction} does not hold where one may stop early"
        yield _found(root, ("analysis", "correction"), said, "write holm or none, or remove stopping")
    if text.shard_size != "auto":
        remedy = "remove shard_size, or remove stopping"
        yield _found(root, ("shard_size",), "with stopping a job takes one batch of questions", remedy, key=True)
    named = [(("datasets", label), entry) for label, entry in (text.datasets or {}).items()]
    for route, entry in [*named, *([(("dataset",), text.dataset)] if text.dataset else [])]:
        for word in ("stratify", "ids"):
            if getattr(entry, word):
                said = "with stopping the order of questions is drawn, so that each batch is like the whole"
                yield _found(root, (*route, word), said, f"remove {word}, or remove stopping", key=True)
