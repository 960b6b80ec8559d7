"""Labels in the explorer: those of the run at their turns, and human ones, which go into one file and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import httpx
import pytest

from cortexdsl.explorer import human_labels
from cortexdsl.explorer.experiment import OpenExperiment
from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.metrics.labels import read_labels, write_labels
from cortexdsl.metrics.rows import LabelRow
from tests.explorer.experiments import plan, write_experiment
from tests.explorer.serving import serving

ROWS = [
    LabelRow("sums", "sparse", 1, "q-1", 3, 1, "ann", "gives_in", "yes", "a" * 32),
    LabelRow("sums", "sparse", 1, "q-1", 4, 1, "bob", "gives_in", None, "b" * 32),
    LabelRow("sums", "sparse", 1, "q-1", 5, 1, "cy", "gives_in", "no", None),
    LabelRow("sums", "sparse", 1, "q-1", 3, 1, "ann", "move", "follows", "c" * 32),
    LabelRow("sums", "sparse", 2, "q-2", 3, 1, "ann", "gives_in", "yes", "d" * 32),
]


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """An experiment with labels of some turns."""
    root = write_experiment(tmp_path / "results" / "made")
    labels = {"gives_in": ["yes", "no"], "move": ["checks", "follows", "ignores"]}
    (root / "plan.json").write_text(json.dumps(plan() | {"labels": labels}))
    write_labels(root / "parts" / "sums" / "sparse" / "labels.csv", ROWS)
    return root


@pytest.fixture
def browser(labelled: Path) -> Iterator[httpx.Client]:
    """A browser that has opened the printed address."""
    with serving([ResultsFolder("made", labelled)], token="sesame") as address:
        own = {"Origin": address, "Sec-Fetch-Site": "same-origin"}
        with httpx.Client(base_url=address, headers=own) as client:
            assert client.get("/?token=sesame").status_code == 303
            yield client


def number(browser: httpx.Client, replicate: int = 1, question: str = "q-1", cell: str = "sparse") -> int:
    table = browser.get("/data/x/0/table.json").json()
    columns = table["debates"]
    questions = [name for _, name, _ in table["questions"]]
    places = zip(columns["question"], columns["cell"], columns["replicate"], columns["id"], strict=True)
    wanted = questions.index(question), table["cells"].index(cell), replicate
    return next(found for *place, found in places if tuple(place) == wanted)


def write(browser: httpx.Client, **given: Any) -> httpx.Response:
    body = {"debate": number(browser), "turn": 3, "label": "gives_in", "value": "no"} | given
    return browser.post("/data/x/0/label.json", json=body)


def files(root: Path) -> dict[str, bytes]:
    """All files of the folder of results; the index is the explorer's own."""
    found = (path for path in root.rglob("*") if path.is_file() and not path.name.startswith(".explorer"))
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_labels_stand_at_their_turns_and_filter_debates(browser: httpx.Client) -> None:
    debate = browser.get(f"/data/x/0/debates/{number(browser)}.json").json()
    assert debate["labels"] == {
        "3": {"gives_in": "yes", "move": "follows"}, "4": {"gives_in": None}, "5": {"gives_in": "no"}
    }  # fmt: skip
    table = browser.get("/data/x/0/table.json").json()
    found = {name: [table["debates"]["id"][row] for row in rows] for name, rows in table["labels"].items()}
    first = number(browser)
    assert found == {
        "gives_in": [first, number(browser, 2, "q-2")], "gives_in: unreadable": [first], "move: follows": [first]
    }  # fmt: skip
    assert browser.get("/data/x/0/experiment.json").json()["labels"]["move"] == ["checks", "follows", "ignores"]


def test_a_human_label_is_written_beside_the_results_and_changes_none_of_them(
    browser: httpx.Client, labelled: Path
) -> None:
    before = files(labelled)
    assert write(browser).json() == {"3": {"gives_in": "no"}}
    assert write(browser, label="move", value="checks").json() == {"3": {"gives_in": "no", "move": "checks"}}
    assert write(browser, value="yes").json() == {"3": {"gives_in": "yes", "move": "checks"}}  # another mind
    path = labelled.parent / "made.human-labels.csv"
    assert [(row.turn, row.speaker, row.label, row.value) for row in read_labels(path)] == [
        (3, "ann", "move", "checks"),
        (3, "ann", "gives_in", "yes"),
    ]
    assert files(labelled) == before
    shown = browser.get(f"/data/x/0/debates/{number(browser)}.json").json()
    assert shown["human"] == {"3": {"gives_in": "yes", "move": "checks"}}
    assert shown["labels"]["3"]["gives_in"] == "yes"
    write(browser, label="move", value="")
    assert write(browser, value="").json() == {}
    assert read_labels(path) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"value": "maybe"}, "'maybe' is not a value of gives_in"),
        ({"turn": 0}, "no label 'gives_in' of this turn"),
        ({"label": "../../etc/passwd"}, "of this turn"),
        ({"debate": 999999}, "no such debate"),
    ],
)
def test_a_label_that_the_run_does_not_have_is_refused(
    browser: httpx.Client, labelled: Path, given: dict[str, Any], said: str
) -> None:
    answer = write(browser, **given)
    assert (answer.status_code, said in answer.text) == (409, True)
    assert list(labelled.parent.iterdir()) == [labelled]


