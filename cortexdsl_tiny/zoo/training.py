"""Training in PyTorch: a Llama with the names of Hugging Face, the optimiser Muon, stages on one schedule.

Muon makes steps whose singular values are all about one; here it computes in single precision.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from cortexdsl.core import Floats
from cortexdsl_tiny.folder import Config
from cortexdsl_tiny.zoo.encoding import Encoded, batches
from cortexdsl_tiny.zoo.packaging import random_weights

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ROUNDS = 5


class Muon(torch.optim.Optimizer):  # type: ignore[misc]
    """Momentum, made orthogonal, for matrices (K. Jordan et al., 2024).

    Steps are scaled to the size of AdamW's (J. Liu et al. 2025, arXiv 2502.16982, eq. 4), so that both take one rate.
    `torch.optim.Muon` does the same in bfloat16, matrix by matrix, which takes processors without such units longer
    than all the rest of a step; here matrices of one shape go together, in float32.

    Parameters
    ----------
    params : iterable of Tensor
        Matrices.
    lr : float
        The learning rate; a schedule sets it before each step.
    momentum : float
        Share of the last momentum that stays.
    weight_decay : float
        Share of the rate by which weights shrink in a step.
    """

    def __init__(self, params: Iterable[torch.Tensor], *, lr: float, momentum: float, weight_decay: float) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    def step(self, closure: None = None) -> None:
        """Change the weights by their gradients."""
        with torch.no_grad():
            for group in self.param_groups:
                self._step(group)

    def _step(self, group: Mapping[str, Any]) -> None:
        shapes = defaultdict[tuple[int, ...], list[torch.Tensor]](list)
        for weight in group["params"]:
            if weight.grad is not None:
                shapes[tuple(weight.shape)].append(weight)
        for (height, width), weights in shapes.items():
            steps = orthogonal(torch.stack([self._nesterov(weight, group["momentum"]) for weight in weights]))
            scale = 0.2 * math.sqrt(max(height, width))
            for weight, change in zip(weights, steps, strict=True):
                weight.mul_(1 - group["lr"] * group["weight_decay"]).add_(change, alpha=-group["lr"] * scale)

    def _nesterov(self, weight: torch.Tensor, momentum: float) -> torch.Tensor:
        assert weight.grad is not None
        state = self.state[weight]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(weight)
        state["momentum"].lerp_(weight.grad, 1 - momentum)
        return weight.grad.lerp(state["momentum"], momentum)


def orthogonal(matrices: torch.Tensor) -> torch.Tensor:
    """Return matrices with the same singular vectors and singular values between about 0.7 and 1.2.

    Parameters
    ----------
    matrices : float tensor (k, n, m)

    Notes
    -----
    Five rounds of X <- aX + b(XX')X + c(XX')^2 X, a Newton-Schulz iteration of the fifth degree.
    """
    a, b, c = COEFFICIENTS
    is_tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if is_tall else matrices
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if is_tall else x


class Pupil:
    """A model that learns.

    Parameters
    ----------
    config : Config
        With tied embeddings.
    weights : mapping of name to array
        The initial weights.

    Attributes
    ----------
    weights : dict of name to Tensor
    """

    def __init__(self, config: Config, weights: Mapping[str, Floats]) -> None:
        self.config = config
        self.weights = {
            name: torch.tensor(array, dtype=torch.float32, requires_grad=True) for name, array in weights.items()
        }
        steps = torch.arange(0, config.head, 2, dtype=torch.float32) / config.head
        angles = torch.outer(torch.arange(config.window, dtype=torch.float32), 1.0 / config.theta**steps)
        self._cos, self._sin = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)

    @classmethod
    def untaught(cls, config: Config, seed: int) -> Pupil:
        """Return one with random weights."""
        return cls(config, random_weights(config, seed))

    def loss(self, tokens: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """Return the mean loss over the tokens that count.

        Parameters
        ----------
        tokens : int tensor (n, t)
            Padded at the right.
        counts : bool tensor (n, t)
            Which tokens are to be foretold; never the first.
        """
        hidden = self._hidden(tokens[:, :-1])
        wanted = counts[:, 1:]
        logits = hidden[wanted] @ self.weights["model.embed_tokens.weight"].T
        return functional.cross_entropy(logits, tokens[:, 1:][wanted])

    def _hidden(self, tokens: torch.Tensor) -> torch.Tensor:
        c, w = self.config, self.weights
        x = functional.embedding(tokens, w["model.embed_tokens.weight"])
        cos, sin = self._cos[: tokens.shape[1]], self._sin[: tokens.shape[1]]
        for k in range(c.layers):
            at = f"model.layers.{k}."
            h = functional.rms_norm(x, (c.width,), w[f"{at}input_layernorm.weight"], c.epsilon)
            q, keys, values = (
                functional.linear(h, w[f"{at}self_attn.{name}_proj.weight"]).unflatten(-1, (-1, c.head)).transpose(1, 2)
                for name in "qkv"
            )
            q, keys = _turned(q, cos, sin), _turned(keys, cos, sin)
            repeat = c.heads // c.groups
            heard = functional.scaled_dot_product_attention(
                q, keys.repeat_interleave(repeat, 1), values.repeat_interleave(repeat, 1), is_causal=True
            )
            x = x + functional.linear(heard.transpose(1, 2).flatten(2), w[f"{at}self_attn.o_proj.weight"])
            h = functional.rms_norm(x, (c.width,), w[f"{at}post_attention_layernorm.weight"], c.epsilon)
            gate, up = (functional.linear(h, w[f"{at}mlp.{name}_proj.weight"]) for name in ("gate", "up"))
            x = x + functional.linear(functional.silu(gate) * up, w[f"{at}mlp.down_proj.weight"])
        return functional.rms_norm(x, (c.width,), w["model.norm.weight"], c.epsilon)

    def arrays(self) -> dict[str, Floats]:
        """Return the weights as arrays."""
        return {name: tensor.detach().numpy().astype("float64") for name, tensor in self.weights.items()}


def _turned(heads: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    low, high = heads.chunk(2, dim=-1)
    return heads * cos + torch.cat([-high, low], dim=-1) * sin


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
        The seed of the order of lessons.
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

    It needs far fewer tokens than AdamW alone (docs/benchmarks/zoo-making.md).
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
