"""Claims: bounds, margins, trends."""

from __future__ import annotations

from numpy.random import Generator

from cortexdsl.claims.cells import cells_of
from cortexdsl.stats.verdicts import evaluate_claims
from scenarios.made import DRAWS, Marks, Scenario, answers, chances, table, verdict


def shifted_tokens(random: Generator) -> Marks:
    """Differences whose mean is 100 and whose shape is skewed, tested against 100."""
    b = random.lognormal(6, 0.3, (1, 100))
    frame = table({"a": b + random.exponential(100, (1, 100)), "b": b}, "tokens")
    return {"error: studentised bootstrap": verdict(frame, "tokens(a) > tokens(b) + 100") != "undecided"}


def at_the_bound(random: Generator) -> Marks:
    """Five points worse, claimed not to be; eight points worse, claimed equivalent within eight."""
    base = random.uniform(0.1, 1, 150)
    frame = table({"a": answers(random, base - 0.05, 3), "b": answers(random, base, 3)})
    found = verdict(frame, "score(a) >= score(b) - 0.05")
    wide = random.uniform(0.1, 1, 300)
    other = table({"a": answers(random, wide - 0.08, 2), "b": answers(random, wide, 2)})
    equal = verdict(other, "score(a) == score(b) +- 0.08")
    return {"error (of 2.5 %): non-inferior, wrongly supported": found == "supported",
            "error: non-inferior, decided": found != "undecided",
            "error: equivalent, wrongly supported": equal == "supported"}  # fmt: skip


def grids(random: Generator) -> Marks:
    """A grid of six equal cells."""
    names = [f"s[keep={keep}, rounds={r}]" for keep in ("mean", "median") for r in (1, 2, 3)]
    frame = table({cell: answers(random, p, 2) for cell, p in zip(names, chances(random, 6, 100), strict=True)})
    claims = {"accuracy(s[rounds]) increasing": "trend",
              "best rounds of s is 2": "best of three"}  # fmt: skip
    found = evaluate_claims(frame, list(claims), seed=1, draws=DRAWS, arms=cells_of(names))
    return {f"error: {name}": bool(p <= 0.05) for name, p in zip(claims.values(), found["p"], strict=True)}


SCENARIOS: dict[str, Scenario] = {
    "skewed token differences against a value": shifted_tokens,
    "exactly at the bound": at_the_bound,
    "grid of six equal cells, 100 questions, 2 replicates": grids,
}
