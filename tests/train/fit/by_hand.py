"""A Llama with an adapter, the losses of DPO and GRPO and AdamW in numpy, written from their formulas.

Nothing of the package is used.

Su et al. 2021 (rotary positions); Hu et al. 2022 (adapters), section 4.1; Rafailov et al. 2023 (DPO), equation 7;
Pang et al. 2024, equation 2 (the negative log-likelihood beside it); Shao et al. 2024 (GRPO), equations 3 and 4;
Loshchilov and Hutter 2019 (AdamW), algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Sizes:
    layers: int
    heads: int
    groups: int
    head: int
    theta: float
    epsilon: float


def _norm(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + epsilon) * weight


def _turn(x: np.ndarray, sizes: Sizes) -> np.ndarray:
    """Turn (t, heads, head) by the rotary code."""
    half = sizes.head // 2
    angles = np.arange(len(x))[:, None] * sizes.theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    low, high = x[..., :half], x[..., half:]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)


def log_probs(weights: Arrays, sizes: Sizes, tokens: Sequence[int]) -> np.ndarray:
    """Return the log-probability of each token but the first, given those before it."""
    x = weights["model.embed_tokens.weight"][list(tokens[:-1])]
    t = len(x)
    for k in range(sizes.layers):
        at = f"model.layers.{k}."
        h = _norm(x, weights[f"{at}input_layernorm.weight"], sizes.epsilon)
        q, keys, values = (
            (h @ weights[f"{at}self_attn.{name}_proj.weight"].T).reshape(t, -1, sizes.head) for name in "qkv"
        )
        q, keys = _turn(q, sizes), _turn(keys, sizes)
        heard = np.empty_like(q)
        for head in range(sizes.heads):
            group = head * sizes.groups // sizes.heads
            scores = q[:, head] @ keys[:, group].T / np.sqrt(sizes.head)
            scores[np.triu_indices(t, 1)] = -np.inf
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            heard[:, head] = shares / shares.sum(axis=1, keepdims=True) @ values[:, group]
        x = x + heard.reshape(t, -1) @ weights[f"{at}self_attn.o_proj.weight"].T
        h = _norm(x, weights[f"{at}post_attention_layernorm.weight"], sizes.epsilon)
        gate, up = (h @ weights[f"{at}mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        x = x + (gate / (1 + np.exp(-gate)) * up) @ weights[f"{at}mlp.down_proj.weight"].T
    logits = _norm(x, weights["model.norm.weight"], sizes.epsilon) @ weights["model.embed_tokens.weight"].T
    logits -= logits.max(axis=1, keepdims=True)
    return (logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))[np.arange(t), list(tokens[1:])]


def adapted(weights: Arrays, adapter: Arrays, scale: float) -> Arrays:
    """Add B A, times a scale, to each weight that an adapter (`NAME.A`, `NAME.B`) is for."""
    names = {name.removesuffix(".A") for name in adapter if name.endswith(".A")}
    return {**weights, **{n: weights[n] + scale * adapter[f"{n}.B"] @ adapter[f"{n}.A"] for n in names}}


@dataclass(frozen=True)
class Pair:
    prompt: list[int]
    chosen: list[int]
    rejected: list[int]


Replies = list[dict[str, np.ndarray]]


def replies_of(weights: Arrays, sizes: Sizes, pairs: Sequence[Pair]) -> Replies:
    """Return the log-probabilities of the tokens of both replies of each pair."""
    return [
        {
            name: log_probs(weights, sizes, pair.prompt + reply)[len(pair.prompt) - 1 :]
            for name, reply in (("chosen", pair.chosen), ("rejected", pair.rejected))
        }
        for pair in pairs
    ]


def dpo(now: Replies, before: Replies, beta: float, nll: float) -> tuple[float, float]:
    """Return the loss over a batch, and the mean margin of rewards."""
    margins = []
    for new, old in zip(now, before, strict=True):
        ratio = {name: new[name].sum() - old[name].sum() for name in ("chosen", "rejected")}
        margins.append(beta * (ratio["chosen"] - ratio["rejected"]))
    preferred = np.mean(np.log1p(np.exp(-np.array(margins))))  # -log sigmoid
    chosen = np.concatenate([new["chosen"] for new in now])
    return float(preferred - nll * chosen.mean()), float(np.mean(margins))


def advantages(rewards: np.ndarray) -> np.ndarray:
    """Return (groups, replies) as deviations from the mean of the group, in standard deviations (n - 1)."""
    return (rewards - rewards.mean(axis=1, keepdims=True)) / (rewards.std(axis=1, ddof=1, keepdims=True) + 1e-4)


def grpo(
    now: Sequence[np.ndarray], drawn: Sequence[np.ndarray], first: Sequence[np.ndarray], worth: np.ndarray, beta: float
) -> float:
    """Return the loss of replies: log-probabilities of their tokens now, when drawn, and before training."""
    losses = []
    for new, old, base, advantage in zip(now, drawn, first, worth.ravel(), strict=True):
        divergence = np.exp(base - new) - (base - new) - 1
        losses.append((-np.exp(new - old) * advantage + beta * divergence).mean())
    return float(np.mean(losses))


def slope(f: Callable[[Arrays], float], at: Arrays, step: float = 1e-5) -> Arrays:
    """Return the gradient by central differences."""
    found = {}
    for name, array in at.items():
        found[name] = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = array.copy()
                moved[place] += sign * step
                ends.append(f({**at, name: moved}))
            found[name][place] = (ends[0] - ends[1]) / (2 * step)
    return found


class AdamW:
    """Without weight decay; gradients longer than 1 are shortened to 1 first."""

    def __init__(self, at: Mapping[str, np.ndarray]) -> None:
        self.first = {name: np.zeros_like(array) for name, array in at.items()}
        self.second = {name: np.zeros_like(array) for name, array in at.items()}
        self.steps = 0

    def step(self, at: Arrays, gradient: Arrays, rate: float) -> Arrays:
        self.steps += 1
        length = np.sqrt(sum((array**2).sum() for array in gradient.values()))
        moved = {}
        for name, array in at.items():
            g = gradient[name] * min(1.0, 1.0 / (length + 1e-6))
            self.first[name] = 0.9 * self.first[name] + 0.1 * g
            self.second[name] = 0.999 * self.second[name] + 0.001 * g**2
            mean = self.first[name] / (1 - 0.9**self.steps)
            spread = self.second[name] / (1 - 0.999**self.steps)
            moved[name] = array - rate * mean / (np.sqrt(spread) + 1e-8)
        return moved
