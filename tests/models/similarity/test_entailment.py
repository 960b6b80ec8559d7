"""Similarity as mutual entailment: which pairs are judged, and what becomes of the probabilities."""

from __future__ import annotations

import asyncio
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cortexdsl.core import Floats
from cortexdsl.errors import InputError
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.models.similarity.local_models import (
    Entailment,
    Pair,
    load_judge,
    load_sentence_model,
)


def judged(table: dict[Pair, float], asked: list[Pair] | None = None) -> Entailment:
    """A judge that looks probabilities up."""

    def judge(pairs: list[Pair]) -> Floats:
        (asked if asked is not None else []).extend(pairs)
        return np.array([table[pair] for pair in pairs])

    return Entailment(lambda name: judge)


def test_a_similarity_is_the_mean_of_both_directions() -> None:
    """(0.9 + 0.5) / 2 = 0.7, whichever of the two speaks."""
    found = asyncio.run(judged({("a", "b"): 0.9, ("b", "a"): 0.5})("any", ["a", "b", "a", " "]))
    np.testing.assert_allclose(found, [[1, 0.7, 1, 0], [0.7, 1, 0.7, 0], [1, 0.7, 1, 0], [0, 0, 0, 0]])


def test_each_pair_is_judged_once() -> None:
    asked: list[Pair] = []
    table = {(u, v): 0.5 for u in "abc" for v in "abc"}
    entailment = judged(table, asked)

    async def scene() -> None:
        await asyncio.gather(entailment("any", ["a", "b"]), entailment("any", ["a", "b"]))
        await entailment("any", ["a", "b", "c"])

    asyncio.run(scene())
    assert sorted(asked) == [(u, v) for u in "abc" for v in "abc" if u != v]


def library(monkeypatch: pytest.MonkeyPatch, labels: dict[int, str], scores: Floats) -> None:
    """A module of sentence-transformers' interface."""

    class CrossEncoder:
        def __init__(self, name: str, **_: object) -> None:
            if name != "good":
                raise OSError("not found")
            self.config = types.SimpleNamespace(id2label=labels)

        def predict(self, pairs: list[Pair], *, apply_softmax: bool, **_: object) -> Floats:
            assert apply_softmax == (len(labels) > 1)
            return np.repeat(scores[None], len(pairs), axis=0)

    module = types.ModuleType("sentence_transformers")
    module.CrossEncoder = CrossEncoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


def test_the_class_called_entailment_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    library(monkeypatch, {0: "contradiction", 1: "Entailment", 2: "neutral"}, np.array([0.2, 0.7, 0.1]))
    assert asyncio.run(Embedder()("nli/good", ["a", "b"]))[0, 1] == pytest.approx(0.7)


def test_one_output_is_the_similarity_itself_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    library(monkeypatch, {0: "LABEL_0"}, np.array(1.25))
    assert asyncio.run(Embedder()("nli/good", ["a", "b"]))[0, 1] == 1.0


@pytest.mark.parametrize(("name", "said"), [("bad", "cannot be loaded: .*not found"), ("good", "none of .* positive")])
def test_a_model_that_cannot_judge_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    library(monkeypatch, {0: "negative", 1: "positive"}, np.zeros(2))
    with pytest.raises(InputError, match=said):
        asyncio.run(Embedder()(f"nli/{name}", ["a", "b"]))


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"nli/x needs the extra `embeddings`"):
        asyncio.run(Embedder()("nli/x", ["a", "b"]))


def test_a_real_cross_encoder(tmp_path: Path) -> None:
    """A BERT of two layers with random weights, made here: its three probabilities are what softmax gives."""
    pytest.importorskip("sentence_transformers", reason="the extra `embeddings` is not installed")
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    torch.manual_seed(0)
    sizes = {"vocab_size": len(words), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
    config = transformers.BertConfig(**sizes, intermediate_size=32, id2label=labels)
    model = transformers.BertForSequenceClassification(config).eval()
    model.save_pretrained(tmp_path)
    tokenizer = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    with torch.no_grad():
        logits = model(**tokenizer("a b c", "a d", return_tensors="pt")).logits
    expected = float(torch.softmax(logits, dim=1)[0, 1])
    assert load_judge(str(tmp_path))([("a b c", "a d")])[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", ["SentenceTransformer", "CrossEncoder"])
def test_a_copy_on_this_machine_needs_no_network(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    """Without a network the library tries for a minute before it looks for a copy."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def load(name: str, **settings: Any) -> Any:
        asked.append((name, settings))
        if name == "nowhere" or (name == "at the hub" and settings):
            raise OSError("not in the cache")
        return "a model"

    module = types.ModuleType("sentence_transformers")
    setattr(module, kind, load)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    assert load_sentence_model("nli/x", kind, "here", "model") == "a model"
    assert asked == [("here", {"local_files_only": True})]
    assert load_sentence_model("nli/x", kind, "at the hub", "model") == "a model"
    with pytest.raises(InputError, match="the model cannot be loaded: not in the cache"):
        load_sentence_model("nli/x", kind, "nowhere", "model")
