"""The points of a grid: every combination of the values of its axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product

from cortexdsl.errors import Problem, SpecError
from cortexdsl.protocols.text.loader import Protocol
from cortexdsl.spec.grammar.sections.speakers import ModelText
from cortexdsl.spec.load import Spec
from cortexdsl.spec.naming import value_name
from cortexdsl.spec.text.messages import nearest
from cortexdsl.spec.text.nodes import Node, refuse

MOST_POINTS = 10_000
NESTED = ("roles", "prompts", "models", "train")
"""The words of an axis that a name follows: `prompts.revise`, `models.small.temperature`, `train.acc.threshold`."""
LEARNED = ("questions", "samples", "threshold", "opening", "guide", "optimiser")
"""What of an entry of `train` a grid may vary; who learns from which debates, and how often, are other trainings."""
WORDS = ("team", "agents", "confidence")
"""The words of a method that are axes themselves."""


def grid_points(spec: Spec, method: str, protocol: Protocol) -> list[dict[str, Node]]:
    """Return the points of all grids of a method: axis -> value.

    Raises
    ------
    SpecError
        An axis that nothing knows, a value listed twice, more than 10,000 points.
    """
    points: list[dict[str, Node]] = []
    for grid in _grids(spec, method):
        axes = {axis: values.value for axis, values in grid.mapping().items()}
        problems = [problem for axis in axes if (problem := _unknown_axis(spec, grid, axis, protocol))]
        for values in axes.values():
            assert isinstance(values, list)
            names = [value_name(value.plain()) for value in values]
            twice = [i for i, name in enumerate(names) if name in names[:i]]
            problems += [
                Problem(str(values[i].mark), f"the axis holds {names[i]} twice", "list it once") for i in twice
            ]
        if problems:
            raise SpecError(problems)
        count = math.prod(len(values) for values in axes.values() if isinstance(values, list))
        if len(points) + count > MOST_POINTS:
            refuse(grid.mark, f"the grid of {method} has {count:,} points", f"at most {MOST_POINTS:,} are allowed")
        listed = [values for values in axes.values() if isinstance(values, list)]
        points += [dict(zip(axes, values, strict=True)) for values in product(*listed)]
    return points


def _grids(spec: Spec, method: str) -> Iterator[Node]:
    grid = spec.node.find(("grid",))
    if grid is None:
        return
    if isinstance(grid.value, dict):
        if method in grid.value:
            yield grid.value[method]
        return
    for item in grid.value if isinstance(grid.value, list) else ():
        if item.mapping()["method"].value == method:
            yield item.mapping()["vary"]


def _unknown_axis(spec: Spec, grid: Node, axis: str, protocol: Protocol) -> Problem | None:
    head, _, rest = axis.partition(".")
    mark = str(grid.key_mark((axis,)))
    if head in NESTED:
        name, _, key = rest.partition(".")
        steps, roles = tuple(protocol.text.steps), tuple(protocol.text.roles)
        known = {"roles": roles, "prompts": steps, "models": tuple(spec.models), "train": tuple(spec.text.train)}[head]
        if name not in known:
            return Problem(mark, f"the axis {axis}: nothing is called {name!r}", nearest(name, known))
        if head == "models" and key.partition(".")[0] not in ModelText.model_fields:
            return Problem(mark, f"the axis {axis}: a model has no {key!r}", nearest(key, ModelText.model_fields))
        if head == "train" and key.partition(".")[0] not in LEARNED:
            return Problem(mark, f"the axis {axis}: a grid varies no {key!r} of a training", nearest(key, LEARNED))
        return None
    if head in protocol.settings or axis in WORDS:
        return None
    settings = f"settings of {protocol.name}"
    remedy = nearest(head, protocol.settings, say=settings) or f"{protocol.name} has no settings"
    others = f"besides: {', '.join(WORDS)}, roles.ROLE, prompts.STEP, models.NAME.KEY, train.NAME.KEY"
    return Problem(mark, f"no setting knows the axis {axis}", f"{remedy}; {others}")


def put(node: Node, route: list[str], value: Node, defaults: Mapping[str, Node]) -> Node:
    """Return a mapping with a nested value set; what is no mapping on the way becomes one."""
    key, *below = route
    entries = node.mapping()
    if below:
        there = entries.get(key) or defaults.get(key)
        inner = there if there is not None and isinstance(there.value, dict) else Node({}, value.mark)
        value = put(inner, below, value, {})
    return Node({**entries, key: value}, node.mark, {**node.keys, key: value.mark}, node.size + value.size)
