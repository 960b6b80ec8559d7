"""Points of grids: every combination of the values of the axes, their names, and the trainings that they change."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from cortexdsl.core import Model
from cortexdsl.errors import Problem, SpecError, nearest
from cortexdsl.language.grammar.old_words import key_remedy
from cortexdsl.language.grammar.speakers import TRAINED, ModelText
from cortexdsl.language.grammar.training import TrainText
from cortexdsl.language.nodes import Node, dotted, refuse
from cortexdsl.language.problems import validate
from cortexdsl.language.protocol.loader import Protocol
from cortexdsl.language.spec import Spec

MOST_LETTERS = 120
"""The longest slug; file systems allow 255 bytes, and a slug shares its name with others."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]+")
_LIST = re.compile(r"\[([A-Za-z0-9_.+-]+(?:, [A-Za-z0-9_.+-]+)+)\]")


_MEASURE = re.compile(r"^(consistency|verifier)\(([\w.+-]+)\)$")


def value_name(value: Any) -> str:
    """Return a grid value as a word: `{top: 3}` is `top-3`, `verifier(m)` is `verifier-m`, a list `[0.8, 0.6]`."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, Mapping):
        if len(value) == 1:
            ((key, inner),) = value.items()
            return f"{key}-{value_name(inner)}"
        return "{" + ", ".join(f"{key}: {value_name(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_name, value))}]"
    return _MEASURE.sub(r"\1-\2", str(value))


def point_name(method: str, axes: Mapping[str, Any]) -> str:
    """Return `sparse[keep=median, recalibration=none]`, or the method's name alone without axes."""
    inside = ", ".join(f"{axis}={value_name(value)}" for axis, value in axes.items())
    return f"{method}[{inside}]" if axes else method


def point_slug(method: str, axes: Mapping[str, Any]) -> str:
    """Return `sparse~keep=median~recalibration=none`: safe in a path on every system.

    Values with characters other than A-Z a-z 0-9 _ . + - get a digest, and so do slugs that are too long, so that
    different points have different slugs. Lists of plain words are joined: `[4, 2, 2]` is `4-2-2`.
    """
    slug = "~".join([method, *(f"{axis}={_safe(value_name(value))}" for axis, value in axes.items())])
    if len(slug) > MOST_LETTERS:
        slug = f"{slug[: MOST_LETTERS - 11].rstrip('.-=~')}~{_digest(point_name(method, axes))}"
    return slug


def _safe(text: str) -> str:
    """Return safe texts, and lists of them, in readable form, and others with a digest."""
    items = _LIST.fullmatch(text)
    plain = items[1].replace(", ", "-") if items else text
    safe = _UNSAFE.sub("-", plain).strip("-.")
    return safe if safe == plain else f"{safe[:40].strip('-.')}-{_digest(text)}".strip("-")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


MOST_POINTS = 10_000
NESTED = ("roles", "prompts", "models", "train")
"""First words of axes that contain a name: `prompts.revise`, `models.small.temperature`, `train.acc.threshold`."""
LEARNED = ("questions", "validation", "samples", "threshold", "optimiser")
"""Words of an entry of `train` that a grid may vary. Its method, roles, and repeats make it another training."""
WORDS = ("agents", "confidence", "placebo", "debate_confidence", "defer", "defer.below", "defer.where", "defer.to")
"""Words of a method that may be axes."""


def grid_points(spec: Spec, method: str, protocol: Protocol) -> list[dict[str, Node]]:
    """Return the points of all grids of a method: axis -> value.

    Raises
    ------
    SpecError
        An unknown axis, a value listed twice, more than 10,000 points.
    """
    points: list[dict[str, Node]] = []
    for grid in _grids(spec, method):
        axes = {axis: values.value for axis, values in grid.mapping().items()}
        problems = [
            problem for axis in axes if (problem := unknown_axis(spec, str(grid.key_mark((axis,))), axis, protocol))
        ]
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
    if (axes := grid.mapping().get(method)) is not None:
        yield from axes.value if isinstance(axes.value, list) else [axes]


def unknown_axis(spec: Spec, mark: str, axis: str, protocol: Protocol) -> Problem | None:
    """Return the problem of an axis, at a place, that is not a setting of a method; None if it is one."""
    head, _, rest = axis.partition(".")
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
    remedy = (
        (f"write models.NAME.{head}" if head in ModelText.model_fields else "")
        or key_remedy("setting", head, "[...]")
        or nearest(head, protocol.settings, say=settings)
        or f"{protocol.name} has no settings"
    )
    others = f"besides: {', '.join(WORDS)}, roles.ROLE, prompts.STEP, models.NAME.KEY, train.NAME.KEY"
    return Problem(mark, f"no setting knows the axis {axis}", f"{remedy}; {others}")


def put(node: Node, route: list[str], value: Node, defaults: Mapping[str, Node]) -> Node:
    """Return a mapping with a nested value set; values on the route that are not mappings become mappings."""
    key, *below = route
    entries = node.mapping()
    if below:
        there = entries.get(key) or defaults.get(key)
        inner = there if there is not None and isinstance(there.value, dict) else Node({}, value.mark)
        value = put(inner, below, value, {})
    return Node({**entries, key: value}, node.mark, {**node.keys, key: value.mark}, node.size + value.size)


@dataclass(frozen=True, slots=True)
class VariedTraining:
    """An entry of `train` as a grid point has it.

    Attributes
    ----------
    entry : str
        Its name in the spec.
    name : str
        Its own, safe in paths: `acc~threshold=0.4`; the entry's if the point does not change the entry.
    said : TrainText
    """

    entry: str
    name: str
    said: TrainText


def varied_trainings(spec: Spec, axes: Mapping[str, Node]) -> Mapping[str, VariedTraining]:
    """Return the entries of `train` that the axes of a grid point change, by their names in the spec.

    Raises
    ------
    SpecError
        A value does not fit.
    """
    changed: dict[str, dict[str, Node]] = {}
    for axis, value in axes.items():
        head, _, rest = axis.partition(".")
        if head == "train":
            name, _, setting = rest.partition(".")
            changed.setdefault(name, {})[setting] = value
    trainings = {}
    for name, settings in changed.items():
        node = spec.node.mapping()["train"].mapping()[name]
        for setting, value in settings.items():
            node = put(node, setting.split("."), value, {})
        training = validate(TrainText, node, lambda route, name=name: dotted(("train", name, *route)))  # type: ignore[misc]
        own = point_slug(name, {setting: value.plain() for setting, value in settings.items()})
        trainings[name] = VariedTraining(name, name if training == spec.text.train[name] else own, training)
    return trainings


def as_trained(model: Model, trainings: Mapping[str, VariedTraining]) -> Model:
    """Return a model; if it comes out of an entry that the grid point changes, it comes out of the changed entry."""
    _, is_trained, rest = model.model.partition(TRAINED)
    entry, _, role = rest.partition("/")
    if not is_trained or entry not in trainings:
        return model
    return replace(model, model=f"{TRAINED}{trainings[entry].name}/{role}")
