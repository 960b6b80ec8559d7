"""Teaching a model: stages of lessons one after the other, one schedule over all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from cortexdsl.zoo.batches import Encoded, batches
from cortexdsl.zoo.pupil import Pupil

WARM_UP = 0.02  # of all tokens, over which the rate rises
LAST = 0.05  # of the rate that is left at the end
BETAS = (0.9, 0.95)
DECAY = 0.05
CLIP = 1.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Lessons, and how many tokens of them are read.

    Attributes
    ----------
    parts : sequence of (lessons, share)
        Each batch is of one part, drawn by the shares.
    tokens : int
    """

    parts: Sequence[tuple[Sequence[Encoded], float]]
    tokens: int


def train(
    pupil: Pupil,
    stages: Sequence[Stage],
    *,
    rate: float,
    batch: int,
    seed: int,
    tell: Callable[[str], None] = print,
) -> int:
    """Teach a model.

    Parameters
    ----------
    pupil : Pupil
        Changed.
    stages : sequence of Stage
    rate : float
        The highest learning rate of AdamW; it falls along a cosine.
    batch : int
        Tokens of a batch.
    seed : int
        Of the order of lessons.
    tell : callable
        Hears how far it is, now and then.

    Returns
    -------
    int
        Tokens read, prompts included, padding not.
    """
    chance = np.random.default_rng(seed)
    matrices = [tensor for tensor in pupil.weights.values() if tensor.ndim > 1]
    vectors = [tensor for tensor in pupil.weights.values() if tensor.ndim == 1]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=BETAS, fused=True)
    total, read, told = sum(stage.tokens for stage in stages), 0, 0.0
    for number, stage in enumerate(stages, 1):
        sources = [batches(lessons, batch, chance) for lessons, _ in stage.parts]
        shares = np.array([share for _, share in stage.parts])
        end = read + stage.tokens
        while read < end:
            drawn = next(sources[chance.choice(len(sources), p=shares / shares.sum())])
            for group in optimizer.param_groups:
                group["lr"] = rate * schedule(read / total)
            loss = pupil.loss(torch.from_numpy(drawn.tokens), torch.from_numpy(drawn.counts))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(pupil.weights.values(), CLIP)
            optimizer.step()
            read += drawn.read
            if time.monotonic() - told > 20:
                told = time.monotonic()
                cpu = time.process_time()
                tell(f"stage {number} read {read:,} of {total:,} loss {loss.item():.4f} cpu {cpu:.0f} s")
    return read


def schedule(done: float) -> float:
    """Return the share of the highest rate: up over the warm-up, then down along half a cosine."""
    if done < WARM_UP:
        return done / WARM_UP + 1e-3
    return LAST + (1 - LAST) * 0.5 * (1 + math.cos(math.pi * min(1.0, (done - WARM_UP) / (1 - WARM_UP))))
