"""Finished models: the folder in Hugging Face's format, and the folder that ships."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from cortexdsl.core import Floats
from cortexdsl.errors import InputError
from cortexdsl_tiny.folder import (
    CARD,
    CONFIG,
    DIGESTS,
    GENERATION,
    READ,
    TEMPLATE,
    TOKENIZER,
    TOKENIZER_CONFIG,
    WEIGHTS,
    Config,
    Folder,
)
from cortexdsl_tiny.zoo.encoding import END


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
        The folder; created, and its files replaced if they exist.
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


MOST_BYTES = 8_000_000
"""All models together: what a package may weigh."""

README = "README.md"
_CARD = """\
---
license: apache-2.0
library_name: transformers
tags: [debate, arithmetic, tiny]
---
# {name}

A Llama of {parameters:,} parameters that was trained from scratch on {tokens:,} tokens of generated lessons (prompts
included), to try out debates with: cortexdsl runs it as `tiny/{name}`. It knows three things, and nothing else: sums
such as `7+12*4+9-3*8` with numbers up to 12 and no negative result, in which of four ranges such a result is, and a
made-up world of 48 people. It reads the prompts of cortexdsl; to other words it says nothing useful.

- Layers: {layers} of width {width}; window {window} tokens; vocabulary {vocabulary} pieces of its own.
- Data: {lessons}. All of them are generated from seeds; no text of any person or other model is among them.
- Confidence: the number it states was learned from its own hit rate on questions that it had not seen.
- Licence: {licence}.

Of {asked} questions whose expressions no lesson has, asked once at temperature 1 without debate:

| task | asked | right |
|---|---|---|
{rows}

{unread:.1%} of the replies could not be read. It stated {confidence:.2f} in the mean; the calibration error over ten
bins of equal size was {calibration_error:.3f}.
"""
_DEBATING = """
In {asked} prompts of debates of five it was right in {right:.0%}: in {among_right:.0%} where most answers that it heard
were right, in {among_wrong:.0%} where most were not.
"""


def ship(models: Sequence[Path], marks: Path, out: Path) -> None:
    """Write models into a folder as the package holds them.

    Parameters
    ----------
    models : sequence of Path
        Their folders.
    marks : Path
        The folder with `NAME.json` for each of them (`examine`).
    out : Path
        Replaced: `NAME/` with the files, the marks in its `zoo.json`, and a card; and `digests.json`.

    Raises
    ------
    InputError
        They weigh more than a package may.
    """
    shutil.rmtree(out, ignore_errors=True)
    digests = {}
    for path in models:
        name, folder = path.name, Folder(path)
        place = out / name
        place.mkdir(parents=True)
        for file in READ:
            if (path / file).is_file():
                shutil.copyfile(path / file, place / file)
        card = {**folder.card, "marks": json.loads((marks / f"{name}.json").read_text(encoding="utf-8"))}
        (place / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        (place / README).write_text(card_text(folder, card), encoding="utf-8")
        digests[name] = Folder(place).digest
    (out / DIGESTS).write_text(json.dumps(digests, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    weight = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    if weight > MOST_BYTES:
        raise InputError(f"{out}: the models weigh {weight:,} bytes\n    a package holds {MOST_BYTES:,} at most")


def card_text(folder: Folder, card: Mapping[str, Any]) -> str:
    """Return a model's card in Markdown."""
    said, config = card["marks"], folder.config
    rows = "\n".join(f"| {task} | {each['asked']} | {each['right']:.1%} |" for task, each in said["tasks"].items())
    lessons = ", ".join(f"{count:,} lessons `{part}`" for part, count in card["lessons"].items())
    text = _CARD.format(
        **{key: card[key] for key in ("name", "parameters", "tokens", "licence")},
        **{key: said[key] for key in ("asked", "unread", "confidence", "calibration_error")},
        layers=config.layers,
        width=config.width,
        window=config.window,
        vocabulary=config.vocabulary,
        lessons=lessons,
        rows=rows,
    )
    return text + (_DEBATING.format(**said["debating"]) if "debating" in said else "")
