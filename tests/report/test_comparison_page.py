"""The page that `compare --report` writes of tables and logs, without an experiment."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from cortexdsl.cli.main import main

from .conftest import HOSTILE
from .test_report import Page

WEAK, STRONG = [1, 0, 1, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1, 1, 0]


def table(path: Path, cell: str, scores: list[int], prefix: str = "q") -> str:
    with path.open("w", newline="") as lines:
        rows = [(cell, 1, f"{prefix}{k}", score) for k, score in enumerate(scores)]
        csv.writer(lines).writerows([("cell", "replicate", "question_id", "score"), *rows])
    return str(path)


def page(path: Path, *command: str) -> Page:
    assert main(["compare", *command, "--report", str(path)]) == 0
    return Page(path.read_text(encoding="utf-8"))


def test_a_page_of_two_tables(tmp_path: Path) -> None:
    """Each claim with its verdict, every mean, every difference with its interval, every question that changed."""
    sources = table(tmp_path / "a.csv", "weak", WEAK), table(tmp_path / "b.csv", "strong", STRONG)
    found = page(tmp_path / "page.html", *sources, "--claim", "accuracy(strong) > accuracy(weak)")
    assert "The accuracy of strong is higher than that of weak. supported : +70.0 points [" in found.text
    for expected in (
        "weak 20.0 % [", "strong 90.0 % [", "10 questions, 1 replicate each.", "strong +70.0 points [",
        "Filled: significant after correction.", "strong against weak, question by question: higher on 7, ",
        "Higher q1, q3, q4, q5, q6, q7, q8", "paired by question",
        "p-values after Holm's correction",
    ):  # fmt: skip
        assert expected in found.text, expected
    figures = [attributes["id"] for tag, attributes in found.tags if tag == "figure"]
    assert figures == ["figure-accuracy", "figure-differences"]
    assert "exploratory" not in found.text


def test_the_page_stands_alone_and_is_the_same_again(tmp_path: Path) -> None:
    """No script, no picture or style from elsewhere, links only within the page; ids are unique."""
    sources = [
        table(tmp_path / f"{name}.csv", name, scores) for name, scores in zip("abc", (WEAK, STRONG, WEAK), strict=True)
    ]
    found = page(tmp_path / "one.html", *sources, "--claim", "accuracy(b) > accuracy(a)")
    page(tmp_path / "two.html", *sources, "--claim", "accuracy(b) > accuracy(a)")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in found.tags)
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in found.tags:
        for name in ("src", "href", "xlink:href", "action"):
            target = attributes.get(name)
            assert target is None or (target.startswith("#") and target[1:] in ids), (tag, target)
    text = (tmp_path / "one.html").read_text()
    assert set(re.findall(r"https?://[^\"' ]+", text)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert "Cells that cannot be told apart" in found.text


def test_a_page_of_logs_says_how_they_were_paired(tmp_path: Path) -> None:
    """Claims about logs are exploratory; samples that only one log has are counted."""
    for name, scores in {"weak": WEAK, "strong": [*STRONG, 1]}.items():
        folder = tmp_path / name
        folder.mkdir()
        samples = [
            {"doc_id": k, "doc": {"question": f"{k}?"}, "doc_hash": f"h{k}", "filter": "none", "filtered_resps": ["x"],
             "metrics": ["acc"], "acc": float(score)}
            for k, score in enumerate(scores)
        ]  # fmt: skip
        stamp = "2026-01-21T03-44-18.458309"
        (folder / f"samples_sums_{stamp}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))
        (folder / f"results_{stamp}.json").write_text(json.dumps({"model_name": name, "results": {}, "configs": {}}))
    claim = "accuracy(strong) > accuracy(weak)"
    found = page(
        tmp_path / "page.html", str(tmp_path / "weak"), str(tmp_path / "strong"), "--to", "weak", "--claim", claim
    )
    assert "The accuracy of strong is higher than that of weak. exploratory supported : +70.0 points" in found.text
    assert "Claims and comparisons about logs are exploratory" in found.text
    assert "10 questions" in found.text
    assert "What was paired, and what was not sums: 10 questions are in all 2 logs. Left out of samples_" in found.text
    assert "because not all logs have them: 1 question (10)." in found.text


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    """Names of cells and questions come from anywhere: they never become markup."""
    sources = (
        table(tmp_path / "a.csv", f"{HOSTILE} \u6a21\x07", WEAK, prefix=HOSTILE),
        table(tmp_path / "b.csv", 'b" onload="x', STRONG, prefix=HOSTILE),
        table(tmp_path / "c.csv", "</svg><img src=x onerror=alert(1)>", WEAK, prefix=HOSTILE),
    )
    found = page(tmp_path / "page.html", *sources)
    assert {"script", "img"}.isdisjoint(tag for tag, _ in found.tags)
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on")]
    assert f"Higher {HOSTILE}1, {HOSTILE}3" in found.text
    assert "\x07" not in (tmp_path / "page.html").read_text()


def test_the_page_beside_json_and_over_an_earlier_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An earlier page is replaced, as files of `export` are; the output of `--json` stays JSON."""
    sources = table(tmp_path / "a.csv", "weak", WEAK), table(tmp_path / "b.csv", "strong", STRONG)
    (tmp_path / "page.html").write_text("earlier")
    assert "Comparison with weak" in page(tmp_path / "page.html", *sources, "--json").text
    assert [json.loads(line)["cell"] for line in capsys.readouterr().out.splitlines()] == ["strong"]


def test_several_datasets_and_metrics(tmp_path: Path) -> None:
    """Each dataset has a panel and a row; a column of another program keeps its name and unit."""
    rows = [
        f"{dataset},{cell},1,{k},{int(k % 4 != 0)},{100 * (k + 1)}\n"
        for dataset in ("sums", "facts") for cell in ("a", "b") for k in range(8)
    ]  # fmt: skip
    (tmp_path / "s.csv").write_text("dataset,cell,replicate,question_id,score,wall_time\n" + "".join(rows))
    command = (str(tmp_path / "s.csv"), "--metric", "score", "--metric", "wall_time")
    text = page(tmp_path / "page.html", *command).text
    assert "8 questions of sums 8 questions of facts" in text
    assert "Wall time on every dataset" in text
    assert "wall_time: lower is better, by its name." in text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.csv", "a page is written to a file that ends in .html, such as page.html"),
        ("folder.html", "this is a folder; name a file, such as folder.html/page.html"),
        ("nowhere/page.html", "its folder does not exist"),
    ],
)
def test_a_place_that_is_not_for_a_page_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, expected: str
) -> None:
    """Before anything is computed, so that a log is not overwritten."""
    monkeypatch.chdir(tmp_path)
    Path("folder.html").mkdir()
    before = Path(table(Path("a.csv"), "weak", WEAK)).read_bytes()
    assert main(["compare", "a.csv", "--report", name]) == 2
    assert f"--report {name}: {expected}" in capsys.readouterr().err
    assert Path("a.csv").read_bytes() == before


def test_questions_that_some_cells_lack_are_counted(tmp_path: Path) -> None:
    rows = [f"{cell},1,q{k},{k % 2}" for k in range(9) for cell in "ab" if (cell, k) not in {("a", 1), ("b", 2)}]
    (tmp_path / "t.csv").write_text("\n".join(["cell,replicate,question_id,score", *rows]) + "\n")
    assert main(["compare", str(tmp_path / "t.csv"), "--report", str(tmp_path / "page.html")]) == 0
    assert "9 questions" in (tmp_path / "page.html").read_text()
