"""The losses of DPO and GRPO and the steps that training takes, beside the same written out in numpy (by_hand)."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cortexdsl_tiny.chat import Chat
from cortexdsl_tiny.folder import Folder
from cortexdsl_train.fit.examples import DRAWN, PAIR, GroupSampling, Settings, read_examples
from tests.tiny.made import made
from tests.train.fit.by_hand import (
    AdamW,
    Arrays,
    Pair,
    Sizes,
    adapted,
    advantages,
    dpo,
    grpo,
    log_probs,
    replies_of,
    slope,
)
from tests.train.fit.kit import pair, written

pytestmark = [
    pytest.mark.usefixtures("trl"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # PEFT's and TRL's words to transformers
]

RATE, BETA, NLL, RANK = 0.02, 0.3, 0.7, 2
ALPHA = RANK  # the adapter counts once


def _adapter(path: Path) -> Arrays:
    """What PEFT has written, by the names of the weights."""
    from safetensors.numpy import load_file

    found = {}
    for name, array in load_file(path / "adapter_model.safetensors").items():
        weight, _, which = name.removeprefix("base_model.model.").removesuffix(".weight").rpartition(".lora_")
        found[f"{weight}.weight.{which}"] = array.astype(np.float64)
    return found


def _first(base: Path, settings: Settings, folder: Path) -> Arrays:
    """PEFT's draw of the adapter's first weights: B is 0, and A what the seed says."""
    import torch
    from peft import get_peft_model
    from transformers import AutoModelForCausalLM

    from cortexdsl_train.fit.fitting import adapter_of

    torch.manual_seed(settings.seed)
    plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    get_peft_model(plain, adapter_of(settings)).save_pretrained(folder)
    return _adapter(folder)


def _sizes(folder: Folder) -> Sizes:
    c = folder.config
    return Sizes(c.layers, c.heads, c.groups, c.head, c.theta, c.epsilon)


def test_two_steps_of_dpo_are_those_worked_out_in_numpy(tmp_path: Path) -> None:
    from cortexdsl_train.fit.fitting import fit

    base = made(tmp_path / "base", width=8, hidden=12, layers=1, head=2)
    rows = [pair(3), pair(12, chosen=[{"role": "assistant", "content": "16"}])]
    settings = Settings(rank=RANK, rate=RATE, beta=BETA, nll=NLL, epochs=2, batch=2, seed=5)
    fit(base, read_examples(written(tmp_path / "pairs.jsonl", rows), PAIR), settings, tmp_path / "out", training="x")

    folder, chat = Folder(base), Chat(Folder(base))
    sizes = _sizes(folder)
    said = []
    for row in rows:
        prompt = chat.tokens(row["prompt"])
        replies = [chat.tokens([*row["prompt"], *row[name]], opens_reply=False)[len(prompt) :] for name in PAIR]
        said.append(Pair(prompt, *replies))
    assert len({len(each.chosen) for each in said}) == 2  # of two lengths: one is padded

    adapter, weights = _first(base, settings, tmp_path / "first"), folder.weights()
    assert len(adapter) == 14  # A and B of seven matrices
    assert not any(array.any() for name, array in adapter.items() if name.endswith(".B"))

    before = replies_of(weights, sizes, said)

    def worked_out(at: Arrays) -> tuple[float, float]:
        return dpo(replies_of(adapted(weights, at, ALPHA / RANK), sizes, said), before, BETA, NLL)

    optimiser, losses, margins = AdamW(adapter), [], []
    for rate in (RATE, RATE / 2):  # it falls linearly to 0
        value, margin = worked_out(adapter)
        losses.append(value)
        margins.append(margin)
        adapter = optimiser.step(adapter, slope(lambda at: worked_out(at)[0], adapter), rate)

    curve = list(csv.DictReader((tmp_path / "out" / "curve.csv").read_text().splitlines()))
    np.testing.assert_allclose([float(row["loss"]) for row in curve], losses, rtol=1e-4)
    np.testing.assert_allclose([float(row["margin"]) for row in curve], margins, atol=1e-4)
    assert margins[0] == 0.0
    assert margins[1] > 0.01
    theirs = _adapter(tmp_path / "out" / "adapter")
    assert theirs.keys() == adapter.keys()
    for name, array in adapter.items():
        np.testing.assert_allclose(theirs[name], array, atol=RATE * 1e-2, err_msg=name)


def test_two_steps_of_grpo_are_those_worked_out_in_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies are TRL's draws; what they are worth, the loss and the steps are worked out from them."""
    from cortexdsl_train.fit import fitting

    base = made(tmp_path / "base", width=8, hidden=12, layers=1, head=2)
    rows = [
        {
            "prompt": [{"role": "user", "content": f"What is 1+{k}?"}],
            "label": str(k),
            "question": str(k),
            "part": "train",
        }
        for k in (2, 3)
    ]
    drawn: list[tuple[str, list[int], float]] = []
    plain = fitting._rewarding

    def rewarding(sampling: GroupSampling) -> Any:
        def reward(completion_ids: Any, question: Any, **columns: Any) -> list[float]:
            worth = plain(sampling)(question=question, **columns)
            drawn.extend(zip(question, completion_ids, worth, strict=True))
            return worth

        return reward

    monkeypatch.setattr(fitting, "_rewarding", rewarding)
    settings = Settings(loss="grpo", rank=RANK, rate=RATE, beta=BETA, epochs=2, batch=2, seed=5)
    sampling = GroupSampling(3, 1.0, 6, lambda question, label, text: len(text) % 5 / 4)
    examples = read_examples(written(tmp_path / "prompts.jsonl", rows), DRAWN)
    fitting.fit(base, examples, settings, tmp_path / "out", training="x", sampling=sampling)
    assert len(drawn) == 2 * 2 * 3  # steps, prompts, replies

    folder, chat = Folder(base), Chat(Folder(base))
    sizes, weights = _sizes(folder), folder.weights()
    prompts = {row["question"]: chat.tokens(row["prompt"]) for row in rows}

    def spoken(at: Arrays, step: int) -> list[np.ndarray]:
        full, of_step = adapted(weights, at, ALPHA / RANK), drawn[6 * step : 6 * step + 6]
        asked = [(prompts[question], list(said)) for question, said, _ in of_step]
        return [log_probs(full, sizes, [*prompt, *said])[len(prompt) - 1 :] for prompt, said in asked]

    def worked_out(at: Arrays, before: Arrays, step: int) -> float:
        untrained = {name: np.zeros_like(array) for name, array in at.items()}
        return grpo(spoken(at, step), spoken(before, step), spoken(untrained, step), advantages(worth[step]), BETA)

    worth = np.array([each[2] for each in drawn]).reshape(2, 2, 3)
    assert (worth.std(axis=2) > 0).any(axis=1).all()
    adapter, losses = _first(base, settings, tmp_path / "first"), []
    optimiser = AdamW(adapter)
    for step, rate in enumerate((RATE, RATE / 2)):  # it falls linearly to 0
        loss = partial(worked_out, before=adapter, step=step)
        losses.append(loss(adapter))
        adapter = optimiser.step(adapter, slope(loss, adapter), rate)

    found = list(csv.DictReader((tmp_path / "out" / "curve.csv").read_text().splitlines()))
    np.testing.assert_allclose([float(row["loss"]) for row in found], losses, atol=1e-4)
    np.testing.assert_allclose([float(row["accuracy"]) for row in found], worth.mean(axis=(1, 2)), rtol=1e-5)
    theirs = _adapter(tmp_path / "out" / "adapter")
    for name, array in adapter.items():
        np.testing.assert_allclose(theirs[name], array, atol=RATE * 1e-2, err_msg=name)
