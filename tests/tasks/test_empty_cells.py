"""The remedy for a row without a value says whether its cell is empty or its column is missing."""

from __future__ import annotations

import pytest

from cortexdsl.errors import DataError
from cortexdsl.tasks.items import _lacks


class Entry:
    """A dataset entry with the columns of its questions."""

    name = "exam"
    question = "Frage"


@pytest.mark.parametrize(
    ("row", "remedy"),
    [
        ({"Frage": "", "Key": ""}, "the cell of column 'Frage' is empty: fill it in, or remove the row"),
        ({"Text": "", "Key": ""}, "the row has: Text, Key; name the column: question: COLUMN"),
    ],
)
def test_remedy(row, remedy):
    """An empty cell is not reported as a column that must be named."""
    error = _lacks(Entry(), row, "exam.csv, row 2", "question")
    assert isinstance(error, DataError)
    assert str(error).splitlines()[1].strip() == remedy
