"""The folder of a small model as the file that llama.cpp and Ollama read, so that tests can ask them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cortexdsl.core import Floats
from cortexdsl_tiny.folder import TOKENIZER, Config, Folder

gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")

PRE = "gpt-2"
"""Name of llama.cpp's rule for splitting a text before it merges bytes. Our cuts are finer, but no merge crosses one of
them (a digit or a sign is alone, a word begins with its space), so that both rules give the same pieces."""
_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def write_gguf(folder: Folder, out: Path) -> None:
    """Write a folder as one file.

    Parameters
    ----------
    folder : Folder
        The folder of a Llama with a byte-level BPE, as `cortexdsl_tiny.zoo` makes them.
    out : Path
        Replaced if it exists.
    """
    config, template = folder.config, folder.template
    assert template is not None
    out.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_name(folder.path.name)
    _describe(writer, config)
    _add_pieces(writer, folder, config)
    writer.add_chat_template(template)
    for name, array in folder.weights().items():
        writer.add_tensor(_name(name), _turned(name, array, config).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: Any, config: Config) -> None:
    writer.add_vocab_size(config.vocabulary)
    writer.add_context_length(config.window)
    writer.add_embedding_length(config.width)
    writer.add_block_count(config.layers)
    writer.add_feed_forward_length(config.hidden)
    writer.add_head_count(config.heads)
    writer.add_head_count_kv(config.groups)
    writer.add_key_length(config.head)
    writer.add_value_length(config.head)
    writer.add_rope_dimension_count(config.head)
    writer.add_rope_freq_base(config.theta)
    writer.add_layer_norm_rms_eps(config.epsilon)


def _add_pieces(writer: Any, folder: Folder, config: Config) -> None:
    said = folder.said(TOKENIZER)
    model = said.get("model") or {}
    texts = {int(number): str(piece) for piece, number in model["vocab"].items()}
    kinds = dict.fromkeys(texts, gguf.TokenType.NORMAL)
    for added in said.get("added_tokens") or ():
        texts[added["id"]] = added["content"]
        kinds[added["id"]] = gguf.TokenType.CONTROL if added["special"] else gguf.TokenType.USER_DEFINED
    every = range(config.vocabulary)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(PRE)
    writer.add_token_list([texts.get(number, f"[unused {number}]") for number in every])
    writer.add_token_types([kinds.get(number, gguf.TokenType.UNUSED) for number in every])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]])
    writer.add_eos_token_id(config.ends[0])
    writer.add_pad_token_id(config.ends[0])
    writer.add_add_bos_token(False)


def _name(name: str) -> str:
    """Return what GGUF calls a weight."""
    part = name.removesuffix(".weight")
    if part in _WHOLE:
        return f"{_WHOLE[part]}.weight"
    _, _, block, inner = part.split(".", 3)
    return f"blk.{block}.{_NAMES[inner]}.weight"


def _turned(name: str, array: Floats, config: Config) -> Floats:
    """Return a weight in GGUF's order: of queries and keys, the two numbers of a rotary pair are neighbours."""
    heads: Mapping[str, int] = {"q_proj": config.heads, "k_proj": config.groups}
    count = next((heads[kind] for kind in heads if kind in name), None)
    if count is None:
        return array
    pairs = array.reshape(count, 2, array.shape[0] // count // 2, array.shape[1])
    return pairs.swapaxes(1, 2).reshape(array.shape)
