"""Trainings of a folder with random weights: what they leave, and that a kill or a second run changes nothing."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cortexdsl.errors import InputError, RecordError
from cortexdsl_tiny.chat import Chat
from cortexdsl_tiny.folder import Folder
from cortexdsl_tiny.llama import Cache, Llama
from cortexdsl_train.fit.examples import PAIR, SINGLE, Settings, read_examples
from tests.tiny.made import made
from tests.train.fit.kit import pair, pairs, written

pytestmark = [
    pytest.mark.usefixtures("trl"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # PEFT's and TRL's words to transformers
]

FAST = Settings(rank=3, rate=5e-3, epochs=2, batch=4, seed=3)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("models") / "base", width=32, hidden=48, head=8)


@pytest.fixture(scope="module")
def once(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one training has left behind."""
    place = tmp_path_factory.mktemp("once")
    _fit(base, place)
    return place


def _fit(base: Path, place: Path, settings: Settings = FAST, examples: Any = None, training: str = "t1") -> None:
    from cortexdsl_train.fit.fitting import fit

    found = examples if examples is not None else pairs(place.with_name(f"{place.name}.pairs.jsonl"))
    fit(base, found, settings, place, training=training)


def _weights(place: Path) -> bytes:
    return (place / "model" / "model.safetensors").read_bytes()


def _adapter(place: Path) -> bytes:
    return (place / "adapter" / "adapter_model.safetensors").read_bytes()


def _ours(folder: Folder, tokens: list[int]) -> np.ndarray:
    llama = Llama(folder.config, folder.weights())
    return llama.logits(np.array([tokens]), np.array([0]), Cache(folder.config, 1), 0)[0]


def _theirs(model: Any, tokens: list[int]) -> np.ndarray:
    import torch

    with torch.no_grad():
        found: np.ndarray = model(torch.tensor([tokens])).logits[0, -1].numpy()
    return found


def test_the_merged_model_runs_here_as_transformers_runs_it_and_as_its_base_with_the_adapter(
    base: Path, once: Path
) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    folder = Folder(once / "model")
    tokens = Chat(folder).tokens(pair(7)["prompt"])
    ours = _ours(folder, tokens)
    merged = AutoModelForCausalLM.from_pretrained(once / "model", dtype=torch.float32)
    np.testing.assert_allclose(ours, _theirs(merged, tokens), atol=1e-4)
    plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    before = _theirs(plain, tokens)
    np.testing.assert_allclose(
        ours, _theirs(PeftModel.from_pretrained(plain, once / "adapter").eval(), tokens), atol=1e-4
    )
    assert np.abs(ours - before).max() > 0.05  # it has learned something


def test_training_lowers_the_loss_and_says_so_in_its_files(base: Path, once: Path) -> None:
    curve = list(csv.DictReader((once / "curve.csv").read_text().splitlines()))
    seen = [float(row["loss"]) for row in curve if row["part"] == "validation"]
    assert [row["step"] for row in curve if row["part"] == "train"] == [str(k) for k in range(1, 7)]
    assert seen[-1] < seen[0]
    said = json.loads((once / "progress.json").read_text())
    assert (said["state"], said["step"], said["steps"]) == ("done", 6, 6)
    card = Folder(once / "model").card
    assert card["training"] == "t1"
    assert card["base"] == Folder(base).digest
    assert card["parameters"] == Folder(base).card["parameters"]
    assert card["examples"]["train"] == 12
    assert card["optimiser"]["rate"] == 5e-3
    assert sorted(path.name for path in once.iterdir()) == ["adapter", "curve.csv", "model", "progress.json"]


@dataclass(frozen=True)
class Again:
    """A training with another seed that ended before its merge, and one like `once` in the same folder after it."""

    place: Path
    had_checkpoints: bool
    other_adapter: bytes


