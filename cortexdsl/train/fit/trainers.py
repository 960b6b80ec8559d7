"""TRL's trainers, told what a spec says: the only module that knows its words."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import PrinterCallback, TrainerCallback
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from cortexdsl.train.fit.settings import Settings

COMPLETE = "complete"
"""The file that a checkpoint ends with: without it, it was cut short and is not gone on from."""

_LOOKS = 10  # checkpoints, and looks at the validation examples, in a training

Tell = Callable[[str, int, int, Sequence[Mapping[str, Any]]], None]
"""Hears the state, the step, the number of steps, and all that was logged."""


class Watcher(TrainerCallback):  # type: ignore[misc]
    """Tells how far a training is, at most twice a second, and marks checkpoints that are whole."""

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
    """
    has_gpu = torch.cuda.is_available()
    at_once = min(settings.at_once or settings.batch, settings.batch)
    steps = math.ceil(-(-len(train) // settings.batch) * settings.epochs)
    between = max(1, steps // _LOOKS)
    torch.manual_seed(settings.seed)  # the adapter's first weights are drawn before the trainer sets its seed
    said = {
        "output_dir": str(checkpoints),
        "per_device_train_batch_size": at_once,
        "per_device_eval_batch_size": at_once,
        "gradient_accumulation_steps": -(-settings.batch // at_once),
        "num_train_epochs": settings.epochs,
        "learning_rate": settings.rate,
        "seed": settings.seed,
        "use_cpu": not has_gpu,
        "bf16": has_gpu,
        "gradient_checkpointing": has_gpu,
        "full_determinism": not has_gpu,  # on a GPU it makes every kernel wait for the one before
        "dataloader_pin_memory": has_gpu,
        "max_length": window,
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
    if settings.has_pairs:
        terms, weights = settings.losses()
        trainer = DPOTrainer(
            args=DPOConfig(beta=settings.beta, loss_type=terms, loss_weights=weights, **said), **common
        )
    else:
        trainer = SFTTrainer(args=SFTConfig(completion_only_loss=True, **said), **common)
    trainer.remove_callback(PrinterCallback)
    return trainer


def adapter_of(settings: Settings) -> LoraConfig:
    """Return an adapter over all linear layers but the last, which small models share with their first."""
    return LoraConfig(
        r=settings.rank,
        lora_alpha=settings.rank if settings.alpha is None else settings.alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def last_checkpoint(folder: Path) -> Path | None:
    """Return the last checkpoint that is whole, to go on from; None where there is none."""
    whole = [path.parent for path in folder.glob(f"checkpoint-*/{COMPLETE}")]
    return max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)
