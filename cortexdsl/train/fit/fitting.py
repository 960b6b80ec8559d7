"""One training from its base and its examples to a folder like any other model's; goes on where a kill left it."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from cortexdsl.errors import InputError, RecordError
from cortexdsl.models.tiny.folder import READ, digest_of
from cortexdsl.records.files import write_lines
from cortexdsl.train.fit.examples import Examples, Row
from cortexdsl.train.fit.folders import ADAPTER, MODEL, merge, replaced
from cortexdsl.train.fit.progress import CURVE, write_curve, write_progress
from cortexdsl.train.fit.settings import Settings
from cortexdsl.train.fit.trainers import last_checkpoint, trainer_of

CHECKPOINTS, OF = "checkpoints", "of.json"
LIBRARIES = ("torch", "transformers", "trl", "peft")

_log = logging.getLogger(__name__)


def fit(
    base: Path,
    examples: Examples,
    settings: Settings,
    place: Path,
    *,
    training: str,
    threads: int = 1,
) -> None:
    """Train an adapter of a model, and write it and the merged model.

    Parameters
    ----------
    base : Path
        The folder that is trained from, in Hugging Face's format.
    examples : Examples
        Pairs, or single replies where the loss is `sft`.
    settings : Settings
    place : Path
        Where `model/`, `adapter/`, `curve.csv` and `progress.json` come to lie, and `checkpoints/` while it trains.
    training : str
        The digest that the model's card names the training by.
    threads : int
        Of PyTorch. Without a GPU the same seed gives the same weights for the same number of them, on the same machine.

    Raises
    ------
    InputError
        There is no model in `base` that can be trained.
    RecordError
        There is no example to learn from.
    """
    torch.set_num_threads(threads)
    datasets.disable_progress_bars()
    disable_progress_bar()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # the libraries' words to one another
        _fit(base, examples, settings, place, training, threads)


def _fit(base: Path, examples: Examples, settings: Settings, place: Path, training: str, threads: int) -> None:
    begun = time.process_time()
    model, tokenizer = load(base)
    window = int(model.config.max_position_embeddings)
    train, left_out = _fitting(examples.train, tokenizer, window)
    validation, left_out_too = _fitting(examples.validation, tokenizer, window)
    if not train:
        raise RecordError(
            f"{place}: there is no example to learn from (left out: {dict(left_out) or 'none'})\n"
            "    ask more questions, draw more samples, or lower the threshold; kept.csv says what was dropped and why"
        )
    said = {
        "training": training,
        "base": digest_of(base, (*READ, *sorted(path.name for path in base.glob("model-*.safetensors")))),
        "examples": {
            "digest": examples.digest,
            "train": len(train),
            "validation": len(validation),
            "left_out": dict(left_out + left_out_too),
        },
        "optimiser": asdict(settings),
        "libraries": {name: version(name) for name in LIBRARIES},
    }
    checkpoints = _checkpoints(place / CHECKPOINTS, {**said, "threads": threads})

    def tell(state: str, step: int, steps: int, history: Sequence[Mapping[str, Any]]) -> None:
        losses = [logged["loss"] for logged in history if "loss" in logged]
        write_progress(place, state=state, step=step, steps=steps, loss=losses[-1] if losses else None)
        write_curve(place / CURVE, history)

    trainer = trainer_of(model, tokenizer, train, validation, settings, checkpoints, tell, window)
    at = last_checkpoint(checkpoints)
    if at is not None:
        _log.info("goes on from %s", at)
    trainer.train(resume_from_checkpoint=str(at) if at else None)
    with replaced(place / ADAPTER) as folder:
        trainer.model.save_pretrained(folder)
    steps = trainer.state.global_step
    card = {**said, "steps": steps, "seconds_of_processor": round(time.process_time() - begun)}
    merge(base, place / ADAPTER, place / MODEL, card)
    shutil.rmtree(checkpoints)
    tell("done", steps, steps, trainer.state.log_history)


def load(base: Path) -> tuple[Any, Any]:
    """Load a model and its tokenizer: in single precision, or on a GPU in bfloat16.

    Raises
    ------
    InputError
        There is none that transformers can load.
    """
    try:
        kind = torch.bfloat16 if torch.cuda.is_available() else torch.float32
        return AutoModelForCausalLM.from_pretrained(base, dtype=kind), AutoTokenizer.from_pretrained(base)
    except (OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{base}: no model can be loaded to train from ({first})") from None


def _fitting(rows: Iterable[Row], tokenizer: Any, window: int) -> tuple[list[Row], Counter[str]]:
    """Return the examples that can be learned as they are, and how many cannot, by the reason.

    An example that is longer than the window was never said by the model; one that spells a special token would be
    learned as that token, while the runner reads what messages say as text.
    """
    kept: list[Row] = []
    left_out: Counter[str] = Counter()
    special = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
    for row in rows:
        replies = [row[name] for name in row if name != "prompt"]
        messages = [message["content"] for said in (row["prompt"], *replies) for message in said]
        if any(token in content for token in special for content in messages):
            left_out["special token"] += 1
        elif max(_length(tokenizer, [*row["prompt"], *said]) for said in replies) > window:
            left_out["longer than the window"] += 1
        else:
            kept.append(row)
    return kept, left_out


def _length(tokenizer: Any, messages: list[Mapping[str, str]]) -> int:
    return len(tokenizer.apply_chat_template(messages, return_dict=False))


def _checkpoints(folder: Path, said: Mapping[str, Any]) -> Path:
    """Return the folder of the checkpoints of this very training; those of another are removed."""
    text = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    mark = folder / OF
    if not (mark.is_file() and mark.read_text(encoding="utf-8").strip() == text):
        shutil.rmtree(folder, ignore_errors=True)
        write_lines(mark, [text])
    return folder