def test_only_the_explorers_own_page_writes(browser: httpx.Client, labelled: Path) -> None:
    """Other sites, forms, programs without the token, and every other address and method."""
    body = {"debate": number(browser), "turn": 3, "label": "gives_in", "value": "no"}
    address = str(browser.base_url).rstrip("/")
    path = f"{address}/data/x/0/label.json"
    cookies = dict(browser.cookies)
    own = {"Origin": address}

    def status(headers: dict[str, str], url: str = path, method: str = "POST", cookies: Any = cookies) -> int:
        return httpx.request(method, url, json=body, headers=headers, cookies=cookies).status_code

    assert status({}) == 403
    assert status({"Origin": "https://evil.example"}) == 403
    assert status({"Origin": "null"}) == 403
    assert status(own | {"Sec-Fetch-Site": "cross-site"}) == 403
    assert status(own | {"Sec-Fetch-Site": "none"}) == 403
    assert status(own | {"Host": "evil.example"}) == 403
    assert status(own | {"Content-Type": "text/plain"}) == 403
    assert status(own, cookies={}) == 401
    assert status(own, url=f"{path}?token=sesame", cookies={}) == 401
    assert status(own, method="PUT") == 405
    assert status(own, url=f"{address}/data/x/0/debates/1.json") == 405
    assert status(own, url=f"{address}/data/x/7/label.json") == 404
    assert list(labelled.parent.iterdir()) == [labelled]
    assert status(own) == 200


@pytest.mark.parametrize("content", [
    b"{", b"[]", b'{"debate": "a"}', b"x" * 20_000, b"\xff",
    b'{"debate": Infinity, "turn": 3, "label": "gives_in", "value": "no"}',
    b'{"debate": 1, "turn": 1e30, "label": "gives_in", "value": "no"}',
    b'{"debate": 1, "turn": 3, "label": "\\ud800", "value": "no"}',
])  # fmt: skip
def test_what_is_not_a_label_is_refused(browser: httpx.Client, labelled: Path, content: bytes) -> None:
    sent = {"Content-Type": "application/json"}
    assert browser.post("/data/x/0/label.json", content=content, headers=sent).status_code in (400, 413)
    assert list(labelled.parent.iterdir()) == [labelled]


@pytest.mark.parametrize(("host", "token"), [("0.0.0.0", "sesame"), ("127.0.0.1", None)])
def test_an_explorer_that_others_reach_writes_nothing(labelled: Path, host: str, token: str | None) -> None:
    with serving([ResultsFolder("made", labelled)], host=host, token=token) as address, httpx.Client() as browser:
        browser.base_url, browser.headers["Origin"] = httpx.URL(address), address
        browser.get(f"/?token={token}")
        assert not browser.get("/data/experiments.json").json()["can_label"]
        assert write(browser).status_code == 403
    assert list(labelled.parent.iterdir()) == [labelled]


@pytest.mark.parametrize("content", [b"mine,alone\n1,2\n", b"\xff\n", b"a" * 200_000 + b"\n1\n"])
def test_a_file_that_is_not_one_of_labels_is_kept(browser: httpx.Client, labelled: Path, content: bytes) -> None:
    path = labelled.parent / "made.human-labels.csv"
    path.write_bytes(content)
    answer = write(browser)
    assert (answer.status_code, "mend this file, or move it away" in answer.text) == (409, True)
    assert path.read_bytes() == content


def test_a_file_that_was_cut_is_kept(browser: httpx.Client, labelled: Path) -> None:
    path = labelled.parent / "made.human-labels.csv"
    assert write(browser).status_code == 200
    whole = path.read_bytes()
    for length in range(len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert write(browser, value="yes").status_code == 409
        assert path.read_bytes() == whole[:length]


def test_two_browsers_label_at_once(browser: httpx.Client, labelled: Path) -> None:
    given = [{"turn": 3}, {"turn": 4}, {"turn": 5}, {"label": "move", "value": "checks"}] * 5
    with ThreadPoolExecutor(8) as pool:
        assert {answer.status_code for answer in pool.map(lambda each: write(browser, **each), given)} == {200}
    assert len(read_labels(labelled.parent / "made.human-labels.csv")) == 4


def test_two_explorers_of_one_folder_wait_for_each_other(labelled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reads the file, adds its label and writes the whole: without a lock that both know, one label is lost."""
    both = [OpenExperiment(ResultsFolder("made", labelled)) for _ in range(2)]
    both[0].catch_up()
    waiting = Barrier(2)

    def slow(path: Path, rows: list[LabelRow]) -> None:
        with suppress(BrokenBarrierError):
            waiting.wait(0.5)
        write_labels(path, rows)

    monkeypatch.setattr(human_labels, "write_labels", slow)
    with both[0].store.reading() as db:
        (debate,) = db.execute("SELECT id FROM debates WHERE question = 'q-1' AND cell = 'sparse' AND replicate = 1"
                               ).fetchone()  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda each, turn: each.human_labels.put(debate, turn, "gives_in", "no"), both, (3, 4)))
    assert sorted(row.turn for row in read_labels(labelled.parent / "made.human-labels.csv")) == [3, 4]


def test_a_link_in_place_of_the_file_is_replaced_and_not_followed(browser: httpx.Client, labelled: Path) -> None:
    target = labelled.parent / "other.csv"
    write_labels(target, [])
    before = target.read_bytes()
    (labelled.parent / "made.human-labels.csv").symlink_to(target)
    assert write(browser).status_code == 200
    assert target.read_bytes() == before
    assert not (labelled.parent / "made.human-labels.csv").is_symlink()
