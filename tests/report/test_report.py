"""The page, the figures, the tables and the terminal report, on invented results."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.errors import DataError
from cortexdsl.report.build import build_report
from cortexdsl.report.terminal import terminal_report
from tests.display.made import said as tallied
from tests.display.made import write as write_tallies

from .conftest import (
    COMPARISONS,
    HOSTILE,
    HYPOTHESES,
    SCORES,
    VERSIONS,
    write_results,
)

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """What is in a page: its visible words, tags, ids, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "svg"} & set(self._open):
            self.words.append(data)

    @property
    def text(self) -> str:
        joined = " ".join(self.words).replace("\u202f", " ").replace("\u00a0", " ").replace("\u2212", "-")
        return " ".join(joined.split())


def page_of(folder: Path, *, has_figures: bool = False) -> Page:
    """Build a report, and read its page."""
    return Page(build_report(folder, VERSIONS, has_figures=has_figures).read_text(encoding="utf-8"))


def page_in(folder: Path) -> Page:
    """Read the page of a report that was built."""
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def digests(folder: Path) -> dict[str, str]:
    """Every written file's digest, by its path."""
    made = [folder / "report.html", folder / "view.html"]
    made += sorted(path for kind in ("figures", "tables") for path in (folder / kind).rglob("*.*"))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in made}


def test_same_inputs_give_the_same_bytes(reported: Path, tmp_path: Path) -> None:
    """A report is a function of its tables: no clock, no random ids, in page, figures and tables alike."""
    second = write_results(tmp_path / "b")
    build_report(second, VERSIONS, threads=3)
    assert digests(reported) == digests(second)
    assert {path.split(".")[-1] for path in digests(reported)} == {"html", "svg", "pdf", "png", "csv", "md", "tex"}


def test_the_page_stands_alone(reported: Path) -> None:
    """No script, no picture from elsewhere, no link but to files beside it: it tells nobody that it was opened."""
    found = page_in(reported)
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in found.tags)
    for tag, attributes in found.tags:
        for name in ("src", "href", "xlink:href", "action"):
            target = attributes.get(name)
            is_beside = target is not None and (reported / target.partition("#")[0]).is_file()
            assert target is None or target.startswith("#") or is_beside, (tag, target)
    text = (reported / "report.html").read_text()
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_ids_are_unique_and_anchors_lead_somewhere(reported: Path) -> None:
    """Figures drawn apart share a page: their ids must not meet, and every reference must find its target."""
    found = page_in(reported)
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    text = (reported / "report.html").read_text()
    for target in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)|labelledby="([^"]+)"', text):
        assert next(filter(None, target)) in ids


def test_the_page_is_accessible(reported: Path) -> None:
    """Every drawing has a text alternative, every table a caption and headings with a scope, the page a language."""
    found = page_in(reported)
    drawings = [attributes for tag, attributes in found.tags if tag == "svg"]
    assert len(drawings) == 2 * 5  # for a page, and for a column
    assert all(attributes["role"] == "img" and len(attributes["aria-label"] or "") > 40 for attributes in drawings)
    counts = {tag: sum(name == tag for name, _ in found.tags) for tag in ("table", "caption", "h1")}
    assert counts["table"] == counts["caption"] > 3
    assert counts["h1"] == 1
    assert all("scope" in attributes for tag, attributes in found.tags if tag == "th")
    assert ("html", {"lang": "en"}) in found.tags


def test_the_answer_comes_first_and_is_plain(reported: Path) -> None:
    """Each claim reads as a sentence with its verdict, estimate, interval and p, before any table."""
    text = page_in(reported).text
    answer = "The accuracy of sparse is higher than that of vote."
    assert text.index(answer) < text.index("Accuracy and what it costs", text.index("The answer"))
    assert "supported : +13.0 points [+8.0, +18.0], adjusted p < .001" in text
    assert "contradicted : ratio 0.490 [0.470, 0.510], adjusted p < .001" in text
    assert "The accuracy of full is higher than that of vote. exploratory" in text
    assert "main 2 comparisons with full, 1 significant after Holm's correction accuracy sparse +5.0 points" in text
    assert "none significant without any correction for multiple comparisons accuracy none" in text
    assert "Of 35 calls in 3 debates, 2 calls brought no reply, 4 turns could not be read, and 1 debate ended" in text


@pytest.mark.parametrize(
    ("models", "line"),
    [
        (["builtin/solver"], "The agents here are a built-in solver, not language models."),
        (["builtin/solver", "openai/x"], "Some of the agents here are a built-in solver, not language models."),
        (["openai/x"], None),
    ],
)
def test_the_built_in_solver_is_named(tmp_path: Path, models: list[str], line: str | None) -> None:
    """Nobody may take the built-in solver's numbers for a language model's: page and terminal say so plainly."""
    agents = [{"name": f"a{number}", "model": model} for number, model in enumerate(models)]
    folder = write_results(tmp_path, agents=agents)
    for text in (page_of(folder).text, terminal_report(folder)):
        assert (line in text) if line else ("built-in" not in text)


