"""Entries of `train` that a grid changes: each change is a training of its own, whose models speak at that point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cortexdsl.protocols.arms.grid import put
from cortexdsl.spec.check.problems import check
from cortexdsl.spec.grammar.sections.training import TrainText
from cortexdsl.spec.load import TRAINED, Spec
from cortexdsl.spec.naming import point_slug
from cortexdsl.spec.text.messages import dotted
from cortexdsl.spec.text.nodes import Node
from cortexdsl.terms import Model


@dataclass(frozen=True, slots=True)
class Varied:
    """An entry of `train` as a grid point has it.

    Attributes
    ----------
    entry : str
        Its name in the spec.
    name : str
        Its own: `acc~threshold=0.4`, safe in paths. Where the point repeats what the entry says it is the entry's.
    said : TrainText
    """

    entry: str
    name: str
    said: TrainText


def varied(spec: Spec, axes: Mapping[str, Node]) -> Mapping[str, Varied]:
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
    found = {}
    for name, settings in changed.items():
        node = spec.node.mapping()["train"].mapping()[name]
        for setting, value in settings.items():
            node = put(node, setting.split("."), value, {})
        said = check(TrainText, node, lambda route, name=name: dotted(("train", name, *route)))  # type: ignore[misc]
        own = point_slug(name, {setting: value.plain() for setting, value in settings.items()})
        found[name] = Varied(name, name if said == spec.text.train[name] else own, said)
    return found


def as_trained(model: Model, trainings: Mapping[str, Varied]) -> Model:
    """Return a model; one that comes out of an entry that a grid point changes comes out of the changed one."""
    _, is_trained, rest = model.model.partition(TRAINED)
    entry, _, role = rest.partition("/")
    if not is_trained or entry not in trainings:
        return model
    return replace(model, model=f"{TRAINED}{trainings[entry].name}/{role}")
