"""Numbers of cells and of differences lead to the debates that they were counted from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["metrics", "comparisons-main", "health"])
def test_every_number_of_a_cell_or_a_difference_is_a_link(reported: Path, name: str) -> None:
    """The first number of each row leads somewhere; what follows from it, such as its p, need not."""
    page = (reported / "report.html").read_text()
    [body] = re.findall(rf'<table id="table-{name}">(.*?)</table>', page, re.DOTALL)
    for row in re.findall(r'<tr>\n?(<th scope="row">.*?)</tr>', body, re.DOTALL):
        entries = re.findall(r'<td [^>]*class="number[^>]*><span>(.*?)</span></td>', row, re.DOTALL)
        first = next(one for one in entries if re.search(r"\d", re.sub("<.*?>", "", one)))
        assert "<a " in first or name == "health", (name, row)
    assert "/find?" in body
