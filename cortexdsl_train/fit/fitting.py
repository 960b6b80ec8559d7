"""Train a base model on examples, write an ordinary model folder, and resume after a kill."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets
import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback
from transformers.utils.logging import disable_progress_bar
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

from cortexdsl.checksums import write_lines
from cortexdsl.errors import InputError, RecordError
from cortexdsl_tiny.folder import (
    CARD,
    GENERATION,
    MOST_PARAMETERS,
    READ,
    TEMPLATE,
    TOKENIZER,
    TOKENIZER_CONFIG,
    digest_of,
)
from cortexdsl_train.fit.examples import (
    CURVE,
    PAIR,
    SINGLE,
    Examples,
    GroupSampling,
    Row,
    Settings,
    write_curve,
    write_progress,
)

COMPLETE = "complete"
"""The file that a checkpoint ends with: without it, it was cut short and is not gone on from."""

_LOOKS = 10  # checkpoints, and looks at the validation examples, in a training

Tell = Callable[[str, int, int, Sequence[Mapping[str, Any]]], None]
"""Hears the state, the step, the number of steps, and all that was logged."""


class Watcher(TrainerCallback):  # type: ignore[misc]
    """Shows how far a training is, at most twice a second, and marks checkpoints that are whole."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._told = tell, 0.0

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Tell."""
        if time.monotonic() - self._told > 0.5:
            self._told = time.monotonic()
            self._tell("training", state.global_step, state.max_steps, state.log_history)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Mark a checkpoint."""
        (Path(args.output_dir) / f"checkpoint-{state.global_step}" / COMPLETE).touch()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Tell how it ended."""
        self._tell("merging", state.global_step, state.max_steps, state.log_history)


def trainer_of(
    model: Any,
    tokenizer: Any,
    train: Sequence[Mapping[str, Any]],
    validation: Sequence[Mapping[str, Any]],
    settings: Settings,
    checkpoints: Path,
    tell: Tell,
    window: int,
    sampling: GroupSampling | None = None,
) -> Any:
    """Return what trains an adapter of a model.

    Parameters
    ----------
    model, tokenizer
        Of transformers.
    train, validation : sequence of mapping
        Examples that fit into the window.
    settings : Settings
    checkpoints : Path
        Where it saves what it has learned so far.
    tell : callable
        Hears how far it is.
    window : int
        The most tokens of an example.
    sampling : GroupSampling or None
        Where the loss is `grpo`: Shao et al. 2024 (arXiv 2402.03300), equations 3 and 4, on replies of the model as it
        is, so that no ratio is clipped. The advantage of each token of a reply is (reward - mean) / (standard deviation
        + 1e-4) of its group; the loss is the mean over replies of -advantage + beta * KL, each the mean over tokens.
    """
    has_gpu = torch.cuda.is_available()
    at_once = min(settings.at_once or settings.batch, settings.batch)
    steps = math.ceil(-(-len(train) // settings.batch) * settings.epochs)
    between = max(1, steps // _LOOKS)
    torch.manual_seed(settings.seed)  # the adapter's first weights are drawn before the trainer sets its seed
    group = sampling.size if sampling else 1  # TRL counts replies, and a batch holds whole groups
    said = {
        "output_dir": str(checkpoints),
        "per_device_train_batch_size": at_once * group,
        "per_device_eval_batch_size": at_once * group,
        "gradient_accumulation_steps": -(-settings.batch // at_once),
        "num_train_epochs": settings.epochs,
        "learning_rate": settings.rate,
        "seed": settings.seed,
        "use_cpu": not has_gpu,
        "bf16": has_gpu,
        "gradient_checkpointing": has_gpu,
        "full_determinism": not has_gpu,  # on a GPU it makes every kernel wait for the one before
        "dataloader_pin_memory": has_gpu,
        "logging_steps": 1,
        "eval_strategy": "steps" if validation else "no",
        "eval_steps": between,
        "eval_on_start": bool(validation),
        "save_steps": between,
        "save_total_limit": 2,  # the last may be cut short
        "report_to": "none",
        "disable_tqdm": True,
    }
    common = {
        "model": model,
        "processing_class": tokenizer,
        "train_dataset": Dataset.from_list([dict(row) for row in train]),
        "eval_dataset": Dataset.from_list([dict(row) for row in validation]) if validation else None,
        "peft_config": adapter_of(settings),
        "callbacks": [Watcher(tell)],
    }
    if sampling is not None:
        drawn = {
            "num_generations": sampling.size,
            "temperature": sampling.temperature,
            "max_completion_length": sampling.max_tokens,
        }
        config = GRPOConfig(beta=settings.beta, loss_type="grpo", **drawn, **said)
        trainer = GRPOTrainer(args=config, reward_funcs=[_rewarding(sampling)], **common)
    elif settings.loss == "dpo":
        terms, weights = settings.losses()
        config = DPOConfig(beta=settings.beta, loss_type=terms, loss_weights=weights, max_length=window, **said)
        trainer = DPOTrainer(args=config, **common)
    else:
        config = SFTConfig(completion_only_loss=True, max_length=window, **said)
        trainer = SFTTrainer(args=config, **common)
    trainer.remove_callback(PrinterCallback)
    return trainer


def _rewarding(sampling: GroupSampling) -> Callable[..., list[float]]:
    """Return the reward of drawn replies as TRL asks for it: by columns of the examples."""

    def reward(
        completions: Sequence[Sequence[Mapping[str, str]]], question: Sequence[str], label: Sequence[str], **_: Any
    ) -> list[float]:
        texts = (said[0]["content"] for said in completions)
        return [sampling.reward(*each) for each in zip(question, label, texts, strict=True)]

    return reward


def adapter_of(settings: Settings) -> LoraConfig:
    """Return an adapter over all linear layers but the last, which small models share with their first."""
    return LoraConfig(
        r=settings.rank,
        lora_alpha=settings.rank,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def last_checkpoint(folder: Path) -> Path | None:
    """Return the last checkpoint that is complete, to resume from; None if there is none."""
    whole = [path.parent for path in folder.glob(f"checkpoint-*/{COMPLETE}")]
    return max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


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
    sampling: GroupSampling | None = None,
) -> None:
    """Train an adapter of a model, and write it and the merged model.

    Parameters
    ----------
    base : Path
        The folder that is trained from, in Hugging Face's format.
    examples : Examples
        Pairs, single replies where the loss is `sft`, or prompts where it is `grpo`.
    settings : Settings
    place : Path
        Where `model/`, `adapter/`, `curve.csv` and `progress.json` are written, and `checkpoints/` while it trains.
    training : str
        The digest that the model's card names the training by.
    sampling : GroupSampling or None
        How replies are drawn and rewarded where the loss is `grpo`.
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
        _fit(base, examples, settings, place, training, threads, sampling)


def _fit(
    base: Path,
    examples: Examples,
    settings: Settings,
    place: Path,
    training: str,
    threads: int,
    sampling: GroupSampling | None,
) -> None:
    begun = time.process_time()
    model, tokenizer = load(base)
    window = int(model.config.max_position_embeddings)
    room = window - (sampling.max_tokens if sampling else 0)
    train, left_out = _fitting(examples.train, tokenizer, room)
    validation, left_out_too = _fitting(examples.validation, tokenizer, room)
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

    trainer = trainer_of(model, tokenizer, train, validation, settings, checkpoints, tell, window, sampling)
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
        transformers cannot load a model there.
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
        replies = [row[name] for name in (*PAIR, *SINGLE) if name in row] or [[]]
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
