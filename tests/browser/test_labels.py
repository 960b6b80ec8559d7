"""Labels in the explorer as a person uses them: chips at turns, a filter, and labels of one's own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.metrics.labels import read_labels, write_labels
from cortexdsl.metrics.rows import LabelRow
from cortexdsl.records.links import find_link
from tests.explorer.experiments import plan, write_experiment
from tests.explorer.serving import serving


@pytest.fixture
def labelled(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """An experiment with labels of two turns, and its address with the token."""
    root = write_experiment(tmp_path / "results" / "made")
    (root / "plan.json").write_text(json.dumps(plan() | {"labels": {"gives_in": ["yes", "no"]}}))
    place = ("sums", "sparse", 1, "q-2")
    rows = [
        LabelRow(*place, 3, 1, "ann", "gives_in", "yes", "a" * 32),
        LabelRow(*place, 4, 1, "bob", "gives_in", None, "b" * 32),
    ]
    write_labels(root / "parts" / "sums" / "sparse" / "labels.csv", rows)
    with serving([ResultsFolder("made", root)], token="sesame") as address:
        yield root, f"{address}/?token=sesame"


def test_a_filter_leads_to_a_labelled_turn_which_a_person_labels(
    labelled: tuple[Path, str], new_page: Callable[..., Any]
) -> None:
    root, address = labelled
    page = new_page()
    page.goto(address)
    page.goto(f"{address.partition('?')[0]}{find_link('made')}")
    page.get_by_label("With label").select_option("gives_in")
    expect(page.get_by_role("status")).to_contain_text(re.compile(r"^1 debate of 24"))
    assert "label=gives_in" in page.url
    page.locator(".rows a").click()
    ann, bob = page.locator("article.turn").nth(3), page.locator("article.turn").nth(4)
    expect(ann.locator(".of-run")).to_have_text("gives_in")
    expect(bob.locator(".of-run")).to_have_text("gives_in: unreadable")
    page.get_by_label("hide those of the run").check(force=True)
    expect(ann.locator(".of-run")).to_be_hidden()
    ann.get_by_text("label this turn").click()
    ann.get_by_label("gives_in").select_option("no")
    expect(ann.locator("summary").first).to_have_text("your labels: gives_in: no")
    (row,) = read_labels(root.parent / "made.human-labels.csv")
    assert (row.cell, row.turn, row.label, row.value) == ("sparse", 3, "gives_in", "no")
    assert Axe().run(page).response["violations"] == []
    page.reload()
    expect(ann.locator("summary").first).to_have_text("your labels: gives_in: no")
