"""What a spec says without effect: conditions that never change, choices that leave nobody, cells that a race drops."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from cortexdsl.debate.sites import sites
from cortexdsl.errors import Problem
from cortexdsl.plan.compiler import Judged
from cortexdsl.plan.rehearsal.conditions import NoEffect, without_effect
from cortexdsl.plan.rehearsal.wording import bare
from cortexdsl.spec.text.nodes import Mark
from cortexdsl.terms import Method, SiteWord


def ineffective(judged: Judged) -> list[Problem]:
    """Return the words of a spec's methods that have no effect, or not the one they seem to have.

    Each method goes through made-up debates. Words in built-in files are left out. Words that depend on the team are
    reported only if they have no effect in any cell that uses them: protocols serve teams of several sizes.
    """
    by_shape: dict[Any, tuple[NoEffect, ...]] = {}
    written: Counter[tuple[Mark, SiteWord, str]] = Counter()
    reported: dict[tuple[Mark, SiteWord, str, bool], list[Problem]] = {}
    for cell in judged.cells:
        places = judged.places.get(cell.name, {})
        if not places:
            continue
        shape = _shape(cell.debate)
        if shape not in by_shape:
            by_shape[shape] = without_effect(cell.debate)
        for site in {site for site, _ in sites(cell.debate)}:
            if (mark := places.get(site.place)) is not None:
                written[mark, site.word, bare(site.expression)] += 1
        for each in by_shape[shape]:
            if (mark := places.get(each.place)) is not None:
                problem = Problem(str(mark), f"methods.{cell.name}: {each.what}", each.remedy)
                reported.setdefault((mark, each.place[0], each.text, each.may_depend_on_team), []).append(problem)
    return [
        problems[0]
        for (mark, word, text, may_depend), problems in reported.items()
        if not may_depend or len(problems) == written[mark, word, text]
    ]


def _shape(method: Method) -> Any:
    """Return what of a method can change the course of its made-up debates."""
    steps = [replace(step, prompt="", by_agent={}, by_role={}, said=(), material={}) for step in method.steps.values()]
    cast = [
        (role, [(agent.name, agent.model.parameters, agent.model.tokens) for agent in agents])
        for role, agents in method.cast.items()
    ]
    return repr((
        cast, steps, method.schedule, method.decide, method.rounds_cap, method.recalibration, method.participation,
        method.similarity, method.passes, method.debaters,
    ))  # fmt: skip
