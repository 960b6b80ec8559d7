"""What a debate would have answered, had it ended after an earlier round."""

from __future__ import annotations

import math
from dataclasses import replace

from cortexdsl.core import Debate, Method
from cortexdsl.engine.decisions import Decision, decide
from cortexdsl.engine.methods import debating_agents, opens_round
from cortexdsl.engine.seeds import seeded_random
from cortexdsl.expressions.evaluation import parse, split_key


def decide_after(method: Method, debate: Debate, round_: int, *, seed: int, replicate: int) -> Decision | None:
    """Decide a debate by the rule of its method, as if it had ended after a round.

    This is the decision of the same method with so many rounds: calls are shared, and ties are drawn from the same
    seed.

    Parameters
    ----------
    method : Method
        The method that made the debate.
    debate : Debate
    round_ : int
        From 0, the opening.
    seed, replicate : int
        Of the experiment.

    Returns
    -------
    Decision or None
        None if the rule needs turns that this debate does not have after the round, such as the verdict of a judge
        that speaks at the end.
    """
    answers = [turn for turn in debate.turns if opens_round(method, method.steps[turn.step])]
    later = min((turn.execution for turn in answers if turn.round > round_), default=len(debate.turns))
    turns = [turn for turn in debate.turns if turn.round <= round_]
    if deciding := _deciding_steps(method):
        # They lead to the next round, but also end the debate here: a judge's verdict on this round, a ballot.
        needed = [turn for turn in debate.turns if turn.round == round_ + 1 and turn.execution < later]
        needed = [turn for turn in needed if turn.step in deciding]
        if not needed:
            return None
        turns += needed
    at_end = method_after(method, debate, round_)
    voters = [agent.name for agent in debating_agents(at_end)]
    return decide(at_end, turns, voters, lambda: seeded_random("tie", seed, replicate, debate.question_id))


def _deciding_steps(method: Method) -> frozenset[str]:
    """Return the steps other than answers of debaters whose turns decide; empty if the answers alone do."""
    rule = method.decide
    if rule.rule == "last" and rule.role is not None:
        steps = {name for name, step in method.steps.items() if step.role == rule.role and step.reads == "answer"}
    elif rule.rule == "vote":
        steps = {step for key in parse(rule.weight).keys for step in split_key(key)[1]}
    else:
        steps = set()
    return frozenset(name for name in steps & method.steps.keys() if not opens_round(method, method.steps[name]))


def method_after(method: Method, debate: Debate, round_: float = math.inf) -> Method:
    """Return a method with its roles as they were after a round, or at the end of the debate."""
    agents = {agent.name: agent for role_agents in method.role_agents.values() for agent in role_agents}
    chosen = {
        choice.role: tuple(agents[name] for name in choice.chosen)
        for choice in debate.choices
        if choice.round <= round_
    }
    return replace(method, role_agents={**method.role_agents, **chosen})
