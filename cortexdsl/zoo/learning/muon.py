"""Muon in single precision: steps whose singular values are all about one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import torch

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
        The rate; set before each step by whoever has a schedule.
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
