"""Random protocols with something left out: what a debate can do without, it does without, to the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortexdsl.core import Ablation
from cortexdsl.engine.ablation import why_needed
from cortexdsl.errors import SpecError
from cortexdsl.metrics.registry import MEASURES
from cortexdsl.metrics.view import view_debate
from cortexdsl.records import debate_to_json
from cortexdsl.templates.templates import Templates
from tests.language.random.test_protocols import CHOOSY, ECHO, HEADER, NAMES, TALK, World, method_of, protocols

EDGES = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))
LEFT_OUT = st.one_of(
    st.lists(st.sampled_from([*NAMES, "judge"]), min_size=1, max_size=3, unique=True).map(
        lambda names: Ablation(agents=tuple(names))
    ),
    st.lists(EDGES, min_size=1, max_size=2).map(lambda edges: Ablation(edges=tuple(edges))),
    st.sampled_from([Ablation(rounds=(1,)), Ablation(rounds=(2,)), Ablation(rounds=(1, 2))]),
    st.sampled_from(["s0", "s1", "s2", "s3"]).map(lambda step: Ablation(steps=(step,))),
)
SEEN = {"run": 0, "other": 0}


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    folder: Path = tmp_path_factory.mktemp("prompts")
    (folder / "talk.j2").write_text(TALK)
    (folder / "choosy.j2").write_text(CHOOSY)
    (folder / "echo.j2").write_text(ECHO)
    return Templates((folder,))


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(protocols(), LEFT_OUT, st.integers(0, 10**6))
def test_a_debate_without_what_it_does_not_need(
    templates: Templates, protocol: dict[str, Any], without: Ablation, seed: int
) -> None:
    try:
        method = method_of(protocol)
    except SpecError:
        return
    if why_needed(method, without) is not None:
        SEEN["other"] += 1
        return
    SEEN["run"] += 1
    whole, world = World(seed, templates), World(seed, templates)
    whole.run(method)
    done = world.run(method, ablation=without)
    header = replace(HEADER, without=str(without))
    line = debate_to_json(done, header)
    assert debate_to_json(World(seed, templates, world.replies).run(method, ablation=without), header) == line

    edges = {(done.turns[heard].speaker, turn.speaker) for turn in done.turns for heard in turn.heard}
    assert not edges & set(without.edges)
    assert not {turn.speaker for turn in done.turns} & set(without.agents)
    assert not {agent.name for agent in done.agents} & set(without.agents)
    assert not {turn.step for turn in done.turns} & set(without.steps)
    shared = world.replies.keys() & whole.replies.keys()
    assert all(world.replies[key] == whole.replies[key] for key in shared)
    view = view_debate(done, lambda question, answer: float(answer == "42"))
    for measure in MEASURES.values():
        value = measure(view)
        assert value is None or value == value  # never NaN


def test_much_of_what_is_drawn_can_be_done_without() -> None:
    if not SEEN["run"] + SEEN["other"]:
        pytest.skip("the protocols were drawn in another process")
    assert SEEN["run"] >= 0.4 * (SEEN["run"] + SEEN["other"])
