"""Where the folder of `tiny/NAME` lies: among the models that ship, or at a path."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.models.tiny.chat import Chat
from cortexdsl.models.tiny.folder import CONFIG, Folder

PREFIX = "tiny/"
SHIPPED = Path(__file__).parent / "shipped"
DIGESTS = "digests.json"


def names() -> list[str]:
    """Return the names of the models that ship."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{CONFIG}"))


def window_of(model: str) -> int | None:
    """Return the window of a model that runs in the process; None for others, and where it cannot be read."""
    try:
        return find(model).config.window if model.startswith(PREFIX) else None
    except InputError:
        return None


def chat_of(model: str) -> Chat | None:
    """Return how a model that runs in the process reads messages; None for others, and where it cannot be read."""
    try:
        return Chat(find(model)) if model.startswith(PREFIX) else None
    except InputError:
        return None


def find(model: str) -> Folder:
    """Return the folder of a model.

    Parameters
    ----------
    model : str
        `tiny/NAME`, a model that ships; or `tiny/PATH` with at least one more slash (`tiny/./mine`, `tiny//data/mine`):
        a folder in Hugging Face's format, seen from where the run was started.

    Raises
    ------
    InputError
    """
    said = model.removeprefix(PREFIX)
    if "/" in said:
        return Folder(Path(said))
    shipped = names()
    if said in shipped:
        return _as_shipped(said)
    near = difflib.get_close_matches(said, shipped, n=1)
    there = f"did you mean {PREFIX}{near[0]}?" if near else f"there are: {', '.join(shipped) or 'none in this version'}"
    raise InputError(f"no model {said!r} ships; {there}\n    a folder of your own is {PREFIX}./PATH")


def _as_shipped(name: str) -> Folder:
    folder = Folder(SHIPPED / name)
    known = json.loads((SHIPPED / DIGESTS).read_text(encoding="utf-8")).get(name)
    if folder.digest != known:
        raise InputError(
            f"{folder.path}: the files of {PREFIX}{name} are not those that shipped ({folder.digest}, not {known})"
            "\n    install the package anew"
        )
    return folder
