"""The recipes of small models: sizes, lessons, stages; `recipes.yaml` and `miniature.yaml` in this folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cortexdsl.errors import InputError
from cortexdsl_tiny.folder import Config

FILE = Path(__file__).with_name("recipes.yaml")
MINIATURE = FILE.with_name("miniature.yaml")
_PARTS = {
    "questions",
    "lessons",
    "drills",
    "vocabulary",
    "window",
    "batch",
    "confidence",
    "stages",
    "practice",
    "models",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recipe of one model.

    Attributes
    ----------
    width, layers, heads : int
    tokens : int
        The tokens of all stages.
    practice : int
        Tokens that it reads after them, on a schedule of its own.
    rate : float
        The highest learning rate.
    seed : int
    """

    width: int
    layers: int
    heads: int
    tokens: int
    rate: float
    seed: int
    practice: int = 0

    def config(self, vocabulary: int, window: int) -> Config:
        """Return the architecture: two or three heads of queries for each of keys, a feed-forward block 8/3 as wide."""
        return Config(
            vocabulary=vocabulary,
            width=self.width,
            hidden=8 * self.width // 3,
            layers=self.layers,
            heads=self.heads,
            groups=self.heads // 2,
            head=self.width // self.heads // 2 * 2,
            window=window,
            theta=10_000.0,
            epsilon=1e-6,
            is_tied=True,
            ends=(0,),
        )


def read_book(path: Path) -> Mapping[str, Any]:
    """Return a file of recipes: `questions, lessons, drills, vocabulary, window, batch, confidence, stages, practice,
    models`.

    Raises
    ------
    InputError
        It is missing, is not YAML, or lacks a part; a stage names lessons that are not there.
    """
    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: the recipes cannot be read ({error})") from None
    parts = said if isinstance(said, dict) else {}
    if parts.keys() != _PARTS:
        raise InputError(f"{path}: recipes have the parts {', '.join(sorted(_PARTS))}, and nothing else")
    named = {part for stage in (*parts["stages"], parts["practice"]) for part in stage["lessons"]}
    unknown = sorted(named - {*parts["lessons"], "drills"})
    if unknown:
        raise InputError(f"{path}: a stage names unknown lessons: {', '.join(unknown)}")
    return parts


def recipe(book: Mapping[str, Any], name: str) -> Recipe:
    """Return one recipe of a book.

    Raises
    ------
    InputError
        There is no such model, or its recipe lacks a word or has another one.
    """
    models = book["models"]
    if name not in models:
        raise InputError(f"there is no recipe for {name!r}; there are: {', '.join(models)}")
    try:
        return Recipe(**models[name])
    except TypeError as error:
        raise InputError(f"the recipe of {name!r} is wrong: {error}") from None
