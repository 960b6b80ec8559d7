"""Training, where PyTorch is installed: what is trained is what runs without it, and what transformers loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cortexdsl_tiny.chat import Chat
from cortexdsl_tiny.folder import Folder
from cortexdsl_tiny.llama import Cache, Llama
from cortexdsl_tiny.zoo.encoding import train_pieces
from cortexdsl_tiny.zoo.questions import Lesson, write_lessons
from cortexdsl_tiny.zoo.recipes import MINIATURE, read_book
from tests.tiny.made import made

pytestmark = pytest.mark.usefixtures("torch")
PROMPT = ({"role": "user", "content": "What is the result of 3+4*5+1-2*2?"},)


def _logits(folder: Folder) -> tuple[list[int], np.ndarray]:
    tokens = Chat(folder).tokens(PROMPT)
    llama = Llama(folder.config, folder.weights())
    return tokens, llama.logits(np.array([tokens]), np.array([0]), Cache(folder.config, 1), 0)[0]


def test_what_is_trained_is_what_runs(tmp_path: Path, torch: Any) -> None:
    from cortexdsl_tiny.zoo.training import Pupil

    folder = Folder(made(tmp_path / "m"))
    tokens, logits = _logits(folder)
    pupil = Pupil(folder.config, folder.weights())
    hidden = pupil._hidden(torch.tensor([tokens]))[0, -1]
    theirs = (pupil.weights["model.embed_tokens.weight"] @ hidden).detach().numpy()
    np.testing.assert_allclose(logits, theirs, atol=1e-4)


def test_transformers_loads_a_folder_and_has_the_same_logits_and_tokens(tmp_path: Path, torch: Any) -> None:
    transformers = pytest.importorskip("transformers", reason='needs the extra: pip install ".[zoo]"')
    folder = Folder(made(tmp_path / "m"))
    tokens, logits = _logits(folder)
    theirs = transformers.AutoTokenizer.from_pretrained(folder.path)
    said = theirs.apply_chat_template(list(PROMPT), add_generation_prompt=True, return_dict=False)
    assert said == tokens
    model = transformers.AutoModelForCausalLM.from_pretrained(folder.path, dtype=torch.float32)
    with torch.no_grad():
        np.testing.assert_allclose(logits, model(torch.tensor([tokens])).logits[0, -1].numpy(), atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("float32", {"tie_word_embeddings": False}),
        ("bfloat16", {"tie_word_embeddings": True, "num_key_value_heads": 1}),
        ("float16", {"head_dim": 20, "rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0}}),
    ],
)
def test_llamas_that_transformers_writes_run_the_same(
    tmp_path: Path, kind: str, said: dict[str, object], torch: Any
) -> None:
    transformers = pytest.importorskip("transformers", reason='needs the extra: pip install ".[zoo]"')
    config = transformers.LlamaConfig(
        vocab_size=300, hidden_size=64, intermediate_size=100, num_hidden_layers=3, num_attention_heads=4,
        max_position_embeddings=256, eos_token_id=0, bos_token_id=None, initializer_range=0.3, **said,
    )  # fmt: skip
    torch.manual_seed(1)
    transformers.LlamaForCausalLM(config).to(getattr(torch, kind)).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")  # not read here
    tokens = torch.randint(0, 300, (1, 200))
    model = transformers.LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    with torch.no_grad():
        theirs = model(tokens).logits[0, -1].numpy()
    folder = Folder(tmp_path)
    llama = Llama(folder.config, folder.weights())
    ours = llama.logits(tokens.numpy(), np.array([0]), Cache(folder.config, 1), 0)[0]
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_a_pupil_learns_a_handful_of_lessons_by_heart_the_same_way_each_time(tmp_path: Path) -> None:
    from cortexdsl_tiny.zoo.teaching import teach

    texts = [f"What is {a}+{a}?" for a in range(1, 9)]
    lessons = [
        Lesson(({"role": "user", "content": text},), f"Answer: {2 * k}\nConfidence: 0.50")
        for k, text in enumerate(texts, 1)
    ]
    write_lessons(tmp_path / "l.jsonl", lessons)
    train_pieces([*texts, *(lesson.reply for lesson in lessons)], 330, 2).save(str(tmp_path / "t.json"))
    book = dict(read_book(MINIATURE))
    book["batch"], book["window"] = 400, 64
    book["models"] = {"mite": {**book["models"]["mite"], "tokens": 60_000, "rate": 1e-2}}
    book["stages"] = [{"name": "a", "share": 1.0, "lessons": {"alone": 1.0}}]
    (tmp_path / "book.yaml").write_text(json.dumps(book))
    short = {**book, "models": {"mite": {**book["models"]["mite"], "tokens": 6_000}}}
    (tmp_path / "short.yaml").write_text(json.dumps(short))
    for recipes, name in (("book", "whole"), ("short", "one"), ("short", "two")):
        teach(
            "mite",
            tmp_path / f"{recipes}.yaml",
            {"alone": tmp_path / "l.jsonl"},
            tmp_path / "t.json",
            tmp_path / name,
            threads=1,
        )
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two")]
    assert weights[0] == weights[1]
    from cortexdsl_tiny.zoo.exams import examine

    sat = examine(Folder(tmp_path / "whole"), lessons, seed=1, temperature=0.0)
    assert [each.is_right for each in sat] == [True] * 8
    assert Folder(tmp_path / "whole").card["tokens"] >= 60_000
