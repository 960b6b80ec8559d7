"""A Llama in numpy: the logits of tokens, with the keys and values of earlier tokens in a cache.

A sum of floats depends on its order, and libraries choose the order by the shape of their input: the same prompt would
get other last digits in another batch, and now and then another reply. Here the factors of a product of matrices are
whole numbers (floats scaled by powers of two and rounded) with so few bits that no partial sum needs more than the 53
bits of a double. So every sum is exact, and does not depend on order, batch, padding, threads or the library. The error
is below 2**-20 of the largest entry of a row, which is less than that of float32. Everything else works number by
number. So the logits of a sequence depend on its own tokens alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cortexdsl.core import Floats
from cortexdsl.errors import InputError
from cortexdsl_tiny.folder import Config

DOUBLE = 53
"""Bits of a whole number that a double holds."""


def bits_of(terms: int) -> int:
    """Return by how many bits a sum of so many terms can be wider than a term."""
    return max(0, int(terms - 1).bit_length())


def wholes(values: Floats, bits: int) -> tuple[Floats, Floats]:
    """Return rows as whole numbers of at most so many bits, and what to multiply them by.

    Parameters
    ----------
    values : array (..., n)
    bits : int

    Returns
    -------
    (array (..., n), array (..., 1))
        Whole numbers of at most `2**bits` in size, and powers of two.
    """
    _, exponent = np.frexp(np.max(np.abs(values), axis=-1, keepdims=True))
    return np.rint(values * np.ldexp(1.0, bits - exponent)), np.ldexp(1.0, exponent - bits)


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of weights that multiplies rows from the right.

    Attributes
    ----------
    wholes : array (n_in, n_out)
    scale : array (n_out,)
        Powers of two, one for each column.
    bits : int
        How wide the rows may be that are multiplied with it.
    """

    wholes: Floats
    scale: Floats
    bits: int

    @classmethod
    def of(cls, weights: Floats, bits: int) -> Matrix:
        """Make one of weights (n_out, n_in), as files hold them, for rows of so many bits."""
        found, scale = wholes(weights.astype(np.float64), DOUBLE - bits - bits_of(weights.shape[1]))
        return cls(np.ascontiguousarray(found.T), scale[:, 0], bits)

    def times(self, rows: Floats) -> Floats:
        """Multiply rows (n, n_in) of any numbers."""
        found, scale = wholes(rows, self.bits)
        return self.times_wholes(found, scale)

    def times_wholes(self, rows: Floats, scale: Floats) -> Floats:
        """Multiply rows (n, n_in) of whole numbers of at most `bits` bits, times their scale (n, 1)."""
        product: Floats = rows @ self.wholes
        product *= self.scale
        product *= scale
        return product


Ints = npt.NDArray[np.int64]
_Taken = Callable[..., Floats]

_SHARES = 30  # bits of exp(score - largest), whose sum over a window stays a whole number


@dataclass(frozen=True, slots=True)
class _Layer:
    attend: Matrix  # queries, keys and values at once; the norm before them is multiplied in
    merge: Matrix
    gate_up: Matrix  # both matrices at once; the norm before them is multiplied in
    down: Matrix


class Cache:
    """Keys and values of sequences, one slot each, as whole numbers and scales.

    Parameters
    ----------
    config : Config
    slots : int
    """

    def __init__(self, config: Config, slots: int) -> None:
        self._config = config
        self.length = 0
        c = config
        self.keys = np.zeros((c.layers, slots, c.groups, 0, c.head))
        self.values = np.zeros((c.layers, slots, c.groups, 0, c.head))
        self.key_scales = np.zeros((c.layers, slots, c.groups, 0))
        self.value_scales = np.zeros((c.layers, slots, c.groups, 0))

    def reserve(self, length: int) -> None:
        """Make room for sequences of so many tokens."""
        if length <= self.length:
            return
        more = min(self._config.window, max(length, 2 * self.length, 128)) - self.length
        for name in ("keys", "values", "key_scales", "value_scales"):
            old = getattr(self, name)
            pad = [(0, 0)] * old.ndim
            pad[3] = (0, more)
            setattr(self, name, np.pad(old, pad))
        self.length += more

    def copy(self, source: int, target: int, length: int) -> None:
        """Copy the first tokens of one slot to another."""
        for array in (self.keys, self.values, self.key_scales, self.value_scales):
            array[:, target, :, :length] = array[:, source, :, :length]


