"""The analysis of a spec for its cells: claims that cannot be answered, judged answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import JUDGE, rehearse_plan
from cortexdsl.plan.job_digests import debate_digest, judge_digest
from cortexdsl.plan.job_files import all_judgements
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
        ("accuracy(sparse[keep]) increasing", "keep is not a number; say its order, such as sparse[keep=mean<top-1]"),
        ("accuracy(sparse[keep=mean<top-9]) increasing", "no cell at keep=top-9"),
        ("accuracy(sparse[rounds, keep=median]) increasing", "no cell at keep=median"),
        ("accuracy(sparse[keep=mean<top-1<mean]) increasing", "names a value of keep twice"),
        ("accuracy(full, round=2) > accuracy(near)", "full has 1 round after its opening, so that there is no round 2"),
        ("ece(matched, round=1) < ece(full)", "matched has no round after its opening, so that there is no round 1"),
        ("accuracy(matched, round=0) < accuracy(matched)", "accuracy(matched, round=0) and accuracy(matched) are the"),
        ("accuracy(full, round=1) >= accuracy(full) - 0.1", "its debates end after round 1 at the latest"),
        ("score(full) > accuracy(full)", "score(full) and accuracy(full) are the same"),
        ("ece_recalibrated(full) < ece(full)", "full does not recalibrate"),
        ("brier_raw(full, agent=one) < brier(full, agent=one)", "full does not recalibrate"),
        ("brier(full, agent=oen) < brier(near, agent=one)", "full has no debater oen\n    did you mean one?"),
        ("accuracy(matched, agent=one) < accuracy(full, agent=one)", "matched has no debater one"),
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
    """`three-2` is not an agent of the spec, and was once refused."""
    spec = SPEC.replace("multi-llm, rounds: 1", "multi-llm, rounds: 1, agents: [three, three]")
    claim = "accuracy(full, agent=three-2) > accuracy(full, agent=three)"
    assert plan(tmp_path, spec.replace("accuracy(sparse) > accuracy(full)", claim)).hypotheses == (claim,)


def test_each_claim_that_is_wrong_is_told_in_its_place(tmp_path: Path) -> None:
    """First those that cannot be read, then those about what does not exist."""
    line = 1 + [line.strip() for line in SPEC.splitlines()].index("- accuracy(sparse) > accuracy(full)")
    text = told(tmp_path, "accuracy(sparse) >> 1\n  - accuracy(sparse) > accuracy(fulll)\n  - accuracy(sparse) << 1")
    assert f"small.yaml:{line}:5: the claim 'accuracy(sparse) >> 1'" in text
    assert f"small.yaml:{line + 2}:5: the claim 'accuracy(sparse) << 1'" in text
    text = told(tmp_path, "accuracy(sparse) > 0.5\n  - accuracy(sparse) > accuracy(fulll)")
    assert f"small.yaml:{line + 1}:5: hypotheses[2]: there is no method or cell fulll" in text


@pytest.mark.parametrize("again", ["accuracy(full) < accuracy(sparse)", "accuracy(sparse)  >= score(full)"])
def test_the_same_claim_twice_would_count_twice(tmp_path: Path, again: str) -> None:
    text = told(tmp_path, f"accuracy(sparse) > accuracy(full)\n  - {again}")
    assert "hypotheses[2] says the same as hypotheses[1], 'accuracy(sparse) > accuracy(full)'" in text


JUDGED_SPEC = """\
seed: 1
replicates: 2
datasets:
  words: {file: words.jsonl, kind: text}
  sums: {name: arithmetic, size: 4}
models:
  small: {model: builtin/solver}
  wise: {model: builtin/solver, skill: 0.9}
agents: [{name: one, model: small}, {name: two, model: small}, {name: three, model: small}]
methods:
  vote: {protocol: voting}
  talk: {protocol: multi-llm, rounds: 1}
