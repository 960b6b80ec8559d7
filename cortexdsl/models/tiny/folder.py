"""A model's folder as Hugging Face lays it out: which files it has, what is in them, and what they are together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cortexdsl.errors import InputError
from cortexdsl.models.tiny.config import Config, config_of
from cortexdsl.terms import Floats

CONFIG, GENERATION, CARD = "config.json", "generation_config.json", "zoo.json"
WEIGHTS, TOKENIZER, TEMPLATE = "model.safetensors", "tokenizer.json", "chat_template.jinja"
TOKENIZER_CONFIG = "tokenizer_config.json"
READ = (CONFIG, GENERATION, WEIGHTS, TOKENIZER, TOKENIZER_CONFIG, TEMPLATE)
"""The files that a reply depends on."""

_KINDS = {"F64": np.float64, "F32": np.float32, "F16": np.float16}


class Folder:
    """A folder with a model, read when it is asked for.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        The folder, or a file that must be there, is not.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        missing = [name for name in (CONFIG, WEIGHTS, TOKENIZER) if not (path / name).is_file()]
        if missing:
            is_there = "has no " + ", ".join(missing) if path.is_dir() else "is no folder"
            raise InputError(f"{path} {is_there}\n    a model's folder holds {CONFIG}, {WEIGHTS} and {TOKENIZER}")

    @cached_property
    def config(self) -> Config:
        """The architecture."""
        return config_of(self.said(CONFIG), self.said(GENERATION), self.path / CONFIG)

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits over all files that a reply depends on."""
        return digest_of(self.path)

    @property
    def card(self) -> Mapping[str, Any]:
        """What the workflow that made the model wrote down of it (`parameters`, `tokens`, ...); may be empty."""
        return self.said(CARD)

    def said(self, name: str) -> Mapping[str, Any]:
        """Return what a JSON file of the folder says; nothing where there is none.

        Raises
        ------
        InputError
        """
        path = self.path / name
        if not path.is_file():
            return {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: this is no JSON ({error})") from None
        if not isinstance(found, dict):
            raise InputError(f"{path}: this is no JSON object")
        return found

    @property
    def template(self) -> str | None:
        """The chat template, in Jinja; None where the folder has none."""
        path = self.path / TEMPLATE
        if path.is_file():
            return path.read_text(encoding="utf-8")
        found = self.said(TOKENIZER_CONFIG).get("chat_template")
        return found if isinstance(found, str) else None

    def weights(self) -> dict[str, Floats]:
        """Read all weights.

        Raises
        ------
        InputError
            The file is none, is cut short, or holds numbers of another kind.
        """
        from safetensors import SafetensorError, deserialize

        path = self.path / WEIGHTS
        try:
            found: list[tuple[str, Any]] = deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
        except (SafetensorError, ValueError) as error:
            raise InputError(f"{path}: the weights cannot be read ({error})") from None
        return {name: _numbers(tensor, name, path) for name, tensor in found}


def digest_of(path: Path, names: Iterable[str] = READ) -> str:
    """Return 16 hexadecimal digits over files of a folder, as far as they are there."""
    found = hashlib.sha256()
    for name in names:
        if (path / name).is_file():
            found.update(f"{name}\0{(path / name).stat().st_size}\0".encode())
            with (path / name).open("rb") as stream:
                while block := stream.read(1 << 20):
                    found.update(block)
    return found.hexdigest()[:16]


def _numbers(tensor: Mapping[str, Any], name: str, path: Path) -> Floats:
    kind, data = tensor["dtype"], bytes(tensor["data"])
    if kind == "BF16":  # the upper half of a float32
        values = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    elif kind in _KINDS:
        values = np.frombuffer(data, _KINDS[kind])
    else:
        raise InputError(f"{path}: {name} holds {kind}; {', '.join((*_KINDS, 'BF16'))} are read")
    if not np.isfinite(values).all():
        raise InputError(f"{path}: {name} holds numbers that are none")
    found: Floats = values.reshape(tensor["shape"]).astype(np.float64)
    return found
