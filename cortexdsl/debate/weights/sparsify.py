"""Weights decide: which edges a step keeps, and which agents fill a role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cortexdsl.debate.weights.expressions import Expression, evaluate, parse
from cortexdsl.debate.weights.factors import factors, of_debate, shaped, values
from cortexdsl.debate.weights.keep import kept
from cortexdsl.debate.weights.scene import Scene
from cortexdsl.errors import DebateError
from cortexdsl.terms import Bools, Choice, Choose, Evaluation, Floats, Graph, Site, Sparse, Step


async def sparse_graph(scene: Scene, step: Step, topology: Sparse, listeners: tuple[str, ...], within: Bools) -> Graph:
    """Weigh the edges between those who debate and keep some (CortexDebate, steps 1 and 2 of a round).

    Only who has something to say is a candidate: an agent whose last reply was empty has no weight, and a listener's
    threshold is worked out over the others.

    Parameters
    ----------
    scene : Scene
        With at least the opening.
    step, topology
        Whose weight and keep rule apply.
    listeners : tuple of str
        Those of them who speak.
    within : (n, n) bool array
        The edges that there may be.

    Raises
    ------
    DebateError
        A weight is not a number: names the round, the speaker and the factors that made it so.
    """
    if not scene.transcript.round:
        raise DebateError(
            f"step {step.name!r} weighs what agents have answered before anybody has\n"
            "    let a step that hears nobody come before it; or hear without weights: hears: everyone, and with "
            "order: sequential each hears those before it"
        )
    expression = parse(topology.weight)
    names, count = scene.names, len(scene.agents)
    found = await factors(scene, expression.keys)
    known = shaped(found) | of_debate(scene, expression.keys)
    weight = np.array(np.broadcast_to(evaluate(expression, known), (count, count)), dtype=float)
    spoke = scene.spoke[-1]
    possible = within & ~np.eye(count, dtype=bool) & spoke[:, None]
    if not np.isfinite(weight[possible]).all():
        speaker = names[int(np.argwhere(~np.isfinite(weight) & possible)[0][0])]
        row = {name: array[names.index(speaker)] for name, array in found.items() if array.ndim == 1}
        raise DebateError(_not_a_number(expression, scene.transcript.round, speaker, row))
    weight[~possible] = np.nan
    columns = [names.index(name) for name in listeners]
    weight = weight[:, columns]
    found = {name: array[:, columns] if array.ndim == 2 else array for name, array in found.items()}
    heard = kept(weight, topology.keep)
    _observed(scene, Site("hears", step.name, topology.weight), weight, heard, known)
    return Graph(scene.transcript.round, step.name, names, listeners, weight, heard, found)


def _observed(scene: Scene, site: Site, weight: Floats, kept: Bools, values: Mapping[str, Any]) -> None:
    scene.transcript.observe(Evaluation(site, weight, kept, values, scene.transcript.round))


def _not_a_number(expression: Expression, round_: int, speaker: str, factors: Mapping[str, float]) -> str:
    made_of = ", ".join(f"{name} {value:g}" for name, value in factors.items() if name in expression.keys)
    what = f"round {round_}: the weight of agent {speaker!r} is not a finite number: {expression.text}"
    what += f" with {made_of}" if made_of else ""
    if "self_orientation" not in expression.names:
        return what
    return (
        f"{what}; self_orientation is 0 for everybody in round 1 and for an agent that all others have heard: "
        "divide by (self_orientation + 1), as the built-in protocol does"
    )


async def choose(scene: Scene, rule: Choose) -> Choice:
    """Weigh those who play a role, and keep some of them in another, or in the same.

    What belongs to an agent is each candidate's own; what belongs to a pair is reduced over those it could hear.

    Raises
    ------
    DebateError
        A weight is not a number.
    """
    expression = parse(rule.weight)
    debaters = scene.names
    candidates = tuple(agent.name for agent in scene.method.cast[rule.source] if agent.name in debaters)
    known = await values(scene, expression.keys, listening=True)
    row = np.array(np.broadcast_to(evaluate(expression, known), (1, len(debaters))), dtype=float)[0]
    weight = row[[debaters.index(name) for name in candidates]]
    if not np.isfinite(weight).all():
        name = candidates[int(np.argwhere(~np.isfinite(weight))[0][0])]
        raise DebateError(_not_a_number(expression, scene.transcript.round, name, {}))
    is_kept = kept(weight[:, None], rule.keep)[:, 0] if candidates else np.zeros(0, dtype=bool)
    _observed(scene, Site("choose", rule, rule.weight), weight[:, None], is_kept[:, None], known)
    return Choice(
        turn=len(scene.transcript.turns),
        round=scene.transcript.round,
        role=rule.role,
        candidates=candidates,
        weight=tuple(map(float, weight)),
        chosen=tuple(name for name, stays in zip(candidates, is_kept, strict=True) if stays),
    )


async def holds(scene: Scene, site: Site) -> bool:
    """Tell whether the condition of a loop holds now.

    Raises
    ------
    DebateError
        It has no value.
    """
    expression = parse(site.expression)
    known = await values(scene, expression.keys)
    value = np.asarray(evaluate(expression, known), dtype=float)
    if value.size != 1 or not np.isfinite(value).all():
        raise DebateError(f"round {scene.transcript.round}: the condition {site.expression!r} has no value")
    value = value.reshape(1, 1)
    _observed(scene, site, value, value != 0, known)
    return bool(value[0, 0])
