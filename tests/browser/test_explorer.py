"""The explorer as a person uses it: filters, links, keys, both themes, a narrow window, a screen reader's view."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from cortexdsl.cli.main import main
from cortexdsl.core import Call, FunctionCall, Measured, ProbeCall, RoleChoice, ToolRequest, ToolUse
from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.explorer.static_site import write_static
from cortexdsl.explorer.store import IndexStore
from cortexdsl.models.call_log.folder import CallLogs
from cortexdsl.models.call_log.records import call_record
from cortexdsl.models.transports.interface import Raw, TokenCounts
from cortexdsl.records import Record, read_debates, write_debates
from cortexdsl.records.links import experiment_link, find_link
from tests.display.made import said, write
from tests.explorer.experiments import (
    CELLS,
    MODEL,
    odd_records,
    plan,
    records,
    with_words,
    write_cell,
    write_experiment,
)
from tests.explorer.serving import serving, serving_files
from tests.tasks.test_images import png, uri


def question_link(
    experiment: str, dataset: str, question: str, *, cells: Sequence[str] = (), replicate: int | None = None
) -> str:
    """The address of a question, as `cortexdsl.records.links` describes it; a lone surrogate is U+FFFD."""
    path = "/".join(quote(part.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), safe="")
                    for part in (dataset, question))  # fmt: skip
    filters = [("cell", cell) for cell in cells] + [("replicate", str(replicate))] * (replicate is not None)
    query = f"?{urlencode(filters, quote_via=quote, safe='')}" if filters else ""
    return f"{experiment_link(experiment)}/q/{path}{query}"


PAGES = (
    "#/together",
    experiment_link("made"),
    find_link("made"),
    question_link("made", "sums", "q-2", cells=CELLS[:2], replicate=1),
)
DEBATES = 4 * 3 * 2


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[ResultsFolder]:
    folder = tmp_path_factory.mktemp("explorer") / "results"
    return [ResultsFolder(name, write_experiment(folder / name, name)) for name in ("made", "again")]


@pytest.fixture(scope="module")
def address(places: list[ResultsFolder]) -> Iterator[str]:
    with serving(places) as address:
        yield f"{address}/"


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    return new_page(viewport={"width": 1280, "height": 900})


def is_there(page: Any) -> None:
    """Wait until a page shows what it is about, and nothing is under way."""
    page.wait_for_selector("main h1")
    page.wait_for_selector("main[aria-busy=true]", state="detached")
    if page.locator(".count").count():
        expect(page.locator(".count")).not_to_have_text(re.compile("^(Reading|Searching)"))


def found(page: Any) -> int:
    """How many debates a list says there are."""
    is_there(page)
    return int(re.match(r"[\d,]+", page.inner_text(".count"))[0].replace(",", ""))  # type: ignore[index]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_readable_by_a_screen_reader_in_both_themes(address: str, new_page: Any, theme: str) -> None:
    page = new_page(color_scheme=theme, viewport={"width": 1280, "height": 900})
    for fragment in PAGES:
        page.goto(address + fragment)
        is_there(page)
        page.wait_for_selector("main .scroll, main .rows, main .cell")
        result = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
        assert result.violations_count == 0, f"{fragment}\n{result.generate_report()}"
        page.goto("about:blank")


def test_nothing_is_wider_than_a_telephone(address: str, new_page: Any) -> None:
    page = new_page(viewport={"width": 360, "height": 740})
    for fragment in PAGES:
        page.goto(address + fragment)
        is_there(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, fragment


@pytest.mark.parametrize(
    ("filters", "debates"),
    [
        ({}, DEBATES),
        ({"cell": "sparse"}, 8),
        ({"cell": ["sparse", "full"]}, 16),
        ({"replicate": 2}, 12),
        ({"marks": ["wrong"]}, 8),  # q-2 everywhere, q-3 in full
        ({"marks": ["tied"]}, 6),  # q-4
        ({"marks": ["unread"]}, 6),
        ({"marks": ["failed"]}, 0),
        ({"marks": ["to-right"]}, 4),  # q-1 in the two cells that talk
        ({"marks": ["to-wrong"]}, 6),  # q-2 in both that talk, q-3 in full
        ({"marks": ["to-wrong", "right"]}, 0),
        ({"right": "sparse", "wrong": "full"}, 2),
        ({"right": "full", "wrong": "sparse"}, 0),
        ({"apart": ("full", "sparse")}, 2),
        ({"text": "cannot say"}, 6),
        ({"agent": "ann"}, DEBATES),
    ],
)
def test_an_address_finds_what_was_made(address: str, page: Any, filters: dict[str, Any], debates: int) -> None:
    page.goto(address + find_link("made", **filters))
    assert found(page) == debates


def test_filters_change_the_address_and_the_address_is_enough(address: str, page: Any) -> None:
    page.goto(address + find_link("made"))
    is_there(page)
    page.get_by_label("Cell", exact=True).select_option("full")
    page.locator(".chip").get_by_text("wrong", exact=True).click()
    page.get_by_label("First").select_option("tokens")
    assert found(page) == 4
    page.get_by_label("Words that were said").fill("round 1")
    page.wait_for_url("**text=round%201**")
    assert found(page) == 4
    assert "cell=full" in page.url
    assert "is=wrong" in page.url
    assert "sort=tokens" in page.url
    page.reload()
    assert found(page) == 4
    assert page.get_by_label("Words that were said").input_value() == "round 1"
    page.get_by_text("no filter").click()
    assert found(page) == DEBATES


def test_from_a_verdict_to_the_sentence_that_flipped_a_question_in_two_clicks(address: str, page: Any) -> None:
    page.goto(address + experiment_link("made"))
    page.get_by_text("accuracy(sparse) > accuracy(full)").click()
    assert found(page) == 2
    page.locator(".rows a").first.click()
    is_there(page)
    quote = page.locator(".cell[aria-label=full] .changes .quote")
    assert quote.count() == 0  # ann and bob were led astray by nobody: they heard 7 and said 3
    changes = page.locator(".cell[aria-label=full] .changes li")
    assert changes.count() == 2
    page.goto(address + question_link("made", "sums", "q-2", cells=["full"]))
    is_there(page)
    assert "I, bob, see it thus in round 0. Answer: 3" in page.inner_text(".changes .quote")


def test_figures_are_written_as_in_the_report(address: str, page: Any) -> None:
    """The made claim is a difference of 0.25 with the interval 0.1 to 0.4; the accuracy of each cell is 0.75."""
    page.goto(f"{address}{experiment_link('made')}")
    is_there(page)
    expect(page.locator(".verdicts li")).to_contain_text("+25.0 points [+10.0, +40.0]")
    expect(page.get_by_role("region", name="Cells", exact=True)).to_contain_text("75.0 %")
    expect(page.get_by_role("region", name="Where cells part")).to_contain_text("+25.0 points")
    page.goto(f"{address}#/together")
    is_there(page)
    expect(page.get_by_role("region", name="Verdicts by experiment")).to_contain_text("+25.0 points [+10.0, +40.0]")


def test_a_question_shows_prompt_weight_and_confidence(address: str, page: Any) -> None:
    page.goto(address + question_link("made", "sums", "q-1", cells=["sparse"], replicate=1))
    is_there(page)
    turn = page.locator(".turn").nth(3)
    assert "0.25" in turn.locator(".heard").inner_text()
    assert "0.9 → 0.6" in turn.inner_text()
    turn.get_by_text("its prompt").click()
    turn.get_by_text("What is 3 + 4? This is prompt 3.").wait_for()
    page.locator(".spot").nth(4).click()
    assert page.locator(".turn.chosen").count() == 1
    assert "cortexdsl show" in page.inner_text(".cell footer")


def test_choices_images_and_imported_questions_are_shown(tmp_path: Path, page: Any) -> None:
    """Transcripts with a question; in one of its debates bob was chosen to speak on, and the question has an image."""
    root = tmp_path / "results" / "old"
    lines = [{"id": "q1", "question": "3 + 4?", "answer": "7", "agents": {"ann": ["7"], "bob": ["8", "7"]}}]
    (tmp_path / "sums.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["import", str(tmp_path / "sums.jsonl"), "--out", str(root)]) == 0
    (path,) = (root / "debates").rglob("*.jsonl")
    (record,) = read_debates(path)
    choice = RoleChoice(2, 1, "unsure", ("ann", "bob"), (0.0, 1.0), ("bob",))
    write_debates(path, [Record(record.header, replace(record.debate, choices=(choice,)))])
    with serving([ResultsFolder("old", root)]) as address:
        page.goto(f"{address}/{question_link('old', 'sums', 'q1')}")
        is_there(page)
        expect(page.locator(".asked")).to_contain_text("3 + 4?")
        expect(page.locator(".asked .gold")).to_contain_text("7")
        chosen = page.locator("div.round").nth(1).locator(".chosen-for")
        expect(chosen).to_have_text("chosen as unsure: bob 1 · not: ann 0")
        store = IndexStore(root)
        with store.writing() as db:
            image = [["0" * 64, "image/png", uri(png())]]
            db.execute("UPDATE questions SET images = ?", (json.dumps(image),))
        page.reload()
        is_there(page)
        assert page.evaluate("document.querySelector('.pictured img').naturalWidth") == 1


def test_steps_that_share_a_round_are_headed_apart(tmp_path: Path, page: Any) -> None:
    """After the openings one comments twice: no debater answers in between, so that both are of round 1."""
    root = write_experiment(tmp_path / "results" / "made", "made")
    path = min((root / "debates").rglob("*sparse*/*.jsonl"))
    record = next(one for one in read_debates(path) if one.debate.question_id == "q-1")
    opening = record.debate.turns[:3]
    spoken = [
        replace(opening[0], turn=turn, execution=turn - 2, round=1, step="judge", reads="comment", heard=(0,))
        for turn in (3, 4)
    ]
    write_debates(path, [Record(record.header, replace(record.debate, turns=(*opening, *spoken), graphs=()))])
    with serving([ResultsFolder("made", root)]) as address:
        page.goto(f"{address}/{question_link('made', 'sums', 'q-1', cells=CELLS[:1])}")
        is_there(page)
        heads = [re.compile(f"^{head}$", re.IGNORECASE) for head in ("opening · answer", "round 1 · judge")]
        last = re.compile(r"^round 1 · judge \(time 2\)$", re.IGNORECASE)
        expect(page.locator("div.round h3")).to_have_text([*heads, last])


def test_the_keyboard_alone_goes_everywhere(address: str, page: Any) -> None:
    page.goto(address + experiment_link("made"))
    is_there(page)
    page.keyboard.press("f")
    page.wait_for_url("**/find")
    page.wait_for_selector("main.find")
    page.keyboard.press("/")
    page.keyboard.type("cannot")
    page.wait_for_url("**text=cannot")
    assert found(page) == 6
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/q/sums/q-4**")
    page.wait_for_selector("main.question[aria-busy=false] .cell")
    assert "replicate=2" in page.url  # the second row found
    page.keyboard.press("[")
    page.wait_for_url("**replicate=1**")
    page.wait_for_selector("main.question[aria-busy=false] .cell")
    page.keyboard.press("2")  # the second cell joins
    expect(page.locator("section.cell")).to_have_count(2)
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    spot = page.locator(".spot[tabindex='0']").first
    spot.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn.chosen")
    page.keyboard.press("u")
    page.wait_for_url("**/find?text=cannot")
    page.keyboard.press("Escape")
    page.wait_for_url("**#/x/made")


def test_keys_before_a_page_is_drawn_are_for_that_page(address: str, page: Any) -> None:
    """All keys arrive in one task of the browser, so that no page between them is drawn: back to the list, back to the
    experiment; find, and the third row."""
    page.goto(address + question_link("made", "sums", "q-4"))
    page.wait_for_selector("main.question[aria-busy=false] .cell")
    press = (
        "keys => keys.forEach(key => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})))"
    )
    page.evaluate(press, ["u", "Escape"])
    page.wait_for_url("**#/x/made")
    page.wait_for_selector("main.experiment")
    page.evaluate(press, ["f", "j", "j"])
    page.wait_for_selector("main.find li.chosen[aria-posinset='3']")


def test_typed_words_stay_while_the_page_is_drawn_again(address: str, page: Any) -> None:
    """A letter, something that draws the page (a look at the files does, too), and the next letter."""
    page.goto(address + find_link("made"))
    page.wait_for_selector("main.find")
    typing = """async () => {
        const box = document.getElementById('words');
        for (const letter of 'cannot') {
            box.value += letter;
            box.dispatchEvent(new InputEvent('input', {bubbles: true}));
            document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', bubbles: true}));
            await new Promise(done => setTimeout(done, 0));
        }
    }"""
    page.evaluate(typing)
    page.wait_for_url("**text=cannot")
    assert page.locator("#words").input_value() == "cannot"


def test_every_link_leads_somewhere(address: str, page: Any) -> None:
    wanted, seen = list(PAGES), set()
    while wanted:
        fragment = wanted.pop()
        seen.add(fragment)
        page.goto(address + fragment)
        is_there(page)
        assert page.locator("main > .fault").count() == 0, fragment
        links = page.eval_on_selector_all("a[href^='#/']", "links => links.map(link => link.getAttribute('href'))")
        fresh = {link for link in links if link not in seen and "within=" not in link} - set(wanted)
        wanted += sorted(fresh)[: max(0, 40 - len(seen) - len(wanted))]
    assert len(seen) >= 30


def test_a_report_leads_into_the_explorer(address: str, page: Any) -> None:
    page.goto(address + experiment_link("made"))
    page.get_by_text("the report").click()
    page.get_by_text("debates").click()
    page.wait_for_selector("h1:has-text('Made by hand')")


def test_verdicts_of_several_experiments_stand_side_by_side(tmp_path: Path, page: Any) -> None:
    roots = [write_experiment(tmp_path / name, name) for name in ("one", "two")]
    table = (roots[1] / "hypotheses.csv").read_text().replace("supported", "undecided")
    (roots[1] / "hypotheses.csv").write_text(table)
    with serving([ResultsFolder("one", roots[0]), ResultsFolder("two", roots[1])]) as address:
        page.goto(address)
        is_there(page)
        assert page.locator("tr.differs").count() == 1


def test_debates_appear_as_they_finish(tmp_path: Path, page: Any) -> None:
    root = tmp_path / "live"
    write_cell(root, "sparse", 1)
    with serving([ResultsFolder("live", root)]) as address:
        page.goto(f"{address}/{find_link('live')}")
        assert found(page) == 4
        write_cell(root, "full", 1)
        expect(page.locator(".count")).to_contain_text("8 debates", timeout=30_000)


def test_a_run_is_followed_from_its_files_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: Any) -> None:
    monkeypatch.chdir(tmp_path)
    root = Path("results/made")
    root.mkdir(parents=True)
    (root / "plan.json").write_text(json.dumps(plan()))
    now = time.time()
    tally = said("sparse", "r1-s01", dataset="sums", debates={"done": 1, "total": 4}, began=now - 20, updated=now)
    write(root / "spent", tally)
    with serving([ResultsFolder("made", root)]) as address:
        page.goto(f"{address}/{experiment_link('made')}")
        running = page.locator(".run")
        expect(running).to_contain_text("running 1 of 24 debates · 40 calls · 4,400 tokens · $0.50")
        expect(running).to_contain_text("1 failed: content filter")
        expect(running).to_contain_text("rate limit 2")
        expect(page.locator("tbody tr", has_text="sparse")).to_contain_text("1/8")
        write(root / "spent", tally | {"state": "failed", "message": "the model is gone", "updated": time.time()})
        expect(running).to_contain_text("1 job ended: the model is gone")


def test_uses_of_tools_are_shown_with_results_errors_and_the_call_that_asked(tmp_path: Path, page: Any) -> None:
    root = tmp_path / "used"
    uses = (
        ToolUse("sums", "3 + 4", "3 + 4 = <b>7</b>", None, "b" * 32),
        ToolUse("stars", "{}", "", "There is no tool stars."),
    )
    first, *rest = records("sparse")
    turns = list(first.debate.turns)
    turns[0] = replace(turns[0], requests=(ToolRequest("a" * 32, "I look it up.", uses, 1_000, 30),))
    write_cell(root, "sparse", 1, [replace(first, debate=replace(first.debate, turns=tuple(turns))), *rest])
    logs = CallLogs(root / "calls/sums/r1-s01", root / "calls/sums/r1-s01/sparse.jsonl")
    function = {"id": "c", "type": "function", "function": {"name": "sums", "arguments": '{"expression": "1"}'}}
    messages = (
        {"role": "user", "content": "What is 3 + 4?"},
        {"role": "assistant", "content": "", "tool_calls": [function]},
    )
    raw = Raw("I look it up.", "tool_calls", TokenCounts(40, 9), requests=(FunctionCall("c", "sums", "{}"),))
    logs.write(call_record("a" * 32, Call(MODEL, messages, 1), raw, seconds=0.5, attempts=1))
    logs.close()
    with serving([ResultsFolder("used", root)]) as address:
        page.goto(f"{address}/{question_link('used', 'sums', 'q-1', cells=['sparse'])}")
        is_there(page)
        turn = page.locator(".turn").first
        expect(turn.locator(".request")).to_contain_text("I look it up.")
        expect(turn.locator(".use").nth(0)).to_contain_text("used sums:3 + 4and was told:3 + 4 = <b>7</b>")
        expect(turn.locator(".use.failed")).to_contain_text(
            "could not use stars:{}and was told:There is no tool stars."
        )
        assert turn.locator(".use b").count() == 0  # what a tool returns is text
        turn.get_by_text("the call in which it asked for this").click()
        expect(turn).to_contain_text('sums({"expression": "1"})')
        assert page.locator(".turn .use").count() == 2
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_outcomes_and_sources_are_found_and_a_measured_confidence_is_shown(tmp_path: Path, page: Any) -> None:
    """One debate each that was cut, refuses, came empty and calls a tool, where a confidence was measured beside it."""
    root = tmp_path / "odd"
    write_cell(root, "sparse", 1, odd_records())
    write_cell(root, "full", 1)
    logs = CallLogs(root / "calls/sums/r1-s01", root / "calls/sums/r1-s01/sparse.jsonl")
    call = Call(MODEL, ({"role": "user", "content": "What is 3 + 4?"},), 1)
    logs.write(
        call_record("a" * 32, call, Raw("Seven it is. Answer: 7", "stop", TokenCounts(40, 9)), seconds=0.5, attempts=1)
    )
    logs.close()
    with serving([ResultsFolder("odd", root)]) as address:
        for mark in ("cut", "refused", "empty", "tool_calls", "unmeasured"):
            page.goto(f"{address}/{find_link('odd', marks=[mark])}")  # type: ignore[list-item]
            assert found(page) == 1, mark
            page.goto("about:blank")
        page.goto(f"{address}/{find_link('odd', confidence='consistency')}")
        assert found(page) == 1
        assert page.locator(".chip").get_by_text("in a loop").count() == 0  # no debate here is one
        page.get_by_label("Confidence", exact=True).select_option("stated")
        assert found(page) == 7
        page.locator(".chip").get_by_text("cut at its limit").click()
        assert found(page) == 1
        assert "confidence=stated" in page.url
        page.locator(".rows a").first.click()
        is_there(page)
        assert page.get_by_text("cut at its length limit").count() == 1
        page.goto(f"{address}/{question_link('odd', 'sums', 'q-4', cells=['sparse'])}")
        is_there(page)
        measured = page.locator(".turn").nth(2)
        expect(measured.locator(".confidence")).to_have_text("consistency 0.5 → 0.4")
        expect(measured).to_contain_text("2 further replies: 7, unread")
        measured.get_by_text("further replies").click()
        measured.get_by_text("the call, and what it said").first.click()
        expect(measured).to_contain_text("Seven it is. Answer: 7")
        expect(page.locator(".turn").nth(5)).to_contain_text("could not be measured: no further reply came")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280


HOSTILE = (
    "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'><svg onload=window.hacked=1>"
    "<a href='javascript:window.hacked=1'>click</a>{{constructor.constructor('window.hacked=1')()}}${window.hacked=1}"
    "\0 \x1b[31m \u202eright to left\u202c \ud800 </textarea><!--"
)


def test_hostile_words_are_shown_and_do_nothing(tmp_path: Path, page: Any) -> None:
    root = tmp_path / "results" / HOSTILE[:8].replace("/", "_")
    long = "x" * 1_000_000
    found = [
        with_words(record, text) for record, text in zip(records("sparse"), (HOSTILE, long, HOSTILE, ""), strict=True)
    ]
    everywhere = [hostile_everywhere(record) for record in records("sparse")[:1]]
    write_cell(root, "sparse", 1, found)
    write_cell(root, "full", 1, everywhere)
    hostile_around(root)
    with serving([ResultsFolder("<b>x</b>", root)]) as address:
        page.goto(f"{address}/{experiment_link('<b>x</b>')}")
        is_there(page)
        assert page.inner_text("main").count("<script>window.hacked=1</script>") >= 3  # title, claim, cell
        for question in ("q-1", "q-2", HOSTILE):
            page.goto(f"{address}/{question_link('<b>x</b>', 'sums', question)}")
            is_there(page)
            if question == "q-2":
                page.get_by_text("more characters of 999,100").first.click()
                page.get_by_text("more characters of 939,100").first.wait_for()  # the next of a megabyte's pieces
            for fold in page.locator("summary").all():
                fold.click()
            if question == HOSTILE:
                page.locator(".message .words").first.wait_for()
                asked = page.text_content(".message .words")
                assert (asked or "").startswith("<script>window.hacked=1</script>")
                assert page.locator(".turn").first.get_by_text("its reasoning").count() == 1
                assert page.locator(".chosen-for").first.text_content().count("<script>") == 3
        shown = page.inner_text("main")
        for visible in (
            "<script>window.hacked=1</script>",
            "onerror='window.hacked=1'",
            "NUL",
            "U+202E",
            "U+001B",
            "{{constructor",
        ):
            assert visible in shown
        page.goto(f"{address}/{find_link('<b>x</b>')}")
        is_there(page)
        assert page.evaluate("window.hacked") is None
        assert page.locator("main script, main img, main b b").count() == 0
        assert page.locator("a[href^='javascript']").count() == 0


KEY = "c" * 32


def hostile_around(root: Path) -> None:
    """A plan, verdicts and a call log whose every word is hostile, too."""
    said = plan("<b>x</b>") | {"title": HOSTILE, "hypotheses": [HOSTILE], "spec": HOSTILE}
    said["cells"] = [cell | {"protocol": HOSTILE, "settings": {HOSTILE: HOSTILE}} for cell in said["cells"]]
    said["cells"].append(said["cells"][0] | {"cell": HOSTILE, "agents": [HOSTILE]})
    said["agents"] = [{"name": HOSTILE, "model": HOSTILE, "entry": HOSTILE, "options": {}, "persona": HOSTILE}]
    (root / "plan.json").write_text(json.dumps(said))
    quoted = HOSTILE.replace("\0", "").replace("\ud800", "").replace('"', '""')
    (root / "hypotheses.csv").write_text(
        f'claim,estimate,ci_low,ci_high,p,p_adjusted,verdict,note\n"{quoted}",0.1,0,0.2,0.1,0.1,undecided,"{quoted}"\n'
    )
    path = root / "calls/sums/r1-s01/full.jsonl"
    logs = CallLogs(path.parent, path)
    call = Call(replace(MODEL, model=HOSTILE), ({"role": "user", "content": HOSTILE},), 1)
    logs.write(call_record(KEY, call, Raw(HOSTILE, HOSTILE, TokenCounts(1, 1)), seconds=0.5, attempts=1, error=None))
    logs.close()


def hostile_everywhere(record: Any) -> Any:
    """A record whose every text is hostile."""
    debate = record.debate
    model = replace(MODEL, name=HOSTILE, model=HOSTILE)
    measured = Measured("verifier", None, HOSTILE, (ProbeCall(KEY, HOSTILE, HOSTILE, 1, 1),))
    agents = tuple(
        replace(agent, name=f"{number}{HOSTILE}", persona=HOSTILE, model=model)
        for number, agent in enumerate(debate.agents)
    )
    names = {old.name: new.name for old, new in zip(debate.agents, agents, strict=True)}
    turns = tuple(
        replace(turn, text=HOSTILE, answer=HOSTILE, step=HOSTILE, about=HOSTILE, unparsed=HOSTILE, call=KEY,
                speaker=names[turn.speaker], reasoning=HOSTILE, measured=measured,
                requests=(ToolRequest(KEY, HOSTILE, (ToolUse(HOSTILE, HOSTILE, HOSTILE, None, KEY),), 1, 1),))
        for turn in debate.turns
    )  # fmt: skip
    graphs = tuple(
        replace(graph, step=HOSTILE, speakers=tuple(names.values()), listeners=tuple(names.values()))
        for graph in debate.graphs
    )
    everybody = tuple(names.values())
    choice = RoleChoice(3, 1, HOSTILE, everybody[:2], (1.0, 0.0), everybody[:1])
    changed = replace(
        debate, question_id=HOSTILE, agents=agents, turns=turns, graphs=graphs, answer=HOSTILE, votes={HOSTILE: 1.0},
        choices=(choice,),
    )  # fmt: skip
    return replace(record, debate=changed, header=replace(record.header, cell=HOSTILE))


def test_a_folder_of_files_shows_the_same(places: list[ResultsFolder], tmp_path: Path, page: Any) -> None:
    assert write_static(places, tmp_path / "site") == 2 * DEBATES
    with serving_files(tmp_path / "site") as address:
        page.goto(f"{address}/{find_link('made', text='canno say')}")
        assert found(page) == 6
        page.locator(".rows a").first.click()
        is_there(page)
        page.goto(f"{address}/{question_link('made', 'sums', 'q-1', cells=['sparse'], replicate=1)}")
        is_there(page)
        page.get_by_text("its prompt").first.click()
        page.get_by_text("This is prompt 0.").wait_for()
        page.goto(f"{address}/report/made/report.html")
        page.get_by_text("debates").click()
        page.wait_for_selector("h1:has-text('Made by hand')")
        page.goto(address)
        is_there(page)
