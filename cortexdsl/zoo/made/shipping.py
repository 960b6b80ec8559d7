"""Putting models that were made and marked into the package: their files, cards, and the digests they are known by."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.errors import InputError
from cortexdsl.models.tiny.folder import CARD, READ, Folder
from cortexdsl.models.tiny.shelf import DIGESTS

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
        Replaced: `NAME/` with the files, the marks in its `zoo.json`, and a card; `digests.json` beside them.

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
