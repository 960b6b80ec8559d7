"""A folder of results from a stranger, with records made to break out of the explorer or of the folder it writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from cortexdsl.core import Agent
from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.explorer.static_site import write_static
from cortexdsl.records import Header, Record
from tests.explorer.experiments import MODEL, debate, plan, write_cell, write_experiment
from tests.explorer.serving import serving

NAMES = [
    "../../../outside",
    "/etc/passwd",
    "<script>alert(1)</script>",
    "__proto__",
    "\u202egnp.exe",
    "a" * 100_000,
    ".",
    "",
]


@pytest.fixture(params=range(len(NAMES)), ids=["up", "absolute", "markup", "proto", "turned", "long", "dot", "empty"])
def crafted(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """An experiment in which a question, an agent, a dataset and a text are named by an attacker."""
    name = NAMES[request.param]
    root = write_experiment(tmp_path / "results" / "made")
    made = debate("q-1", "sparse")
    turns = [replace(turn, speaker=name, text=f"\x1b]0;{name}\x07{name}", answer=name) for turn in made.turns]
    odd = replace(made, question_id=name, agents=(Agent(name, MODEL),), turns=tuple(turns), graphs=(), answer=name)
    write_cell(root, "sparse", found=[Record(Header("made", name, "sparse", 1), odd)])
    own = plan()
    own["questions"][name] = [name]
    own["title"] = name
    (root / "plan.json").write_text(json.dumps(own))
    return root, name


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_every_answer_of_the_server_is_data(crafted: tuple[Path, str]) -> None:
    """JSON that a browser parses, or a refusal with a status below 500; never a page made of a name."""
    root, name = crafted
    outside = files_in(root.parent.parent)
    with serving([ResultsFolder("made", root)]) as address:
        for path in ("experiment.json", "table.json", "progress.json"):
            answer = httpx.get(f"{address}/data/x/0/{path}")
            assert answer.status_code < 500, (path, answer.text[:200])
            assert answer.headers["Content-Type"].startswith(("application/json", "text/plain"))
            if answer.status_code == 200:
                answer.json()
        for path in (f"/report/made/{name[:200]}", f"/data/x/0/question.json?dataset={name[:50]}&question={name[:50]}"):
            assert httpx.get(httpx.URL(address).join(path)).status_code < 500
    new = {path for path in files_in(root.parent.parent) - outside if not path.is_relative_to(root)}
    assert new == set()


def test_the_written_explorer_stays_in_its_folder(crafted: tuple[Path, str], tmp_path: Path) -> None:
    """Files are named by numbers, so that no name of a record becomes a path."""
    root, name = crafted
    before = files_in(tmp_path)
    site = tmp_path / "deeper" / "than" / "the" / "way" / "up" / "site"
    write_static([ResultsFolder("made", root)], site)
    new = files_in(tmp_path) - before
    assert site / "index.html" in new
    assert all(path.is_relative_to(site) or path.is_relative_to(root) for path in new)
    assert (site / "index.html").read_bytes().count(b"<script>") <= 1
    last = name.rpartition("/")[2][:20]
    assert last in (".", "") or not [path for path in new if last in path.name]