class Llama:
    """A model, made of its configuration and its weights by the names that Hugging Face gives them.

    Raises
    ------
    InputError
        A weight is missing or of another shape.
    """

    def __init__(self, config: Config, weights: Mapping[str, Floats]) -> None:
        self.config = c = config
        self._normed = (DOUBLE - bits_of(c.width)) // 2  # bits of a row whose squares are summed
        self._plain = 22
        self._values = 21
        self._attention = DOUBLE - self._values - bits_of(c.window)
        self._pairs = (DOUBLE - bits_of(c.head)) // 2

        def taken(name: str, *shape: int) -> Floats:
            found = weights.get(name)
            if found is None or found.shape != shape:
                there = "missing" if found is None else f"of shape {list(found.shape)}"
                raise InputError(f"the weight {name} is {there}, where config.json asks for {list(shape)}")
            return found.astype(np.float64)

        self._embedding = taken("model.embed_tokens.weight", c.vocabulary, c.width)
        self._layers = [self._layer(f"model.layers.{k}.", taken) for k in range(c.layers)]
        last = self._embedding if c.is_tied else taken("lm_head.weight", c.vocabulary, c.width)
        self._last = Matrix.of(last * taken("model.norm.weight", c.width), self._normed)
        # As PyTorch has them: frequencies and angles in single precision.
        steps = np.arange(0, c.head, 2, dtype=np.float32) / np.float32(c.head)
        frequencies = np.float32(1.0) / (np.float32(c.theta) ** steps)
        angles = (np.arange(c.window, dtype=np.float32)[:, None] * frequencies[None, :]).astype(np.float64)
        self._cos, self._sin = (np.rint(f(angles) * 2.0**30) / 2.0**30 for f in (np.cos, np.sin))

    def _layer(self, at: str, taken: _Taken) -> _Layer:
        c = self.config
        queries, keys = c.heads * c.head, c.groups * c.head
        before = taken(f"{at}input_layernorm.weight", c.width)
        after = taken(f"{at}post_attention_layernorm.weight", c.width)
        attend = [
            taken(f"{at}self_attn.{name}_proj.weight", size, c.width)
            for name, size in (("q", queries), ("k", keys), ("v", keys))
        ]
        feed = [taken(f"{at}mlp.{name}_proj.weight", c.hidden, c.width) for name in ("gate", "up")]
        return _Layer(
            attend=Matrix.of(np.concatenate(attend) * before, self._normed),
            merge=Matrix.of(taken(f"{at}self_attn.o_proj.weight", c.width, queries), self._plain),
            gate_up=Matrix.of(np.concatenate(feed) * after, self._normed),
            down=Matrix.of(taken(f"{at}mlp.down_proj.weight", c.width, c.hidden), self._plain),
        )

    def logits(self, tokens: Ints, starts: Ints, cache: Cache, first: int) -> Floats:
        """Process the next tokens of sequences, and return the logits after the last one of each.

        Parameters
        ----------
        tokens : array of int (n, t)
            The tokens of n sequences in neighbouring slots.
        starts : array of int (n,)
            How many tokens of each sequence the cache has.
        cache : Cache
            The new keys and values are added to it.
        first : int
            The slot of the first sequence.

        Returns
        -------
        array (n, vocabulary)

        Raises
        ------
        InputError
            The numbers overflow.
        """
        n, t = tokens.shape
        cache.reserve(int(starts.max()) + t)
        places = starts[:, None] + np.arange(t)
        x = self._embedding[tokens].reshape(n * t, -1)
        for k, layer in enumerate(self._layers):
            x = x + layer.merge.times(self._attend(k, self._normalised(x, layer.attend), places, cache, first))
            both = self._normalised(x, layer.gate_up)
            gate, up = both[:, : self.config.hidden], both[:, self.config.hidden :]
            x = x + layer.down.times(gate / (1.0 + _exp(-gate)) * up)
        found = self._normalised(x.reshape(n, t, -1)[:, -1], self._last)
        if not np.isfinite(found).all():
            raise InputError("the weights of the model are so large that its numbers overflow")
        return found

    def _normalised(self, x: Floats, matrix: Matrix) -> Floats:
        """Divide rows by their root mean square, and multiply them."""
        found, scale = wholes(x, self._normed)
        mean = np.einsum("nd,nd->n", found, found)[:, None] * scale**2 / self.config.width
        return matrix.times_wholes(found, scale / np.sqrt(mean + self.config.epsilon))

    def _attend(self, k: int, mixed: Floats, places: Ints, cache: Cache, first: int) -> Floats:
        c = self.config
        n, t = places.shape
        heads = mixed.reshape(n, t, -1, c.head).transpose(0, 2, 1, 3)
        queries, keys, values = heads[:, : c.heads], heads[:, c.heads : -c.groups], heads[:, -c.groups :]
        slots = slice(first, first + n)
        self._keep(k, self._turned(keys, places), values, places, cache, slots)
        asked, asked_scale = wholes(self._turned(queries, places), self._pairs)
        seen = int(places.max()) + 1
        shape = (n, c.groups, c.heads // c.groups * t)
        scores = asked.reshape(*shape, c.head) @ cache.keys[k, slots, :, :seen].transpose(0, 1, 3, 2)
        scores *= asked_scale.reshape(*shape, 1) / np.sqrt(c.head)
        scores *= cache.key_scales[k, slots, :, None, :seen]
        hidden = np.arange(seen) > places[:, None, None, :, None]
        scores = np.where(hidden, -np.inf, scores.reshape(n, c.groups, -1, t, seen)).reshape(*shape, seen)
        shares = np.rint(_exp(scores - scores.max(axis=-1, keepdims=True)) * 2.0**_SHARES)
        total = shares.sum(axis=-1, keepdims=True)
        weighed, scale = wholes(shares * cache.value_scales[k, slots, :, None, :seen], self._attention)
        heard = weighed @ cache.values[k, slots, :, :seen]
        heard *= scale / total
        return heard.reshape(n, c.heads, t, c.head).transpose(0, 2, 1, 3).reshape(n * t, -1)

    def _turned(self, heads: Floats, places: Ints) -> Floats:
        """Turn pairs of numbers by an angle that grows with the place: the rotary position code."""
        half = self.config.head // 2
        low, high = heads[..., :half], heads[..., half:]
        cos, sin = self._cos[places][:, None], self._sin[places][:, None]
        return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=3)

    def _keep(self, k: int, keys: Floats, values: Floats, places: Ints, cache: Cache, slots: slice) -> None:
        for found, bits, kept, scales in (
            (keys, self._pairs, cache.keys, cache.key_scales),
            (values, self._values, cache.values, cache.value_scales),
        ):
            whole, scale = wholes(found, bits)
            if len(places) == 1:
                at = slice(int(places[0, 0]), int(places[0, -1]) + 1)
                kept[k, slots, :, at] = whole
                scales[k, slots, :, at] = scale[..., 0]
            else:
                each, at_each = np.arange(slots.start, slots.stop)[:, None], places
                kept[k][each, :, at_each] = whole.transpose(0, 2, 1, 3)
                scales[k][each, :, at_each] = scale[..., 0].transpose(0, 2, 1)


def _exp(values: Floats) -> Floats:
    """Return exp in single precision, a few times as fast and exact enough."""
    with np.errstate(over="ignore"):  # exp(-gate) of a very small gate: 1 / (1 + inf) is the 0 that it should be
        return np.exp(values.astype(np.float32)).astype(np.float64)
