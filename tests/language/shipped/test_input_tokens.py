"""Input tokens an agent: the order of CortexDebate's table 7, where every method debates every round."""

from __future__ import annotations

from benchmarks.methods.input_tokens import NEVER, published_ratios, ratios

# chateval's debaters hear a short summary alone here; the paper's hear more (docs/benchmarks/methods.md).
PUBLISHED_ORDER = ["voting", "cortexdebate", "neighbor", "group", "multi-llm", "reconcile", "peer-review"]


def test_the_published_order() -> None:
    published = published_ratios()
    assert sorted(PUBLISHED_ORDER, key=lambda name: sum(published[name])) == PUBLISHED_ORDER
    found = ratios(10, NEVER, passage=0)
    assert sorted(PUBLISHED_ORDER, key=lambda name: found[name][0]) == PUBLISHED_ORDER
