"""Muon: orthogonal steps, the same as those of PyTorch's own but for its bfloat16."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize("shape", [(3, 8, 20), (2, 20, 8), (1, 6, 6)])
def test_singular_values_come_near_to_one_and_vectors_stay(shape: tuple[int, int, int], torch: Any) -> None:
    from cortexdsl_tiny.zoo.training import orthogonal

    torch.manual_seed(1)
    given = torch.randn(shape)
    found = orthogonal(given)
    values = torch.linalg.svdvals(found)
    assert 0.6 < float(values.min()) <= float(values.max()) < 1.3
    u, _, v = torch.linalg.svd(given, full_matrices=False)
    turned = u.mT @ found @ v.mT
    assert torch.allclose(turned, torch.diag_embed(torch.diagonal(turned, dim1=-2, dim2=-1)), atol=1e-3)


def test_steps_are_those_of_pytorch(torch: Any) -> None:
    from cortexdsl_tiny.zoo.training import Muon

    torch.manual_seed(2)
    begun = [torch.randn(12, 30), torch.randn(12, 30), torch.randn(40, 12)]
    mine, theirs = ([weight.clone().requires_grad_() for weight in begun] for _ in range(2))
    ours = Muon(mine, lr=0.02, momentum=0.9, weight_decay=0.1)
    reference = torch.optim.Muon(theirs, lr=0.02, momentum=0.9, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for _ in range(4):
        for one, other in zip(mine, theirs, strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        ours.step()
        reference.step()
    for one, other, first in zip(mine, theirs, begun, strict=True):
        changed = float((other - first).detach().norm())
        assert float((one - other).detach().norm()) < 0.05 * changed  # bfloat16 has eight bits
        assert changed > 0.1
