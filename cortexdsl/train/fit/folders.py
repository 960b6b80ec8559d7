"""What a training leaves behind: the adapter, and the weights it makes of its base."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from cortexdsl.models.tiny.config import MOST_PARAMETERS
from cortexdsl.models.tiny.folder import CARD, GENERATION, TEMPLATE, TOKENIZER, TOKENIZER_CONFIG

ADAPTER, MODEL = "adapter", "model"
_TAKEN = (TOKENIZER, TOKENIZER_CONFIG, TEMPLATE, GENERATION)  # as they are in the base


def merge(base: Path, adapter: Path, out: Path, card: Mapping[str, Any]) -> None:
    """Write the model that a base is with an adapter.

    Weights are added in single precision. Models that run in the process are stored so: small steps would be lost in
    half precision. Larger ones are stored as their base is.

    Parameters
    ----------
    base, adapter, out : Path
        Folders; `out` is replaced as a whole.
    card : mapping
        What `zoo.json` says, over what that of the base says.
    """
    stored = AutoModelForCausalLM.from_pretrained(base, dtype="auto").dtype
    plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    is_small = sum(weights.numel() for weights in plain.parameters()) <= MOST_PARAMETERS
    merged = PeftModel.from_pretrained(plain, adapter).merge_and_unload()
    before = json.loads((base / CARD).read_text(encoding="utf-8")) if (base / CARD).is_file() else {}
    with replaced(out) as folder:
        merged.to(torch.float32 if is_small else stored).save_pretrained(folder, max_shard_size="10TB")
        for name in _TAKEN:
            if (base / name).is_file():
                shutil.copyfile(base / name, folder / name)
        text = json.dumps({**before, **card}, indent=2, ensure_ascii=False)
        (folder / CARD).write_text(text + "\n", encoding="utf-8")


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """Give a folder to write into, which takes the place of another when all is written."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    yield part
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
