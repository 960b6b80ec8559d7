"""A folder as one GGUF file: what is read back is what was written, in the order that llama.cpp wants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cortexdsl_tiny.folder import Folder
from tests.tiny.made import made
from tests.zoo.gguf_file import gguf, write_gguf


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Two heads of keys for four of queries, so that both are turned, each by its own number."""
    return Folder(made(tmp_path_factory.mktemp("made") / "one"))


@pytest.fixture(scope="module")
def read(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The file, as the package reads it."""
    out = tmp_path_factory.mktemp("out") / "sub" / "one.gguf"
    write_gguf(folder, out)
    return gguf.GGUFReader(out)


def test_sizes_and_pieces_are_those_of_the_folder(folder: Folder, read: Any) -> None:
    """Every piece by its number; the marks of the chat are control pieces, repeated lines are pieces of the user's."""
    said = {name: field.contents() for name, field in read.fields.items()}
    assert said["llama.attention.head_count_kv"] == 2
    assert said["llama.attention.key_length"] == 12
    assert said["llama.context_length"] == 192
    assert said["tokenizer.chat_template"] == folder.template
    tokenizer = folder.said("tokenizer.json")
    vocabulary = tokenizer["model"]["vocab"] | {added["content"]: added["id"] for added in tokenizer["added_tokens"]}
    assert len(said["tokenizer.ggml.tokens"]) == folder.config.vocabulary
    assert {piece: number for number, piece in enumerate(said["tokenizer.ggml.tokens"])} == vocabulary
    kinds = dict(zip(said["tokenizer.ggml.tokens"], said["tokenizer.ggml.token_type"], strict=True))
    assert kinds["<|user|>"] == gguf.TokenType.CONTROL
    assert {gguf.TokenType.USER_DEFINED, gguf.TokenType.NORMAL} <= set(kinds.values())
    assert len(said["tokenizer.ggml.merges"]) == len(tokenizer["model"]["merges"])


def test_weights_are_the_same_numbers_and_rotary_pairs_lie_side_by_side(folder: Folder, read: Any) -> None:
    """In the folder the second numbers of the pairs follow all the first ones: row 6 of a head of 12 goes to row 1."""
    found = {tensor.name: np.array(tensor.data) for tensor in read.tensors}
    weights = folder.weights()
    assert len(found) == len(weights)
    np.testing.assert_array_equal(found["token_embd.weight"], weights["model.embed_tokens.weight"])
    keys, turned = weights["model.layers.1.self_attn.k_proj.weight"], found["blk.1.attn_k.weight"]
    for head in range(2):
        for pair in range(6):
            np.testing.assert_array_equal(turned[12 * head + 2 * pair], keys[12 * head + pair])
            np.testing.assert_array_equal(turned[12 * head + 2 * pair + 1], keys[12 * head + 6 + pair])
