"""The manual: how-to pages begin with what answers them, their commands work, and the start page leads everywhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from cortexdsl.cli.main import main
from cortexdsl.cli.specs import STARTER
from docs.site.repository_links import OUTSIDE
from tests.house.questions import QUESTIONS, Question
from tests.workflow.bench import Bench

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HOWTO = sorted(path for path in (DOCS / "howto").glob("*.md") if path.name != "index.md")
COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+\.md)(?:#[^)]*)?\)")
SPEC = """\
dataset: {name: arithmetic, size: 4}
models: {weak: {model: builtin/solver, skill: 0.6}}
agents: [{name: ann, model: weak}, {name: bob, model: weak}]
methods:
  debate: {protocol: multi-llm, rounds: 1}
  matched: {protocol: self-consistency, agents: [ann], budget: calls(debate)}
hypotheses: [accuracy(debate) > accuracy(matched)]
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the experiment `mine` is finished; `scores.csv` is a table as of another program."""
    bench = Bench(tmp_path_factory.mktemp("howto"))
    bench.write("specs/mine.yaml", SPEC)
    run = bench.cortexdsl("run", "mine", "--cores", "1", timeout=240)
    assert run.status == 0, run.text
    (bench.folder / "scores.csv").write_bytes((bench.folder / "results/mine/scores.csv").read_bytes())
    return bench.folder


@pytest.mark.parametrize("page", HOWTO, ids=lambda page: page.stem)
def test_a_how_to_page_begins_with_its_answer(page: Path) -> None:
    """The first thing below the title is a block: a spec, a command or a program."""
    title, first = page.read_text(encoding="utf-8").split("\n\n")[:2]
    assert re.fullmatch(r"# .+", title)
    assert re.match(r"```(yaml|sh|console|python)\n", first), f"{page.name} begins with prose: {first[:60]}"


@pytest.mark.workflow
def test_commands_of_how_to_pages_work(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line of an `sh` block ends with status 0 after an experiment named `mine`. `console` blocks are not run:
    they need a server, a key or a cluster."""
    monkeypatch.chdir(finished)
    count = 0
    for page in HOWTO:
        for block in COMMANDS.findall(page.read_text(encoding="utf-8")):
            for line in block.splitlines():
                program, *arguments = shlex.split(line)
                assert program == "cortexdsl", f"{page.name}: {line}"
                assert main(arguments) == 0, f"{page.name}: {line}\n{capsys.readouterr().err}"
                count += 1
    assert count >= 15


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.question)
def test_a_question_is_answered_within_three_clicks(question: Question) -> None:
    """Links of the pages themselves, without the menu. `tests/browser/test_manual.py` clicks them on the built site."""
    assert len(question.clicks) <= 3
    page = DOCS / "index.md"
    for click in question.clicks:
        links = dict(LINK.findall(page.read_text(encoding="utf-8")))
        assert click in links, f"{page.name} has no link {click!r}"
        page = page.parent / links[click]
    assert question.answer in page.read_text(encoding="utf-8")


def test_the_first_page_shows_the_spec_that_new_writes() -> None:
    """Without what a first reader need not see: title, seed, replicates and the family."""
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    shown = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])
    written = yaml.safe_load(STARTER.replace("{schema}", "s.json"))
    assert shown == {key: written[key] for key in ("dataset", "models", "agents", "methods", "hypotheses")}


def test_there_are_ten_questions() -> None:
    assert len(QUESTIONS) == 10


def menu() -> list[str]:
    """The pages of the sidebar, in its order, without `.md`."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    return [entry for block in blocks for entry in block.split("\n\n", 1)[-1].split()]


def test_every_page_is_in_the_menu_or_one_click_from_it() -> None:
    """A section of many pages is one entry of the menu, as `howto/index` is for its folder; other pages are linked
    from a page of the menu.

    Pages without a link would be found by search alone.
    """
    reached = {(DOCS / f"{entry}.md").resolve() for entry in menu()}
    for first in [page for page in reached if page.is_file()]:
        reached |= {(first.parent / path).resolve() for _, path in LINK.findall(first.read_text(encoding="utf-8"))}
    generated_or_outside = ("reference", *OUTSIDE)
    pages = {path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in generated_or_outside}
    assert pages - reached == {DOCS / "index.md"}


def test_the_menu_is_short() -> None:
    """A reader overlooks what they need in a menu of a hundred entries."""
    assert len(menu()) <= 40


def test_no_page_is_in_the_menu_twice() -> None:
    assert len(menu()) == len(set(menu()))
