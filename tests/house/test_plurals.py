"""Counts in messages: `1 call`, never `1 calls`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cortexdsl.numbers import counted

PACKAGE = Path(__file__).parents[2] / "cortexdsl"
NOUNS = "calls|replies reused|rows written|rows appear|counterfactuals|debate jobs|judgements|more batches"
PLURAL_ALWAYS = re.compile(rf"\bf\"[^\"]*\{{[^{{}}]*(asked|shared|sent|known|len\([^{{}}]*\))[^{{}}]*\}} ({NOUNS})\b")


@pytest.mark.parametrize(("count", "text"), [(0, "0 calls"), (1, "1 call"), (1200, "1,200 calls")])
def test_counted(count: int, text: str) -> None:
    """One is singular, everything else is plural."""
    assert counted(count, "call") == text


def test_messages_use_counted() -> None:
    """Messages write counts by `counted`, not as a number before a fixed plural."""
    lines = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PLURAL_ALWAYS.search(line)
    ]
    assert not lines, "\n".join(lines)
