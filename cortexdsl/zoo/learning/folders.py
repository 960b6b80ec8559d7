"""Writing a model as a folder that whatever reads Hugging Face's format can load, and that fits into a package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from cortexdsl.models.tiny.config import Config
from cortexdsl.models.tiny.folder import CARD, CONFIG, GENERATION, TEMPLATE, TOKENIZER, TOKENIZER_CONFIG, WEIGHTS
from cortexdsl.terms import Floats
from cortexdsl.zoo.learning.pieces import END


def config_text(config: Config) -> dict[str, Any]:
    """Return `config.json` of a Llama."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": config.vocabulary,
        "hidden_size": config.width,
        "intermediate_size": config.hidden,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.groups,
        "head_dim": config.head,
        "hidden_act": "silu",
        "max_position_embeddings": config.window,
        "rms_norm_eps": config.epsilon,
        "rope_theta": config.theta,
        "rope_scaling": None,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": config.is_tied,
        "bos_token_id": None,
        "eos_token_id": config.ends[0],
        "pad_token_id": config.ends[0],
        "torch_dtype": "float16",
    }


def write_folder(
    path: Path,
    config: Config,
    weights: Mapping[str, Floats],
    tokenizer: Tokenizer,
    template: str,
    card: Mapping[str, Any],
) -> None:
    """Write a model: weights in half precision, tokenizer, chat template, and the card that says how it was made.

    Parameters
    ----------
    path : Path
        Of the folder; made, and its files replaced, where they are there.
    card : mapping
        At least `parameters` and `tokens`.
    """
    path.mkdir(parents=True, exist_ok=True)
    halves = {name: np.ascontiguousarray(array, dtype=np.float16) for name, array in sorted(weights.items())}
    save_file(halves, path / WEIGHTS, metadata={"format": "pt"})
    tokenizer.save(str(path / TOKENIZER), pretty=False)
    (path / TEMPLATE).write_text(template, encoding="utf-8")
    ends = {"eos_token_id": config.ends[0], "pad_token_id": config.ends[0]}
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "pad_token": END,
        "model_max_length": config.window,
        "clean_up_tokenization_spaces": False,
    }
    for name, said in (
        (CONFIG, config_text(config)),
        (GENERATION, ends),
        (TOKENIZER_CONFIG, described),
        (CARD, dict(card)),
    ):
        (path / name).write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def weight_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the weights of a Llama by the names that Hugging Face gives them, with their shapes."""
    c = config
    queries, keys = c.heads * c.head, c.groups * c.head
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (c.vocabulary, c.width)}
    for k in range(c.layers):
        at = f"model.layers.{k}."
        shapes |= {
            f"{at}input_layernorm.weight": (c.width,),
            f"{at}self_attn.q_proj.weight": (queries, c.width),
            f"{at}self_attn.k_proj.weight": (keys, c.width),
            f"{at}self_attn.v_proj.weight": (keys, c.width),
            f"{at}self_attn.o_proj.weight": (c.width, queries),
            f"{at}post_attention_layernorm.weight": (c.width,),
            f"{at}mlp.gate_proj.weight": (c.hidden, c.width),
            f"{at}mlp.up_proj.weight": (c.hidden, c.width),
            f"{at}mlp.down_proj.weight": (c.width, c.hidden),
        }
    shapes["model.norm.weight"] = (c.width,)
    return shapes if c.is_tied else {**shapes, "lm_head.weight": (c.vocabulary, c.width)}


def random_weights(config: Config, seed: int) -> dict[str, Floats]:
    """Return weights as they are before training: normal, of spread 0.02 or less; norms are ones."""
    chance = np.random.default_rng(seed)
    return {
        name: np.ones(shape) if len(shape) == 1 else chance.normal(0.0, min(0.02, shape[1] ** -0.5), shape)
        for name, shape in weight_shapes(config).items()
    }
