"""Debates to learn from of which nothing is guided: right is what most of them decide, or the gold answer."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cortexdsl.cli.verbs import run
from cortexdsl.errors import InputError, SpecError
from cortexdsl.plan.forecast.cost import rehearse_plan
from cortexdsl_train.pairs import ValuedReply, natural_pair
from cortexdsl_train.trajectories import majority
from tests.train.specs import plan

SPEC = """\
title: Learning from what three copies agree on
seed: 17
dataset: {name: arithmetic, size: 6}
models:
  base: {model: builtin/solver, skill: 0.5}
agents: [{name: one, model: base}, {name: two, model: base}, {name: three, model: base}]
methods:
  untrained: {protocol: multi-llm, rounds: 1}
train:
  maca:
    method: untrained
    roles: [debater]
    questions: {size: 12, gold: majority}
    validation: 2
    samples: 1
"""
GRPO = "    optimiser: {loss: grpo}\n"
PHASE = Path("results/learning/train/maca/1-debater")
JOB = ["trajectories", "learning.yaml", "--training", "maca", "--phase", "1-debater", "--shard", "r1-s01"]
PAIRS = ["pairs", "learning.yaml", "--training", "maca", "--phase", "1-debater"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (PHASE / name).read_text(encoding="utf-8").splitlines()]


def reply(text: str, score: float, *, failed: bool = False, cut: bool = False) -> ValuedReply:
    return ValuedReply(text, failed, cut, (score,))


@pytest.mark.parametrize(
    ("answers", "label"),
    [
        (["7"], "7"),
        (["7", "8", "7"], "7"),
        (["8", "7", "7.0"], "7"),  # as the first that means the same spells it
        (["7", "8"], None),
        (["7", None, None], "7"),
        ([None], None),
        ([], None),
    ],
)
def test_the_label_is_the_answer_of_most_debates_and_a_tie_has_none(
    answers: list[str | None], label: str | None
) -> None:
    reader: Any = SimpleNamespace(same=lambda answer, earlier: float(answer) == float(earlier))
    assert majority(answers, reader) == label


def test_a_prompt_makes_one_pair_of_a_reply_that_agrees_and_one_that_does_not() -> None:
    agrees, dissents = reply("a", 1.0), reply("d", 0.0)
    pair, outcome = natural_pair([dissents, reply("e", 0.0), agrees, reply("b", 1.0)], 0.2)
    assert pair is not None
    assert (outcome, pair.chosen.text, pair.rejected.text) == ("natural", "a", "d")
    for replies, why in (
        ([agrees, reply("b", 1.0)], "below"),
        ([agrees], "below"),
        ([reply("x", 1.0, failed=True)], "no_reply"),
        ([agrees, reply("x", 0.0, failed=True)], "below"),
        ([reply("c", 1.0, cut=True), dissents], "cut"),
    ):
        assert natural_pair(replies, 0.2) == (None, why)
    pair, _ = natural_pair([reply("c", 1.0, cut=True), agrees, dissents], 0.2)
    assert pair is not None
    assert pair.chosen is agrees


def test_pairs_prefer_the_answer_of_the_majority_and_never_read_a_gold(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = plan(here, SPEC)
    assert run(JOB) == 0
    assert run(PAIRS) == 0
    _, by_cell = rehearse_plan(compiled)
    moments = lines("trajectories/r1-s01.jsonl")
    assert by_cell["(train: maca)"].calls == len(moments) == 14 * 3 * 2  # questions, agents, answers
    assert not any(moment["guided"] for moment in moments)
    pairs, singles, prompts = lines("pairs.jsonl"), lines("sft.jsonl"), lines("prompts.jsonl")
    labels = {row["question"]: row["label"] for row in prompts}
    task = compiled.training("maca").task
    assert any(label and task.grade(question, label) == 0 for question, label in labels.items())  # most are wrong
    assert pairs
    for row in pairs:
        reader = task.reader(task.item(row["question"]).question)
        chosen, rejected = (reader.read("answer", row[name][0]["content"]).value for name in ("chosen", "rejected"))
        assert chosen == labels[row["question"]] != rejected
    for row in singles:
        reader = task.reader(task.item(row["question"]).question)
        assert reader.read("answer", row["completion"][0]["content"]).value == labels[row["question"]]
    assert len(prompts) == len({(row["question"], json.dumps(row["prompt"])) for row in prompts})
    assert not {row["question"] for row in pairs if row["part"] == "validation"} - compiled.training("maca").validation
    before = {name: (PHASE / name).read_bytes() for name in ("pairs.jsonl", "sft.jsonl", "prompts.jsonl", "kept.csv")}
    assert run(JOB) == 0
    assert run(PAIRS) == 0
    assert {name: (PHASE / name).read_bytes() for name in before} == before


def test_grpo_with_golds_asks_for_whole_debates_and_no_guided_replies(here: Path) -> None:
    text = SPEC.replace(", gold: majority", "").replace("samples: 1", "samples: 3\n    optimiser: {loss: grpo}")
    compiled = plan(here, text)
    assert run(JOB) == 0
    assert run(PAIRS) == 0
    moments, task = lines("trajectories/r1-s01.jsonl"), compiled.training("maca").task
    assert len(moments) == 14 * 3 * 2 * 3
    for moment in moments:
        end = moment["natural"]["endings"][0]
        assert end["score"] == task.grade(moment["question_id"], end["answer"])
    assert {row["label"] for row in lines("prompts.jsonl")} == {""}


def test_other_labels_and_losses_that_share_debates_are_other_trainings(here: Path) -> None:
    def digests(text: str) -> tuple[str, str, str]:
        phase = plan(here, text).training("maca").phases[0]
        return phase.digest, phase.pairs_digest, phase.trained_digest

    dpo, sft = digests(SPEC), digests(SPEC + "    optimiser: {loss: sft}\n")
    by_gold = digests(SPEC.replace("samples: 1", "samples: 2").replace(", gold: majority", "") + GRPO)
    by_majority = digests(SPEC.replace("samples: 1", "samples: 2") + GRPO)
    assert by_gold[0] != by_majority[0]
    assert dpo == digests(SPEC + "    optimiser: {loss: dpo}\n")
    assert dpo[:2] == sft[:2]
    assert dpo[2] != sft[2]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("roles: [debater]", "roles: [critic]", "untrained has no role critic"),
        ("samples: 1", "samples: 1\n    optimiser: {loss: grpo}", "samples is 1"),
        (
            "{name: three, model: base}]", "{name: three, model: other}]",
            "the debater of untrained has several models (base, other), and one learns",
        ),
        ("{protocol: multi-llm, rounds: 1}", "{protocol: acc, agents: [one, two]}", "has no role debater"),
        ("size: 6}", "size: 6, gold: majority}", "unknown gold 'majority'"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_from_is_said_with_a_remedy(here: Path, old: str, new: str, message: str) -> None:
    assert old in SPEC
    other = "  other: {model: builtin/solver, skill: 0.4}\nagents:"
    text = SPEC.replace(old, new).replace("agents:", other, 1)
    with pytest.raises((InputError, SpecError)) as caught:
        plan(here, text)
    assert message in str(caught.value)


def test_a_critic_has_no_answers_to_score_and_a_sure_model_no_group(here: Path) -> None:
    text = SPEC.replace("{protocol: multi-llm, rounds: 1}", "{protocol: acc, rounds: 2, agents: [one, two]}")
    with pytest.raises(SpecError, match="the critic of untrained answers in no step, and only answers are right"):
        plan(here, text.replace("[debater]", "[critic]"))
    text = SPEC.replace("samples: 1", "samples: 4\n    optimiser: {loss: grpo}").replace("skill: 0.5", "temperature: 0")
    with pytest.raises(SpecError, match="has temperature 0, so that all replies to a prompt are the same"):
        plan(here, text.replace("builtin/solver", "openai/some-model"))
