"""What is asked of texts alone is checked before anything is spent, and the judge's calls are part of the estimate."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.plan.cost.rehearse import JUDGE, rehearse_plan

SPEC = """\
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
analysis: {metrics: [accuracy], judge: {model: wise}}
hypotheses: [accuracy(talk) > accuracy(vote)]
"""
WORDS = (
    '{"question": "Sea or lake, which is larger?", "answer": "sea"}\n{"question": "Who?", "answer": "Ada Lovelace"}\n'
)


def compiled(folder: Path, *edits: tuple[str, str]) -> Plan:
    text = SPEC
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


def test_a_claim_may_ask_it_of_the_dataset_that_has_it_and_that_one_alone_is_judged(tmp_path: Path) -> None:
    plan = compiled(tmp_path, ("accuracy(talk) > accuracy(vote)", "judged(talk) > judged(vote) on words"))
    assert plan.judging is not None
    assert (plan.judging.model.name, plan.judging.datasets) == ("wise", ("words",))
    assert plan.judgements() == [f"results/texts/judgements/words/{cell}.jsonl" for cell in ("vote", "talk")]


def test_a_judge_that_nobody_asks_for_judges_nothing(tmp_path: Path) -> None:
    plan = compiled(tmp_path)
    assert plan.judging is None
    assert plan.judgements() == []
    assert JUDGE not in rehearse_plan(plan)[1]


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([(", judge: {model: wise}", "")], "answers are to be judged, and the spec names no judge"),
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
    assert one.judge_digest("words", "talk") != other.judge_digest("words", "talk")
    assert one.debate_digest("words", "talk", "r1-s01") == other.debate_digest("words", "talk", "r1-s01")