@pytest.fixture(scope="module")
def again(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Again:
    from cortexdsl_train.fit import fitting

    place = tmp_path_factory.mktemp("again") / "t"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fitting, "merge", lambda *_: 1 / 0)  # the last step, so that the checkpoints stay
        with pytest.raises(ZeroDivisionError):
            _fit(base, place, replace(FAST, seed=4))
    had_checkpoints = (place / "checkpoints" / "checkpoint-6" / "complete").exists()
    other_adapter = _adapter(place)
    _fit(base, place, examples=pairs(place.with_name("other.jsonl"), validation=2))
    return Again(place, had_checkpoints, other_adapter)


def test_the_same_seed_gives_the_same_weights_another_one_others_and_validation_is_not_learned_from(
    once: Path, again: Again
) -> None:
    assert _weights(again.place) == _weights(once)
    assert _adapter(again.place) == _adapter(once)
    assert again.other_adapter != _adapter(once)


@pytest.mark.parametrize("step", [2, 5])
def test_a_killed_training_goes_on_to_the_same_weights(
    base: Path, once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    from cortexdsl_train.fit import fitting

    class Killed(BaseException):
        pass

    def kill(self: Any, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == step:
            raise Killed

    place = tmp_path / "killed"
    with monkeypatch.context() as patched:
        patched.setattr(fitting.Watcher, "on_step_end", kill, raising=False)
        with pytest.raises(Killed):
            _fit(base, place)
    # A kill may also cut a checkpoint short: the last one is without a part of it, and without the mark that ends it.
    torn = place / "checkpoints" / f"checkpoint-{step - 1}"
    shutil.copytree(torn, torn.with_name(f"checkpoint-{step}"))
    (torn.with_name(f"checkpoint-{step}") / "complete").unlink()
    (torn.with_name(f"checkpoint-{step}") / "optimizer.pt").unlink()
    found = fitting.last_checkpoint(place / "checkpoints")
    assert found == torn
    _fit(base, place)
    assert _weights(place) == _weights(once)
    assert (place / "curve.csv").read_bytes() == (once / "curve.csv").read_bytes()
    assert not (place / "checkpoints").exists()


def test_checkpoints_of_another_training_are_not_gone_on_from(once: Path, again: Again) -> None:
    assert again.had_checkpoints
    assert _weights(again.place) == _weights(once)


def test_single_replies_are_learned_by_heart(base: Path, tmp_path: Path) -> None:
    rows = [
        {"prompt": row["prompt"], "completion": row["chosen"], "part": row["part"], "question": row["question"]}
        for row in (pair(k) for k in range(4))
    ]
    examples = read_examples(written(tmp_path / "sft.jsonl", rows), SINGLE)
    _fit(base, tmp_path / "sft", Settings(loss="sft", rank=16, rate=3e-2, epochs=60, batch=4), examples)
    folder = Folder(tmp_path / "sft" / "model")
    chat = Chat(folder)
    for row in rows:
        tokens = chat.tokens(row["prompt"])
        wanted = chat.tokens([*row["prompt"], *row["completion"]], opens_reply=False)[len(tokens) :]
        assert wanted[-1] in folder.config.ends  # the end is learned, too
        for token in wanted:
            assert int(_ours(folder, tokens).argmax()) == token
            tokens.append(token)


def test_examples_that_do_not_fit_are_left_out_and_counted(base: Path, tmp_path: Path) -> None:
    long = pair(50, prompt=[{"role": "user", "content": "What is 1? " * 100}])
    spelled = pair(51, chosen=[{"role": "assistant", "content": "Answer: <|end|>"}])
    examples = read_examples(written(tmp_path / "p.jsonl", [pair(1), long, spelled, pair(2)]), PAIR)
    _fit(base, tmp_path / "out", examples=examples)
    card = Folder(tmp_path / "out" / "model").card
    assert card["examples"]["train"] == 2
    assert card["examples"]["left_out"] == {"longer than the window": 1, "special token": 1}
    none = read_examples(written(tmp_path / "none.jsonl", [long]), PAIR)
    with pytest.raises(RecordError, match=r"no example to learn from \(left out: .*'longer than the window': 1"):
        _fit(base, tmp_path / "none", examples=none)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model can be loaded"):
        _fit(tmp_path / "nowhere", tmp_path / "out")
