"""A reply's reasoning apart from what it says: models that think aloud do so in a field of their own, or in tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_FIELDS = ("reasoning_content", "reasoning")  # what servers call it; the second is the newer name
_TAG = re.compile(
    r"""<(?P<close>/?)(?:seed:)?(?:think|thinking|thought)>   # DeepSeek, Qwen, EXAONE, Seed
      | \[(?P<square>/?)THINK\]                               # Magistral
      | ◁(?P<wedge>/?)think▷                                  # Kimi
    """,
    re.VERBOSE | re.IGNORECASE,
)


def reasoning_field(message: Any) -> str:
    """Return the reasoning that a server sent in a field of the message; empty where there is none.

    Parameters
    ----------
    message : mapping or object
        The `message` of a chat completion, parsed or as a client's object.
    """
    for name in _FIELDS:
        said = message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
        if isinstance(said, str) and said:
            return said
    return ""


def separated(text: str) -> tuple[str, str]:
    """Split a reply into what it says and what it thought, by its tags.

    Blocks may be several; one that nothing closes (the reply was cut) reaches to the end; a tag that closes what
    nothing opened (the chat template opened it, outside the reply) ends a block that reaches back to the beginning.
    A text without tags comes back as it is.

    Returns
    -------
    (str, str)
        The text and the reasoning, each without the tags and without space around it.
    """
    said: list[str] = []
    thought: list[str] = []
    at, is_thinking, found = 0, False, False
    for tag in _TAG.finditer(text):
        found = True
        piece, at = text[at : tag.start()], tag.end()
        is_close = bool(tag["close"] or tag["square"] or tag["wedge"])
        if is_close and not is_thinking:
            thought += [*said, piece]
            said = []
        else:
            (thought if is_thinking else said).append(piece)
        is_thinking = not is_close
    if not found:
        return text, ""
    (thought if is_thinking else said).append(text[at:])
    return "".join(said).strip(), "\n\n".join(filter(None, map(str.strip, thought)))
