"""The values of expressions just after the opening of a finished debate."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np

from cortexdsl.core import Debate, Floats, Method, Turn
from cortexdsl.engine.methods import debating_agents, opens_round
from cortexdsl.engine.name_values import Snapshot, agent_values, as_columns, debate_values
from cortexdsl.engine.state import DebateState
from cortexdsl.expressions.evaluation import evaluate, parse


def opening_answers(method: Method, debate: Debate) -> Mapping[str, Turn]:
    """Return the answer of each debater in the opening; of several draws the last. Empty if none was given."""
    answers = [turn for turn in debate.turns if opens_round(method, method.steps[turn.step])]
    return {turn.speaker: turn for turn in answers if turn.execution == answers[0].execution}


def opening_values(
    method: Method, debate: Debate, expressions: Sequence[str], *, of_edges: bool = False
) -> Mapping[str, Floats]:
    """Return the values of expressions after the opening, (n, n): of each speaker, for each listener.

    Values of agents are the same for all listeners.

    Parameters
    ----------
    method : Method
        The method that made the debate.
    debate : Debate
        Whose opening has answers.
    expressions : sequence of str
        They use names of agents, pairs and the debate that follow from answers.
    of_edges : bool
        Whether they are of edges, as weights are; else of agents, as in a choice.
    """
    end = max(turn.execution for turn in opening_answers(method, debate).values())
    agents = debating_agents(method)
    names = tuple(agent.name for agent in agents)
    state = DebateState.of_turns([turn for turn in debate.turns if turn.execution <= end], [end], names)
    # No name of a feature needs groups, similarity, quotes or draws.
    now = Snapshot(method, agents, state, (), None, None, random.Random)  # type: ignore[arg-type]
    values = {}
    for text in expressions:
        expression = parse(text)
        known = as_columns(agent_values(now, expression.keys), as_rows=not of_edges)
        value = evaluate(expression, known | debate_values(now, expression.keys))
        matrix = np.broadcast_to(value, (len(agents), len(agents)))
        values[text] = np.array(matrix if of_edges else matrix.T, dtype=float)
    return values
