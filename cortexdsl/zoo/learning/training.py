"""Teaching a model: stages of lessons one after the other, one schedule over all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from cortexdsl.zoo.learning.batches import Encoded, batches
from cortexdsl.zoo.learning.muon import Muon
from cortexdsl.zoo.learning.pupil import Pupil

WARM_UP = 0.02  # of all tokens, over which the rate rises
LAST = 0.05  # of the rate that is left at the end
BETAS = (0.9, 0.95)
MOMENTUM = 0.95
DECAY = 0.05
CLIP = 1.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Lessons, and how many tokens of them are read.

    Attributes
    ----------
    parts : sequence of (lessons, share)
        Each batch has some of every part: one alone would undo what another has just taught.
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
        The highest learning rate; it falls along a cosine.
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
    optimizers = _optimizers(pupil)
    total, read, told = sum(stage.tokens for stage in stages), 0, 0.0
    for number, stage in enumerate(stages, 1):
        shares = np.array([share for _, share in stage.parts]) / sum(share for _, share in stage.parts)
        sources = [
            batches(lessons, max(1, round(batch * share)), chance)
            for (lessons, _), share in zip(stage.parts, shares, strict=True)
        ]
        end = read + stage.tokens
        while read < end:
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = rate * schedule(read / total)
                optimizer.zero_grad(set_to_none=True)
            drawn = [next(source) for source in sources]
            learned, loss = sum(int(part.counts.sum()) for part in drawn), 0.0
            for part in drawn:
                share = int(part.counts.sum()) / learned
                own = pupil.loss(torch.from_numpy(part.tokens), torch.from_numpy(part.counts)) * share
                own.backward()
                loss += own.item()
            torch.nn.utils.clip_grad_norm_(pupil.weights.values(), CLIP)
            for optimizer in optimizers:
                optimizer.step()
            read += sum(part.read for part in drawn)
            if time.monotonic() - told > 20:
                told = time.monotonic()
                cpu = time.process_time()
                tell(f"stage {number} read {read:,} of {total:,} loss {loss:.4f} cpu {cpu:.0f} s")
    return read


def _optimizers(pupil: Pupil) -> tuple[torch.optim.Optimizer, torch.optim.Optimizer]:
    """Return Muon for the matrices within the layers, and AdamW for embeddings and norms.

    It needs far fewer tokens than AdamW alone (docs/zoo.md).
    """
    inner, embeddings, vectors = list[torch.Tensor](), list[torch.Tensor](), list[torch.Tensor]()
    for name, tensor in pupil.weights.items():
        (vectors if tensor.ndim == 1 else embeddings if "embed" in name else inner).append(tensor)
    groups = [{"params": embeddings, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    return (
        Muon(inner, lr=0.0, momentum=MOMENTUM, weight_decay=DECAY),
        torch.optim.AdamW(groups, betas=BETAS, fused=True),
    )


def schedule(done: float) -> float:
    """Return the share of the highest rate: up over the warm-up, then down along half a cosine."""
    if done < WARM_UP:
        return done / WARM_UP + 1e-3
    return LAST + (1 - LAST) * 0.5 * (1 + math.cos(math.pi * min(1.0, (done - WARM_UP) / (1 - WARM_UP))))
