"""Decisions by weight: which edges a step keeps, which agents fill a role, whether a condition is met."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cortexdsl.core import Bools, Choose, Graph, RoleChoice, Sparse, Step, Topology
from cortexdsl.core.keep_rules import select_edges
from cortexdsl.engine.methods import players
from cortexdsl.engine.name_values import Snapshot, as_columns, debate_values, edge_factors, name_values
from cortexdsl.engine.topology import check_layout, fixed_edges, heard_matrix
from cortexdsl.errors import DebateError
from cortexdsl.expressions.evaluation import ParsedExpression, evaluate, parse


async def step_graph(now: Snapshot, step: Step) -> Graph:
    """Return who hears whom in a step (see `fixed_edges` for speakers and listeners).

    Raises
    ------
    DebateError
        The topology does not fit the agents, or a weight is not a number.
    """
    if isinstance(step.hears, Sparse):
        check_layout(now.method, step, now.agents, now.groups)
        return await sparse_graph(now, step, step.hears, players(now.method, step.role))
    speakers, listeners, heard = fixed_edges(now.method, step, now.agents, now.groups, now.chance)
    return Graph(now.state.round, step.name, speakers, listeners, None, heard, {})


async def sparse_graph(now: Snapshot, step: Step, topology: Sparse, listeners: tuple[str, ...]) -> Graph:
    """Compute the weights of the edges between debaters and keep some (CortexDebate, steps 1 and 2 of a round).

    Agents whose last reply was empty are not candidates: their edges have no weight, and thresholds are computed from
    the others.

    Parameters
    ----------
    now : Snapshot
        After the opening at least.
    step, topology
        Whose weight and keep rule apply.
    listeners : tuple of str
        The debaters that speak in the step.

    Raises
    ------
    DebateError
        A weight is not a number; names the round, the speaker and the factors that caused it.
    """
    if not now.state.round:
        raise DebateError(
            f"step {step.name!r} weighs answers before any debater has answered\n"
            "    put a step that hears nobody before it; or hear without weights: hears: everyone, and with "
            "sequential: true each agent hears those before it"
        )
    allowed = await _edges(now, step, topology.within)
    expression = parse(topology.weight)
    names, count = now.names, len(now.agents)
    factors = await edge_factors(now, expression.keys)
    values = as_columns(factors) | debate_values(now, expression.keys)
    weight = np.array(np.broadcast_to(evaluate(expression, values), (count, count)), dtype=float)
    possible = allowed & ~np.eye(count, dtype=bool) & now.has_words[-1][:, None]
    if not np.isfinite(weight[possible]).all():
        speaker = names[int(np.argwhere(~np.isfinite(weight) & possible)[0][0])]
        row = {name: array[names.index(speaker)] for name, array in factors.items() if array.ndim == 1}
        raise DebateError(_not_a_number(expression, now.state.round, speaker, row))
    weight[~possible] = np.nan
    columns = [names.index(name) for name in listeners]
    weight = weight[:, columns]
    factors = {name: array[:, columns] if array.ndim == 2 else array for name, array in factors.items()}
    heard = select_edges(weight, topology.keep)
    return Graph(now.state.round, step.name, names, listeners, weight, heard, factors)


async def _edges(now: Snapshot, step: Step, topology: Topology) -> Bools:
    """Return the (n, n) edges of a topology between all debaters."""
    if isinstance(topology, Sparse):
        return (await sparse_graph(now, step, topology, now.names)).heard
    return heard_matrix(topology, now.names, now.names, now.groups, now.chance)


async def fill_role(now: Snapshot, rule: Choose) -> RoleChoice:
    """Choose players of one role, by weight, to fill another, or the same.

    A name that belongs to an agent has the candidate's value; one that belongs to a pair is reduced over the agents
    that the candidate could hear.

    Raises
    ------
    DebateError
        A weight is not a number.
    """
    expression = parse(rule.weight)
    candidates = tuple(agent.name for agent in now.method.role_agents[rule.source] if agent.name in now.names)
    values = await name_values(now, expression.keys, as_rows=True)
    row = np.array(np.broadcast_to(evaluate(expression, values), (1, len(now.names))), dtype=float)[0]
    weight = row[[now.names.index(name) for name in candidates]]
    if not np.isfinite(weight).all():
        name = candidates[int(np.argwhere(~np.isfinite(weight))[0][0])]
        raise DebateError(_not_a_number(expression, now.state.round, name, {}))
    kept = select_edges(weight[:, None], rule.keep) if candidates else np.zeros((0, 1), dtype=bool)
    chosen = [k for k, is_kept in enumerate(kept[:, 0]) if is_kept]
    return RoleChoice(
        turn=len(now.state.turns),
        round=now.state.round,
        role=rule.role,
        candidates=candidates,
        weight=tuple(map(float, weight)),
        chosen=tuple(candidates[k] for k in chosen),
    )


async def condition_holds(now: Snapshot, condition: str) -> bool:
    """Return whether the condition of a loop is met.

    Raises
    ------
    DebateError
        It has no value.
    """
    expression = parse(condition)
    value = np.asarray(evaluate(expression, await name_values(now, expression.keys)), dtype=float)
    if value.size != 1 or not np.isfinite(value).all():
        raise DebateError(f"round {now.state.round}: the condition {condition!r} has no value")
    return bool(value.item())


def _not_a_number(expression: ParsedExpression, round_: int, speaker: str, factors: Mapping[str, float]) -> str:
    values = ", ".join(f"{name} {value:g}" for name, value in factors.items() if name in expression.keys)
    message = f"round {round_}: the weight of agent {speaker!r} is not a finite number: {expression.text}"
    message += f" with {values}" if values else ""
    if "self_orientation" not in expression.names:
        return message
    return (
        f"{message}; self_orientation is 0 for everybody in round 1 and for an agent that all others have heard: "
        "divide by (self_orientation + 1), as the built-in protocol does"
    )
