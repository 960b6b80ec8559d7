"""Small folders with random weights, made where they are needed."""

from __future__ import annotations

from pathlib import Path

from cortexdsl_tiny.folder import Config
from cortexdsl_tiny.zoo.encoding import TEMPLATE, train_pieces
from cortexdsl_tiny.zoo.packaging import random_weights, write_folder

TEXTS = [
    "Question: What is the result of 12+7*25+3-18*4?\nAnswer: 118",
    "Solve this on your own. Think step by step and explain how you get to your answer.",
    "Question: What is the result of 1+2*3+4-5*6?\nAnswer: -19",
] * 20  # fmt: skip


def made(path: Path, *, window: int = 192, seed: int = 1, spread: float = 12.0, **sizes: int) -> Path:
    """Write a folder; weights are `spread` times as large as before training, so that replies differ."""
    tokenizer = train_pieces(TEXTS, 400, 5)
    config = Config(
        vocabulary=tokenizer.get_vocab_size(), width=sizes.get("width", 48), hidden=sizes.get("hidden", 96),
        layers=sizes.get("layers", 2), heads=4, groups=2, head=sizes.get("head", 12), window=window, theta=10_000.0,
        epsilon=1e-6, is_tied=True, ends=(0,),
    )  # fmt: skip
    weights = random_weights(config, seed)
    weights = {name: array * (1.0 if array.ndim == 1 else spread) for name, array in weights.items()}
    write_folder(path, config, weights, tokenizer, TEMPLATE, {"parameters": config.parameters, "tokens": 1000})
    return path
