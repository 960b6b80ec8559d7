"""Sums that come out the same in whatever order they are taken.

A sum of floats depends on its order, and libraries choose the order by the shape of what they are given: the same
prompt would get other last digits in another batch, and now and then another reply. Here the factors of a product of
matrices are whole numbers (floats scaled by powers of two and rounded), so few bits wide that no partial sum needs more
than the 53 bits of a double. Then every sum is exact, and so it does not depend on order, batch, padding, threads or
the library. What is lost is below 2**-20 of the largest entry of a row, which is less than float32 loses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cortexdsl.terms import Floats

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
