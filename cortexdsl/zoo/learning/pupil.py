"""A Llama in PyTorch, for training alone: parameters by Hugging Face's names, and the loss over replies."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.nn import functional

from cortexdsl.models.tiny.config import Config
from cortexdsl.terms import Floats
from cortexdsl.zoo.learning.folders import random_weights


class Pupil:
    """A model that learns.

    Parameters
    ----------
    config : Config
        With tied embeddings.
    weights : mapping of name to array
        What it begins with.

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
