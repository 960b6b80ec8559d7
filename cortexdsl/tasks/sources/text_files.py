"""The text of a data file, in the encoding that its first bytes or the spec name."""

from __future__ import annotations

import codecs
from pathlib import Path

from cortexdsl.errors import DataError

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SHOWN = {"utf-8-sig": "UTF-8", "utf-16": "UTF-16"}
_SAMPLE = 4_096  # bytes that are looked at for UTF-16 without a byte order mark


def check_encoding(name: str) -> None:
    """Refuse the name of an encoding that Python does not know, or that is not one of texts.

    Raises
    ------
    DataError
    """
    try:
        is_text = codecs.lookup(name)._is_text_encoding
    except LookupError:
        is_text = False
    if not is_text:
        raise DataError(
            f"unknown encoding {name!r}\n    such as utf-8, windows-1252, utf-16 or iso-8859-1", word="encoding"
        )


def read_text(path: Path, encoding: str | None = None) -> str:
    """Read a file as text: UTF-8, or UTF-16 if it begins with a byte order mark, or as the spec says.

    Parameters
    ----------
    path : Path
    encoding : str or None
        The encoding that the spec names; None to take the file's own.

    Raises
    ------
    DataError
        The bytes do not fit the encoding, or contradict the one that the spec names; says where and what to write.
    """
    content = path.read_bytes()
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), None)
    if encoding is not None:
        check_encoding(encoding)
        if marked and codecs.lookup(encoding).name not in (_plain(marked), codecs.lookup(marked).name):
            raise DataError(
                f"{path}: it begins with the mark of {_SHOWN[marked]}, and the encoding is said to be {encoding}\n"
                "    remove the encoding",
                word="encoding",
            )
    elif marked is None and _looks_like_utf_16(content):
        order = "le" if content[1:2] == b"\0" else "be"
        raise DataError(f"{path}: it looks like UTF-16 without a byte order mark\n    write encoding: utf-16-{order}")
    try:
        return content.decode(marked or encoding or "utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        said = encoding or _SHOWN.get(marked or "", "UTF-8")
        remedy = (
            "name another encoding, or save the file as UTF-8"
            if encoding
            else (
                "save it as UTF-8 (Excel: `CSV UTF-8`), or name its encoding: Excel's plain CSV is often "
                "encoding: windows-1252"
            )
        )
        raise DataError(
            f"{path}:{line}: byte 0x{content[error.start]:02x} is not {said}\n    {remedy}", word="encoding"
        ) from None


def _plain(marked: str) -> str:
    """Return the encoding that a byte order mark stands for, without the mark."""
    return codecs.lookup(marked.removesuffix("-sig")).name


def _looks_like_utf_16(content: bytes) -> bool:
    """Tell whether every second byte of a beginning is 0, as it is for Latin letters in UTF-16."""
    sample = content[:_SAMPLE]
    return len(sample) > 1 and any(
        sample[first::2].count(0) > len(sample) * 0.4 and 0 not in sample[1 - first :: 2] for first in (0, 1)
    )