@pytest.mark.usefixtures("svg_alone")
def test_hostile_words_stay_words(tmp_path: Path) -> None:
    """Titles, cells and notes come from anywhere: in no format may they become markup, a command or a column."""
    folder = write_results(tmp_path, title=HOSTILE, agents=[{"name": HOSTILE, "model": HOSTILE}])
    for name in ("metrics", "comparisons", "hypotheses", "rounds", "scores", "agents", "reliability", "persuasion"):
        path = folder / f"{name}.csv"
        rows = list(csv.reader(path.read_text().splitlines()))
        with path.open("w", newline="") as lines:
            csv.writer(lines).writerows(
                [HOSTILE if cell in ("vote", "a note") else cell for cell in row] for row in rows
            )
    found = page_of(folder, has_figures=True)
    assert "script" not in {tag for tag, _ in found.tags}
    assert HOSTILE in found.text
    markdown = (folder / "tables" / "metrics.md").read_text().splitlines()
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in markdown if line.startswith("|")}) == 1
    assert not re.search(r"(?<!\\)<script", "\n".join(markdown))
    latex = (folder / "tables" / "metrics.tex").read_text()
    assert "\\input{z}" not in latex
    assert r"\_x\_" in latex
    for drawing in (folder / "figures").rglob("*.svg"):
        ElementTree.fromstring(drawing.read_text())


def test_tables_keep_the_numbers(reported: Path) -> None:
    """The CSV beside the page has each number unrounded; the page and the other files round it."""
    rows = list(csv.DictReader((reported / "tables" / "metrics.csv").read_text().splitlines()))
    assert [row["cell"] for row in rows] == ["sparse", "sparse[keep=median]", "full", "vote"]
    assert rows[1]["input_tokens_per_agent"] == "2300.4"
    assert rows[0]["accuracy_ci_low"] == "0.7"
    assert "consensus" not in rows[0]
    health = list(csv.DictReader((reported / "tables" / "health.csv").read_text().splitlines()))
    assert health[0] == {
        "cell": "sparse", "debates": "2", "calls": "30", "failures": "2", "unparsed_turns": "3", "unparsed": "1",
        "unanswered": "1", "was_tied": "1", "ended_by_consensus": "1", "ended_by_rounds": "1",
    }  # fmt: skip


def test_several_datasets_have_a_column_each(tmp_path: Path) -> None:
    """As papers print them: a table for each metric, datasets side by side, the mean over them last."""
    folder = write_results(tmp_path)
    text = (folder / "metrics.csv").read_text()
    head, *rows = text.splitlines()
    more = [row.replace("arithmetic", name, 1) for name in ("all", "zeta") for row in rows]
    (folder / "metrics.csv").write_text("\n".join([head, *rows, *more]) + "\n")
    build_report(folder, VERSIONS, has_figures=False)
    head = (folder / "tables" / "accuracy.md").read_text().splitlines()[0]
    assert head == "| Cell | arithmetic | zeta | Mean |"


def test_little_is_needed(tmp_path: Path) -> None:
    """An experiment without claims, families or rounds has a page all the same, which says that nothing was tested."""
    folder = write_results(tmp_path, hypotheses=[], families=[])
    for name in ("comparisons", "hypotheses", "rounds", "scores", "agents", "reliability", "persuasion"):
        (folder / f"{name}.csv").unlink()
    text = page_of(folder).text
    assert "The spec states no claims" in text
    assert "There is no ledger, so nothing shows what was declared before the run." in text
    assert "vote" in terminal_report(folder)


@pytest.mark.usefixtures("svg_alone")
@pytest.mark.parametrize("claim", ["accuracy(sparse) > accuracy(vote) on these questions", "sparse beats vote somehow"])
def test_results_with_a_claim_of_another_version_are_reported(tmp_path: Path, claim: str) -> None:
    """The verdict stands in the table; that the form of its claim is gone costs neither the page nor a figure."""
    folder = write_results(tmp_path, hypotheses=[claim])
    table = folder / "hypotheses.csv"
    table.write_text(table.read_text().replace("accuracy(sparse) > accuracy(vote)", claim))
    assert claim in page_of(folder, has_figures=True).text
    assert (folder / "figures" / "cost.svg").exists()
    assert claim in terminal_report(folder)


