"""How fast small models run in the process: tokens a second of one core, by size and by calls in flight.

    OPENBLAS_NUM_THREADS=1 python benchmarks/models/tiny.py [--reply 64] [--prompt 128]

Weights are random, which costs what trained ones cost. Seconds are processor time, so that other work on the machine
counts little.
"""

from __future__ import annotations

import argparse
import random
import time

import numpy as np

from cortexdsl_tiny.folder import Config
from cortexdsl_tiny.llama import Cache, Llama
from cortexdsl_tiny.running import Batcher
from cortexdsl_tiny.sampling import Sampling
from cortexdsl_tiny.zoo.packaging import random_weights

SIZES = {"0.1 M": (48, 2), "0.4 M": (96, 3), "1 M": (144, 4), "2 M": (192, 4), "4 M": (256, 5)}
BATCHES = (1, 4, 16, 64)


def config(width: int, layers: int, window: int = 1024) -> Config:
    """A Llama of 1,000 pieces with heads of about 24 to 32 numbers."""
    heads = max(2, width // 32)
    head = width // heads // 2 * 2
    return Config(1000, width, 8 * width // 3, layers, heads, max(1, heads // 2), head, window, 1e4, 1e-6, True, (0,))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reply", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=128)
    asked = parser.parse_args()
    print("| size | parameters | prompt tokens/s | " + " | ".join(f"reply tokens/s, {n} calls" for n in BATCHES) + " |")
    print("|---" * (3 + len(BATCHES)) + "|")
    for name, (width, layers) in SIZES.items():
        model = Llama(config(width, layers), random_weights(config(width, layers), 1))
        speeds = [f"{replies(model, batch, asked.prompt, asked.reply):,.0f}" for batch in BATCHES]
        print(
            f"| {name} | {model.config.parameters:,} | {prompts(model, asked.prompt):,.0f} | {' | '.join(speeds)} |",
            flush=True,
        )


def prompts(model: Llama, length: int) -> float:
    """Prompt tokens a second, each prompt read at once."""
    tokens, cache = np.random.default_rng(1).integers(1, 1000, (1, length)), Cache(model.config, 1)
    model.logits(tokens, np.array([0]), cache, 0)
    begun, n = time.process_time(), 0
    while time.process_time() - begun < 0.5:
        model.logits(tokens, np.array([0]), cache, 0)
        n += length
    return n / (time.process_time() - begun)


def replies(model: Llama, batch: int, prompt: int, reply: int) -> float:
    """Reply tokens a second with so many calls in flight, their prompts' reading included in none."""
    chance = random.Random(1)
    cache = Cache(model.config, batch)
    tokens = np.array([[chance.randrange(1, 1000) for _ in range(prompt)] for _ in range(batch)])
    for slot in range(batch):
        model.logits(tokens[slot : slot + 1], np.array([0]), cache, slot)
    begun = time.process_time()
    for k in range(reply):
        model.logits(tokens[:, k : k + 1], np.full(batch, prompt + k), cache, 0)
    return batch * reply / (time.process_time() - begun)


def whole(model: Llama, calls: int, prompt: int, reply: int) -> float:
    """Calls a second through the batcher, prompts and draws included."""
    chance = random.Random(1)
    batcher = Batcher(model)
    begun = time.process_time()
    said = [
        batcher.ask([chance.randrange(1, 1000) for _ in range(prompt)], Sampling(max_tokens=reply), k)
        for k in range(calls)
    ]
    for each in said:
        each.result()
    batcher.close()
    return calls / (time.process_time() - begun)


if __name__ == "__main__":
    main()
