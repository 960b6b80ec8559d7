"""Files of examples: what is refused and how it is said, and how a training is shown; no PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cortexdsl.errors import RecordError
from cortexdsl_train.fit.examples import PAIR, SINGLE, Settings, curve, read_examples
from tests.train.fit.kit import pair, pairs, written


def test_parts_are_apart_and_provenance_is_not_learned(tmp_path: Path) -> None:
    found = pairs(tmp_path / "p.jsonl", 3, 2)
    assert (len(found.train), len(found.validation)) == (3, 2)
    assert found.train[0].keys() == {"prompt", "chosen", "rejected"}
    assert pairs(tmp_path / "q.jsonl", 3, 2).digest == found.digest != pairs(tmp_path / "r.jsonl", 3, 1).digest


def test_a_line_break_of_unicode_ends_no_line(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(
        '{"prompt": [{"role": "user", "content": "a\u2028b"}], "part": "train", '
        '"completion": [{"role": "assistant", "content": "c"}]}\n',
        encoding="utf-8",
    )
    assert read_examples(path, SINGLE).train[0]["prompt"][0]["content"] == "a\u2028b"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (pair(1, "test"), r":2: part is 'test'; allowed are train and validation"),
        ({**pair(1), "chosen": []}, r":2: chosen is not a list of one message of the assistant"),
        ({**pair(1), "rejected": [{"role": "user", "content": "a"}]}, r":2: rejected is not a list of one message"),
        ({**pair(1), "prompt": []}, r":2: prompt is not a list of messages"),
        ({"prompt": [], "chosen": []}, r":2: rejected, part is missing"),
        ([], r":2: prompt, chosen, rejected, part is missing"),
        (pair(0, "validation"), r":2: question q0 is learned from and validated on"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, row: Any, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read_examples(written(tmp_path / "p.jsonl", [pair(0), row]), PAIR)


def test_no_json_and_no_file_are_said(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text("{\n")
    with pytest.raises(RecordError, match=r"p\.jsonl:1: this is not JSON"):
        read_examples(tmp_path / "p.jsonl", PAIR)
    with pytest.raises(RecordError, match="cannot be read"):
        read_examples(tmp_path / "nowhere.jsonl", PAIR)
    assert read_examples(written(tmp_path / "empty.jsonl", []), PAIR).train == ()


def test_the_curve_has_a_row_for_each_step_and_each_look() -> None:
    history = [
        {"eval_loss": 1.5, "eval_rewards/margins": 0.0, "eval_rewards/accuracies": 0.25, "epoch": 0.0, "step": 0},
        {"loss": 1.25, "rewards/margins": 0.1, "rewards/accuracies": 0.5, "epoch": 0.5, "step": 1, "grad_norm": 3.0},
        {"eval_loss": 1.2, "epoch": 0.5, "step": 1},
        {"eval_loss": 1.2, "epoch": 0.5, "step": 1},  # it was killed, and goes on from here
        {"loss": 1.0, "mean_token_accuracy": 0.75, "epoch": 1.0, "step": 2},
        {"train_loss": 1.1, "epoch": 1.0, "step": 2},
    ]
    assert curve(history) == [
        ("0", "0", "validation", "1.5", "0", "0.25", ""),
        ("1", "0.5", "train", "1.25", "0.1", "0.5", ""),
        ("1", "0.5", "validation", "1.2", "", "", ""),
        ("2", "1", "train", "1", "", "", "0.75"),
    ]


def test_the_likelihood_of_chosen_replies_is_a_second_term_unless_it_weighs_nothing() -> None:
    assert Settings(nll=0.5).losses() == (["sigmoid", "sft"], [1.0, 0.5])
    assert Settings(nll=0.0).losses() == (["sigmoid"], [1.0])
