"""What a text asks of a tool: the lines that say so, or all of it."""

from __future__ import annotations

import re

MOST = 20
"""Requests that are taken from one text."""
LONGEST = 2_000
"""Characters of a request."""


def requests(text: str, word: str) -> list[str]:
    """Return the requests of a text.

    Parameters
    ----------
    text : str
    word : str
        What a line begins with that asks for something (`Search: who wrote Emma?`), in any case, perhaps in bold or
        in a list.

    Returns
    -------
    list of str
        What stands after the word, line by line, each once; the whole text in one line where no line has the word. At
        most `MOST`, each of at most `LONGEST` characters.
    """
    line = re.compile(rf"^[ \t>*_\-\d.)]*{re.escape(word)}[*_]*[ \t]*:[*_]*[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
    found = [match[1].strip(" \t*_`") for match in line.finditer(text)] or [" ".join(text.split())]
    return [request[:LONGEST] for request in dict.fromkeys(found) if request][:MOST]