analysis: {metrics: [accuracy], judge: wise}
hypotheses: [accuracy(talk) > accuracy(vote)]
"""
WORDS = (
    '{"question": "Sea or lake, which is larger?", "answer": "sea"}\n{"question": "Who?", "answer": "Ada Lovelace"}\n'
)


def compiled(folder: Path, *edits: tuple[str, str]) -> Plan:
    text = JUDGED_SPEC
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    (folder / "words.jsonl").write_text(WORDS)
    (folder / "texts.yaml").write_text(text)
    return compile_spec(str(folder / "texts.yaml"))


@pytest.mark.parametrize("metric", ["em", "f1", "judged"])
def test_a_score_of_texts_asked_of_sums_is_a_mistake_that_names_the_dataset(tmp_path: Path, metric: str) -> None:
    with pytest.raises(SpecError, match=rf"texts\.yaml:13:.*{metric} needs .*dataset sums has answers of kind number"):
        compiled(tmp_path, ("[accuracy]", f"[{metric}]"))
    with pytest.raises(SpecError, match=rf"texts\.yaml:14:.*{metric} needs .*dataset sums"):
        compiled(tmp_path, ("accuracy(talk) > accuracy(vote)", f"{metric}(talk) > {metric}(vote)"))


def test_an_error_asked_of_texts_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="relative_error needs answers of kind number, and dataset words has"):
        compiled(tmp_path, ("[accuracy]", "[relative_error]"))


def test_a_claim_may_ask_it_of_the_dataset_that_has_it_and_that_one_alone_is_judged(tmp_path: Path) -> None:
    plan = compiled(tmp_path, ("accuracy(talk) > accuracy(vote)", "judged(talk) > judged(vote) on words"))
    assert plan.judging is not None
    assert (plan.judging.model.name, plan.judging.datasets) == ("wise", ("words",))
    assert all_judgements(plan) == [f"results/texts/judgements/words/{cell}.jsonl" for cell in ("vote", "talk")]


def test_a_judge_that_nobody_asks_for_judges_nothing(tmp_path: Path) -> None:
    plan = compiled(tmp_path)
    assert plan.judging is None
    assert all_judgements(plan) == []
    assert JUDGE not in rehearse_plan(plan)[1]


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([(", judge: wise", "")], "answers are to be judged, and the spec names no judge"),
        ([("{model: builtin/solver, skill: 0.9}", "{model: mistral/wise}")], "wise (mistral/wise) may cost money"),
    ],
)
def test_judging_that_cannot_be_is_told_at_once(tmp_path: Path, edits: list[tuple[str, str]], said: str) -> None:
    claim = ("accuracy(talk) > accuracy(vote)", "judged(talk) > judged(vote) on words")
    with pytest.raises(SpecError, match=re.escape(said)):
        compiled(tmp_path, claim, *edits)


def test_the_estimate_has_one_judgement_for_each_debate_at_most(tmp_path: Path) -> None:
    """Two questions, two replicates, two cells: eight answers, of which equal ones are judged once."""
    plan = compiled(tmp_path, ("accuracy(talk) > accuracy(vote)", "judged(talk) > judged(vote) on words"))
    total, by_cell = rehearse_plan(plan)
    assert list(by_cell) == ["vote", "talk", JUDGE]
    assert by_cell[JUDGE].calls == 8
    assert total.calls == sum(part.calls for part in by_cell.values())


def test_what_the_judge_is_and_is_asked_belongs_to_its_digest_alone(tmp_path: Path) -> None:
    claim = ("accuracy(talk) > accuracy(vote)", "judged(talk) > judged(vote) on words")
    one, other = compiled(tmp_path, claim), compiled(tmp_path, claim, ("skill: 0.9", "skill: 0.8"))
    assert judge_digest(one, "words", "talk") != judge_digest(other, "words", "talk")
    assert debate_digest(one, "words", "talk", "r1-s01") == debate_digest(other, "words", "talk", "r1-s01")
