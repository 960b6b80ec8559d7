"""A claim that no run of the spec's cells can answer is told before anything is spent, not by the last job."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from tests.plan.specs import SPEC, plan

GRID = SPEC.replace("keep: [mean, {top: 1}]", "keep: [mean, {top: 1}]\n    rounds: [1, 2, 3]")


def told(folder: Path, claims: str, spec: str = SPEC) -> str:
    with pytest.raises(SpecError) as caught:
        plan(folder, spec.replace("accuracy(sparse) > accuracy(full)", claims))
    return str(caught.value)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("best keep of sparse is max", "keep has no value 'max'; it has mean, top-1"),
        ("accuracy(sparse[keep]) increasing", "keep is no number; say its order, such as sparse[keep=mean<top-1]"),
        ("accuracy(sparse[keep=mean<top-9]) increasing", "no cell at keep=top-9"),
        ("accuracy(sparse[rounds, keep=median]) increasing", "no cell at keep=median"),
        ("accuracy(sparse[keep=mean<top-1<mean]) increasing", "names a value of keep twice"),
        ("accuracy(full, round=2) > accuracy(near)", "full has 1 round after its opening, so that there is no round 2"),
        ("ece(matched, round=1) < ece(full)", "matched has no round after its opening, so that there is no round 1"),
        ("accuracy(matched, round=0) < accuracy(matched)", "accuracy(matched, round=0) and accuracy(matched) are the"),
        ("accuracy(full, round=1) >= accuracy(full) - 0.1", "its debates end after round 1 at the latest"),
        ("score(full) > accuracy(full)", "score(full) and accuracy(full) are the same"),
        ("ece_recalibrated(full) < ece(full)", "full does not recalibrate"),
        ("brier_raw(full, agent=first) < brier(full, agent=first)", "full does not recalibrate"),
        ("brier(full, agent=frist) < brier(near, agent=first)", "full has no debater frist\n    did you mean first?"),
        ("accuracy(matched, agent=first) < accuracy(full, agent=first)", "matched has no debater first"),
        ("accuracy(sparse) > accuracy(full) over seeds", "over seeds, and there are 2\n    give at least 3 replicates"),
        (
            "accuracy(full) > 0.5 and accuracy(near, round=5) > 0.5",
            "near has 1 round after its opening, so that there is no round 5",
        ),
    ],
)
def test_a_claim_that_cannot_be_answered_is_told(tmp_path: Path, claim: str, said: str) -> None:
    assert said in told(tmp_path, f'"{claim}"', GRID)


@pytest.mark.parametrize(
    "claim",
    [
        "ece_recalibrated(sparse) < ece(sparse)",
        "accuracy(sparse, round=0) < accuracy(sparse)",
        "consensus(full, round=1) > consensus(sparse, round=2)",
        "accuracy(sparse, round=1) >= accuracy(every other)",
        "best rounds of sparse by input_tokens is 1",
    ],
)
def test_a_claim_that_can_is_not(tmp_path: Path, claim: str) -> None:
    assert plan(tmp_path, GRID.replace("accuracy(sparse) > accuracy(full)", f'"{claim}"')).hypotheses == (claim,)


def test_a_copy_of_an_agent_debates_under_its_own_name(tmp_path: Path) -> None:
    """`third-2` is no agent of the spec, and was once refused."""
    spec = SPEC.replace("multi-llm, rounds: 1", "multi-llm, rounds: 1, agents: [third, third]")
    claim = "accuracy(full, agent=third-2) > accuracy(full, agent=third)"
    assert plan(tmp_path, spec.replace("accuracy(sparse) > accuracy(full)", claim)).hypotheses == (claim,)


def test_a_claim_that_cannot_be_read_does_not_move_the_place_of_the_next_one(tmp_path: Path) -> None:
    text = told(tmp_path, "accuracy(sparse) >> 1\n  - accuracy(sparse) > accuracy(fulll)")
    line = 1 + [line.strip() for line in SPEC.splitlines()].index("- accuracy(sparse) > accuracy(full)")
    assert f"small.yaml:{line}:5: the claim 'accuracy(sparse) >> 1'" in text
    assert f"small.yaml:{line + 1}:5: hypotheses[2]: there is no method or cell fulll" in text


@pytest.mark.parametrize("again", ["accuracy(full) < accuracy(sparse)", "accuracy(sparse)  >= score(full)"])
def test_the_same_claim_twice_would_count_twice(tmp_path: Path, again: str) -> None:
    text = told(tmp_path, f"accuracy(sparse) > accuracy(full)\n  - {again}")
    assert "hypotheses[2] says the same as hypotheses[1], 'accuracy(sparse) > accuracy(full)'" in text
