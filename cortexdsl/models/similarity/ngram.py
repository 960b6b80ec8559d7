"""A text as a vector without a model: counts of its words and of its runs of three bytes, hashed.

Nothing is downloaded and nothing learned: this tells how alike two texts are as strings, not whether they mean
the same. It is the same on every machine.
"""

from __future__ import annotations

import itertools
import re
import zlib

import numpy as np

from cortexdsl.terms import Floats

WORDS, GRAMS = 1024, 2048
WIDTH = WORDS + GRAMS
_WORD = re.compile(r"\w+")
_MULTIPLIER = np.uint32(2654435761)  # Knuth's multiplicative hashing: 2**32 over the golden ratio


def ngram_vector(text: str) -> Floats:
    """Return the unit vector of a text; the zero vector where it holds nothing but space.

    Notes
    -----
    The text is lower-cased and its runs of space become one. Words (`\\w+`) and pairs of neighbouring words fall
    into 1,024 places by CRC-32; every three neighbouring bytes b0 b1 b2 of UTF-8 into 2,048 others by the upper
    11 bits of (65536 b0 + 256 b1 + b2) * 2654435761 mod 2**32. A place counts log(1 + hits); the half of words
    and the half of bytes are scaled to the same length.
    """
    words = text.lower().split()
    flat = " ".join(words)
    if not flat:
        return np.zeros(WIDTH)
    units = _WORD.findall(flat)
    units += [f"{first} {second}" for first, second in itertools.pairwise(units)]
    places = [zlib.crc32(unit.encode("utf-8", "surrogatepass")) % WORDS for unit in units]
    data = np.frombuffer(f" {flat} ".encode("utf-8", "surrogatepass"), dtype=np.uint8).astype(np.uint32)
    codes = (data[:-2] << np.uint32(16)) | (data[1:-1] << np.uint32(8)) | data[2:]
    grams = (codes * _MULTIPLIER) >> np.uint32(32 - 11)
    halves = (np.bincount(places, minlength=WORDS) if places else np.zeros(WORDS), np.bincount(grams, minlength=GRAMS))
    return unit_vector(np.concatenate([unit_vector(np.log1p(half)) for half in halves]))


def unit_vector(vector: Floats) -> Floats:
    """Return a vector scaled to length 1; the zero vector stays."""
    length = float(np.sqrt(np.dot(vector, vector)))
    return np.asarray(vector / length if length > 0 else vector, dtype=np.float64)