@pytest.mark.usefixtures("svg_alone")
def test_results_with_a_metric_of_another_version_are_reported(tmp_path: Path) -> None:
    """A metric that this version does not compute is shown by its name."""
    folder = write_results(tmp_path, metrics=["accuracy", "risk_at_80"])
    table = folder / "metrics.csv"
    first = next(line for line in table.read_text().splitlines() if ",accuracy," in line)
    table.write_text(table.read_text() + first.replace(",accuracy,", ",risk_at_80,") + "\n")
    assert "risk at 80" in page_of(folder).text.lower().replace("_", " ")
    assert "risk_at_80" in (folder / "tables" / "metrics.csv").read_text()


def test_the_page_holds_the_spec_and_what_it_extends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spec that leans on another is not to be understood without it."""
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    Path("specs/_parts.yaml").write_text("seed: 4711\n")
    Path("specs/own.yaml").write_text("extends: _parts.yaml\ntitle: <b>mine</b>\n")
    folder = write_results(tmp_path / "results", spec="specs/own.yaml")
    text = page_of(folder).text
    assert (
        text.index("What it extends, specs/_parts.yaml")
        < text.index("seed: 4711")
        < text.index("The spec, specs/own.yaml")
    )
    assert "<b>mine</b>" not in (folder / "report.html").read_text()
    Path("specs/_parts.yaml").unlink()
    text = page_of(folder).text
    assert "extends: _parts.yaml" in text
    assert "4711" not in text


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """A reader of an error knows which file, line and column, and what to do."""
    with pytest.raises(DataError, match=r"nowhere/plan\.json is missing\n    run the experiment first: cortexdsl run"):
        build_report(tmp_path / "nowhere")
    folder = write_results(tmp_path)
    (folder / "metrics.csv").write_text("dataset,cell\na,b\n")
    with pytest.raises(DataError, match=r"metrics\.csv: no column metric; it has dataset, cell"):
        build_report(folder, VERSIONS, has_figures=False)
    (folder / "metrics.csv").write_text("dataset,cell,metric,estimate\na,b,accuracy,high\n")
    with pytest.raises(DataError, match=r"metrics\.csv:2: estimate is 'high', not a number"):
        build_report(folder, VERSIONS, has_figures=False)
    (folder / "plan.json").write_text("{")
    with pytest.raises(DataError, match=r"plan\.json: .* JSON"):
        terminal_report(folder)


@pytest.mark.parametrize("columns", [60, 80, 96])
def test_the_terminal_report_is_no_wider_than_the_terminal(
    reported: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    *lines, last = terminal_report(reported).splitlines()
    assert max(map(len, lines)) <= columns
    assert str(reported / "report.html") in last  # whole, to be copied


def test_the_terminal_report_has_no_colour_unasked(reported: Path) -> None:
    """Logs and pipes get plain text of at most 96 columns; a terminal may have colour."""
    text = terminal_report(reported)
    assert max(map(len, text.splitlines()[:-1])) <= 96
    assert "\x1b" not in text
    assert "SUPPORTED: +13.0 points [+8.0, +18.0], adjusted p < .001" in text
    assert re.search(r"^  cell +accuracy \(%\) +input tokens per agent", text, re.MULTILINE)
    assert re.search(r"^  sparse\[keep=median\] +71\.0 \[66\.0, 76\.0\] +2,300 \[2,250, 2,350\]$", text, re.MULTILINE)
    assert text.rstrip().endswith("report.html")
    assert "\x1b[32mSUPPORTED\x1b[0m" in terminal_report(reported, is_coloured=True)


def test_questions_are_whole_numbers(results: Path) -> None:
    """40 questions, not 40.0; and one replicate is one."""
    text = (results / "metrics.csv").read_text()
    (results / "metrics.csv").write_text(text.replace(",100,3", ",40,1"))
    plan = json.loads((results / "plan.json").read_text())
    plan["questions"] = {"arithmetic": [f"q{number}" for number in range(40)]}
    (results / "plan.json").write_text(json.dumps(plan))
    said = page_of(results).text
    assert "40 questions, 1 replicate each." in said
    assert "40.0 questions" not in said


def test_what_was_tested_and_which_interval_is_which_is_said_to_every_reader(tmp_path: Path) -> None:
    """The page and the terminal say what p means, once how it was tested, and what single rows must say."""
    folder = write_results(tmp_path / "invented")
    lines = COMPARISONS.splitlines()
    added = [
        ",ci_low_simultaneous,ci_high_simultaneous,null,note",
        ",0.002,0.098,zero,",
        ",-0.14,0.01,zero,it lacks one",
    ]
    rows = [line + more for line, more in zip(lines, [*added, ",-0.09,0.01,zero,"], strict=True)]
    (folder / "comparisons.csv").write_text("\n".join(rows) + "\n")
    claims = HYPOTHESES.splitlines()
    (folder / "hypotheses.csv").write_text(
        "\n".join([claims[0] + ",null,leans", claims[1] + ",no difference: two-sided,leans for it"]) + "\n"
    )
    page, text = " ".join(page_of(folder).text.split()), " ".join(terminal_report(folder, has_how=True).split())
    for shown in (page, text.replace("\u2212", "-")):
        assert "Leans for it." in shown
        assert shown.count("p says how often an estimate at least this far") == 1
        assert "widened so that all of its family are right at once in 95 % of experiments (Bonferroni)." in shown
        assert "vote, accuracy, arithmetic: it lacks one." in shown
        assert "sparse +5.0 points [+0.2, +9.8]" in shown
    brief = " ".join(terminal_report(folder).split())
    assert "vote, accuracy, arithmetic: it lacks one." in brief
    assert "p says" not in brief


def test_a_replicate_that_one_cell_lacks_is_said(tmp_path: Path) -> None:
    """sparse has replicates 1 and 2, vote only 1."""
    folder = write_results(tmp_path / "invented")
    (folder / "scores.csv").write_text(SCORES + SCORES.splitlines()[1].replace("sparse,1,", "sparse,2,") + "\n")
    for shown in (page_of(folder).text, terminal_report(folder)):
        assert "Whole replicates are missing: vote on arithmetic lacks replicate 2." in " ".join(shown.split())


def test_a_report_whose_cells_lost_many_calls_begins_with_that(tmp_path: Path) -> None:
    """2 of 30 calls of one cell brought nothing: above 5 %, and below 10 %."""
    folder = write_results(tmp_path / "lost", limits={"failed": 0.05})
    said = "In 1 of 2 cells more than 0.05 of the calls brought no reply: sparse (2 of 30)."
    build_report(folder, VERSIONS, has_figures=False)
    page = (folder / "report.html").read_text()
    assert 0 < page.index(said) < page.index("<h1>")
    assert said in " ".join(terminal_report(folder).split())
    few = write_results(tmp_path / "few", limits={"failed": 0.1})
    build_report(few, VERSIONS, has_figures=False)
    assert "brought no reply: " not in (few / "report.html").read_text()


def test_a_report_with_a_step_that_was_not_read_begins_with_that(tmp_path: Path) -> None:
    """As the jobs counted it: 30 of 30 reviews of one cell."""
    plan = json.loads((write_results(tmp_path / "unread") / "plan.json").read_text())
    cells = [cell | {"slug": f"slug-{k}"} for k, cell in enumerate(plan["cells"])]
    folder = write_results(tmp_path / "unread", cells=cells)
    unread = [["review", "review", 30, 30], ["answer", "answer", 1, 30]]
    write_tallies(folder / "spent", tallied(cell="slug-0", unread=unread))
    said = f"Most replies of step review could not be read as a review: {cells[0]['cell']} (30 of 30)."
    build_report(folder, VERSIONS, has_figures=False)
    page = (folder / "report.html").read_text()
    assert 0 < page.index(said) < page.index("<h1>")
    assert said in " ".join(terminal_report(folder).split())


def test_a_report_reads_each_table_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of a large experiment takes seconds to read."""
    folder = write_results(tmp_path / "invented")
    opened: Counter[str] = Counter()
    whole = Path.open

    def counting(path: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        opened[path.name] += "r" in mode and path.parent == folder
        return whole(path, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", counting)
    for build in (partial(build_report, has_figures=False), terminal_report):
        opened.clear()
        build(folder)
        tables = {name: times for name, times in opened.items() if name.endswith(".csv") and times}
        assert {"scores.csv", "metrics.csv", "hypotheses.csv"} <= set(tables)
        assert set(tables.values()) == {1}


def test_pairs_are_counted_as_pairs_and_as_questions(results: Path) -> None:
    """Each pair is two questions, so that 100 questions alone would say twice what a reader compares."""
    write_results(results, datasets={"arithmetic": {"kind": "pair"}})
    for text in (page_of(results).text, terminal_report(results)):
        assert "100 questions (50 pairs in both orders)" in " ".join(text.replace("\xa0", " ").split())


def test_questions_without_right_answers_have_no_heading_about_accuracy(results: Path) -> None:
    write_results(results, datasets={"arithmetic": {"kind": "open"}})
    text = page_of(results).text
    assert "Accuracy and what it costs" not in text
    assert "What was measured" in text


def test_each_table_stands_on_the_page_once(reported: Path) -> None:
    found = re.findall(r'<table id="(table-[^"]+)"', (reported / "report.html").read_text())
    assert {"table-metrics", "table-agents"} <= set(found)
    assert len(found) == len(set(found))
