"""Where a method evaluates expressions: the conditions of loops, choices among agents, weights of edges, turns told."""

from __future__ import annotations

from collections.abc import Iterator

from cortexdsl.debate.roles import parts
from cortexdsl.terms import NEVER, Choose, Keep, Method, Repeat, Site, Sparse, Told

CONDITION = Keep("above", 0.0)
"""The rule that keeps what a condition holds for: true is 1."""


def sites(method: Method) -> Iterator[tuple[Site, Keep]]:
    """Yield every place of a method where an expression is evaluated, and the rule that keeps by its value.

    The `until` of a loop of one pass is left out: nothing follows that it could end.
    """
    for part in parts(method.schedule):
        if isinstance(part, Choose):
            yield Site("choose", part, part.weight), part.keep
        elif isinstance(part, Repeat):
            if part.unless != NEVER:
                yield Site("unless", part, part.unless), CONDITION
            if part.until != NEVER and part.times > 1:
                yield Site("until", part, part.until), CONDITION
    for step in method.steps.values():
        layout = step.hears
        while isinstance(layout, Sparse):
            yield Site("hears", step.name, layout.weight), layout.keep
            layout = layout.within
        for told in step.tells:
            if isinstance(told, Told) and told.where:
                yield Site("tells", step.name, told.where), CONDITION
        if isinstance(step.own, Told) and step.own.where:
            yield Site("own", step.name, step.own.where), CONDITION
