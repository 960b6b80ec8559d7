"""Similarity models that run in this process: sentence embeddings, and entailment by cross-encoders."""

from __future__ import annotations

import asyncio
import importlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import permutations
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from cortexdsl.core import Floats
from cortexdsl.errors import InputError

K = TypeVar("K")
V = TypeVar("V")


def load_sentence_model(
    similarity: str, kind: Literal["SentenceTransformer", "CrossEncoder"], name: str, called: str
) -> Any:
    """Load a model by its name, or from a folder.

    Parameters
    ----------
    similarity : str
        The setting as the spec writes it, for messages.
    kind : str
        The class of the library.
    name : str
    called : str
        What such a model is called in messages: `sentence-transformers model`, `cross-encoder`.

    Raises
    ------
    InputError
        The extra is not installed, or the model cannot be loaded.
    """
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError:
        raise InputError(
            f"similarity {similarity} needs the extra `embeddings`, which is not installed\n"
            "    install it (pip install 'cortexdsl[embeddings]'), or use `similarity: ngram`"
        ) from None
    load = getattr(library, kind)
    try:
        with suppress(OSError, ValueError):  # without a network the library tries for a minute before it looks here
            return load(name, local_files_only=True)
        return load(name)
    except (OSError, ValueError) as error:
        raise InputError(
            f"similarity {similarity}: the model cannot be loaded: {' '.join(str(error).split())[:200]}\n"
            f"    give the name of a {called}, or the path of a folder that holds one"
        ) from None


def remember(known: OrderedDict[K, V], used: Mapping[K, V], most: int) -> None:
    """Keep values that were used, and forget those that were not used for the longest time."""
    for key, value in used.items():
        known[key] = value
        known.move_to_end(key)
    while len(known) > most:
        known.popitem(last=False)


NLI = "nli/"
BATCH = 32
REMEMBERED = 4096

Pair: TypeAlias = tuple[str, str]
Judge: TypeAlias = Callable[[list[Pair]], Floats]
"""Probabilities that the first text of each pair entails the second, (k,) in [0, 1]."""


def load_judge(name: str) -> Judge:
    """Load a cross-encoder by its name, or from a folder.

    A model with classes gives the probability of the one called `entailment`; a model with one output (trained
    on similarity itself) gives that.

    Raises
    ------
    InputError
        The extra is not installed, the model cannot be loaded, or none of its classes is entailment.
    """
    model = load_sentence_model(f"{NLI}{name}", "CrossEncoder", name, "cross-encoder")
    column = _entailment(name, model.config.id2label)

    def judge(pairs: list[Pair]) -> Floats:
        predicted = model.predict(pairs, batch_size=BATCH, show_progress_bar=False, apply_softmax=column is not None)
        scores = np.asarray(predicted, dtype=np.float64)
        return np.clip(scores if column is None else scores[:, column], 0.0, 1.0)

    return judge


def _entailment(name: str, labels: Any) -> int | None:
    """Return the class that is entailment; None for a model with one output."""
    if len(labels) == 1:
        return None
    for number, label in labels.items():
        if str(label).lower() == "entailment":
            return int(number)
    raise InputError(
        f"similarity {NLI}{name}: none of the model's classes is entailment: {', '.join(map(str, labels.values()))}\n"
        "    give a cross-encoder that was trained on natural language inference"
    )


class Entailment:
    """Similarities by models of inference, each pair judged once.

    Parameters
    ----------
    load : callable
        From a model's name to its judge.
    """

    def __init__(self, load: Callable[[str], Judge] = load_judge) -> None:
        self._load = load
        self._judges: dict[str, Judge] = {}
        self._known: OrderedDict[tuple[str, Pair], float] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, name: str, texts: Sequence[str]) -> Floats:
        """Return how far texts entail each other: the mean over both directions.

        Parameters
        ----------
        name : str
            Of the model.
        texts : sequence of n str

        Returns
        -------
        (n, n) array
            In [0, 1], symmetric. Equal texts have exactly 1. A text without content has 0 with all, itself
            included.

        Raises
        ------
        InputError
            As `load_judge`.
        """
        distinct = [text for text in dict.fromkeys(texts) if text.strip()]
        found = await self._judged(name, list(permutations(distinct, 2)))

        def likeness(one: str, other: str) -> float:
            if not one.strip() or not other.strip():
                return 0.0
            return 1.0 if one == other else (found[one, other] + found[other, one]) / 2

        return np.array([[likeness(one, other) for other in texts] for one in texts], dtype=float)

    async def _judged(self, name: str, pairs: list[Pair]) -> dict[Pair, float]:
        async with self._one_at_a_time:  # a model in this process gains nothing from running twice at once
            found = {pair: self._known[name, pair] for pair in pairs if (name, pair) in self._known}
            missing = [pair for pair in pairs if pair not in found]
            if missing:
                judge = await asyncio.to_thread(self._judge, name)
                found |= zip(missing, map(float, await asyncio.to_thread(judge, missing)), strict=True)
        remember(self._known, {(name, pair): found[pair] for pair in pairs}, REMEMBERED)
        return found

    def _judge(self, name: str) -> Judge:
        if name not in self._judges:
            self._judges[name] = self._load(name)
        return self._judges[name]
