"""Images of a row: files, data URIs and bytes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.core import Image
from cortexdsl.errors import DataError
from cortexdsl.tasks.sources.values import field

LARGEST_IMAGE = 16 * 2**20
"""Bytes of an image at most."""

_DATA_URI = re.compile(r"data:image/[\w.+-]+;base64,", re.IGNORECASE)
_KINDS = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)


def images_of(row: Mapping[str, Any], columns: Sequence[str], folder: Path, place: str) -> tuple[Image, ...]:
    """Return the images of a row, in the order of the columns.

    Parameters
    ----------
    row : mapping
    columns : sequence of str
        Each holds one image, a list of them, or nothing: the path of a file, a data URI, or `{bytes, path}`.
    folder : Path
        The folder that relative paths start from.
    place : str
        For messages.

    Raises
    ------
    DataError
        An image cannot be read, is larger than 16 MiB, or is not a PNG, JPEG, GIF or WebP.
    """
    found: list[Image] = []
    for column in columns:
        value = field(row, column)
        for part in value if isinstance(value, list | tuple) else (value,):
            if part is not None and part != "":
                found.append(_image(part, folder, f"{place}: column {column!r}"))
    return tuple(found)


def _image(value: Any, folder: Path, place: str) -> Image:
    if isinstance(value, Mapping):  # as the hub stores them
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        kind = _checked(value, place)
        return Image(_digest(value), kind, f"data:{kind};base64,{base64.b64encode(value).decode('ascii')}")
    if not isinstance(value, str):
        raise DataError(f"{place} holds {type(value).__name__}\n    give the path of an image, or a data URI")
    head = _DATA_URI.match(value)
    if head is not None:
        try:
            content = base64.b64decode(value[head.end() :], validate=True)
        except (binascii.Error, ValueError):
            raise DataError(f"{place}: a data URI that is not base64\n    is the row whole?") from None
        return Image(_digest(content), _checked(content, place), value)
    if "://" in value or value.startswith("data:"):
        raise DataError(
            f"{place}: {value[:60]!r} is not a file\n    download the images to the dataset, and name files"
        )
    path = (folder / value).absolute()
    try:
        if path.stat().st_size > LARGEST_IMAGE:
            raise _too_large(place)
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: no file has such a name
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{place}: {value!r} cannot be read ({why})\n    paths start from {folder}") from None
    return Image(_digest(content), _checked(content, place), str(path))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _checked(content: bytes, place: str) -> str:
    """Return the kind of an image by its first bytes: what a name says is not to be trusted."""
    if len(content) > LARGEST_IMAGE:
        raise _too_large(place)
    for head, kind in _KINDS:
        if head.match(content):
            return kind
    raise DataError(f"{place}: neither PNG, JPEG, GIF nor WebP\n    convert the image")


def _too_large(place: str) -> DataError:
    return DataError(f"{place}: an image of more than 16 MiB\n    make it smaller: servers refuse such images")
