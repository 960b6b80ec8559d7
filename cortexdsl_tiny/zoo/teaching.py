"""Train one model from its recipe: read lessons, run the stages, write the folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from cortexdsl.errors import InputError
from cortexdsl_tiny.folder import Folder
from cortexdsl_tiny.zoo.encoding import TEMPLATE, Encoded, Learned, encode
from cortexdsl_tiny.zoo.exams import examine, own_lessons
from cortexdsl_tiny.zoo.packaging import write_folder
from cortexdsl_tiny.zoo.questions import read_lessons
from cortexdsl_tiny.zoo.recipes import Recipe, read_book, recipe
from cortexdsl_tiny.zoo.training import Pupil, Stage, train

LICENCE = "Apache-2.0"


def teach(name: str, book: Path, lessons: Mapping[str, Path], pieces: Path, out: Path, *, threads: int) -> None:
    """Train a model and write its folder.

    Parameters
    ----------
    name : str
        The name of a recipe.
    book : Path
        The file of recipes.
    lessons : mapping of name to Path
        As the stages of the recipes name them.
    pieces : Path
        The tokenizer.
    out : Path
        The folder.
    threads : int
        Of PyTorch. The same seed gives the same weights for the same number of them, on the same machine.

    Raises
    ------
    InputError
        There is no such recipe, or lessons are missing that a stage names.
    """
    said, chosen, tokenizer, encoded = _prepared(name, book, lessons, pieces, threads)
    pupil = Pupil.untaught(chosen.config(tokenizer.get_vocab_size(), said["window"]), chosen.seed)
    begun = time.process_time()
    read = train(pupil, _stages(said, chosen, encoded), rate=chosen.rate, batch=said["batch"], seed=chosen.seed)
    card: dict[str, Any] = {
        "name": name,
        "parameters": pupil.config.parameters,
        "tokens": read,
        "lessons": {part: len(found) for part, found in encoded.items()},
        "seconds_of_processor": round(time.process_time() - begun),
        "licence": LICENCE,
    }
    write_folder(out, pupil.config, pupil.arrays(), tokenizer, TEMPLATE, card)


def practise(
    name: str, begun: Path, book: Path, lessons: Mapping[str, Path], pieces: Path, out: Path, *, threads: int
) -> None:
    """Have a model that was taught practise what its recipe says, and write its folder again.

    Parameters
    ----------
    begun : Path
        The folder of the model so far.
    name, book, lessons, pieces, out, threads
        As of `teach`.
    """
    said, chosen, tokenizer, encoded = _prepared(name, book, lessons, pieces, threads)
    folder = Folder(begun)
    pupil, began = Pupil(folder.config, folder.weights()), time.process_time()
    parts = [(encoded[part], share) for part, share in said["practice"]["lessons"].items()]
    read = train(
        pupil, [Stage(parts, chosen.practice)], rate=said["practice"]["rate"], batch=said["batch"], seed=chosen.seed
    )
    card = {
        **folder.card,
        "tokens": folder.card["tokens"] + read,
        "seconds_of_processor": folder.card["seconds_of_processor"] + round(time.process_time() - began),
    }
    write_folder(out, pupil.config, pupil.arrays(), tokenizer, TEMPLATE, card)


def _prepared(
    name: str, book: Path, lessons: Mapping[str, Path], pieces: Path, threads: int, learned: Learned = "all"
) -> tuple[Mapping[str, Any], Recipe, Tokenizer, dict[str, list[Encoded]]]:
    """Set PyTorch up, and return the book, the recipe, the tokenizer, and the lessons as tokens."""
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(mode=True)
    said = read_book(book)
    chosen = recipe(said, name)
    missing = sorted(
        {part for stage in (*said["stages"], said["practice"]) for part in stage["lessons"]} - lessons.keys()
    )
    if missing:
        raise InputError(f"the stages of {book} name lessons that were not given: {', '.join(missing)}")
    tokenizer = Tokenizer.from_file(str(pieces))
    # Lessons longer than the window would be failed calls, so they are left out.
    encoded = {
        part: [each for each in encode(tokenizer, read_lessons(path), learned) if len(each.tokens) <= said["window"]]
        for part, path in lessons.items()
    }
    return said, chosen, tokenizer, encoded


def teach_confidence(
    name: str,
    begun: Path,
    exam: Path,
    book: Path,
    lessons: Mapping[str, Path],
    pieces: Path,
    out: Path,
    *,
    threads: int,
) -> None:
    """Teach a model to state how often it is right, from replies of its own, and write its folder again.

    Of its own replies only the number is learned. Batches also hold lessons as in practice, without their numbers:
    otherwise, learning confidence would undo the rest.

    Parameters
    ----------
    begun : Path
        The folder of the model so far.
    exam : Path
        Lessons that it has not seen.
    name, book, lessons, pieces, out, threads
        As of `teach`.
    """
    said, chosen, tokenizer, encoded = _prepared(name, book, lessons, pieces, threads, "words")
    folder = Folder(begun)
    sat = examine(folder, list(read_lessons(exam)), seed=1)
    pupil = Pupil(folder.config, folder.weights())
    own = list(encode(tokenizer, own_lessons(sat), "number"))
    sure, kept, read = said["confidence"], said["practice"]["lessons"], 0
    if own:  # a model that never writes the line has nothing to learn from
        rest = (1 - sure["share"]) / sum(kept.values())
        parts = [(own, sure["share"]), *((encoded[part], rest * share) for part, share in kept.items())]
        read = train(pupil, [Stage(parts, sure["tokens"])], rate=sure["rate"], batch=said["batch"], seed=chosen.seed)
    card = {
        **folder.card,
        "tokens": folder.card["tokens"] + read,
        "right_before_confidence": round(sum(each.is_right for each in sat) / max(1, len(sat)), 4),
    }
    write_folder(out, pupil.config, pupil.arrays(), tokenizer, TEMPLATE, card)


def _stages(said: Mapping[str, Any], chosen: Recipe, encoded: Mapping[str, list[Encoded]]) -> list[Stage]:
    return [
        Stage(
            [(encoded[part], share) for part, share in stage["lessons"].items()], round(stage["share"] * chosen.tokens)
        )
        for stage in said["stages"]
    ]
