"""The reference pages of protocols: an index that says how to read a drawing, and pages of drawings.

The table of `docs/methods.md` links each protocol to its description. Protocols that are described on one page, or in
one section of `docs/methods.md`, are also drawn on one page.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from markdown_tables import table

from cortexdsl.cli.verbs import run
from cortexdsl.language.protocol.loader import load_protocol

ROW = re.compile(r"^\| \[(?P<names>`[^\]]+`)\]\((?P<link>(?P<page>[^)#]*)#(?P<anchor>[^)]+))\) \|", re.MULTILINE)
"""The first cell of a row in the table of methods: names of protocols, and a link to their description."""
CALLS = re.compile(r"^calls: (\d+) at most", re.MULTILINE)
"""The line of a drawing with the largest number of calls."""


@dataclass(frozen=True, slots=True)
class DrawingPage:
    """A page of drawings.

    Attributes
    ----------
    title : str
        The title of the page or section that describes its protocols.
    descriptions : dict
        Its protocols, each with the link to its description, relative to `docs/`.
    """

    title: str
    descriptions: dict[str, str] = field(default_factory=dict)


def drawing_pages(docs: Path) -> Mapping[str, DrawingPage]:
    """Return the pages of drawings by name, from the table of `docs/methods.md`."""
    methods = (docs / "methods.md").read_text(encoding="utf-8")
    pages: dict[str, DrawingPage] = {}
    for row in ROW.finditer(methods):
        if row["page"]:
            title = (docs / row["page"]).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        else:
            headings = re.findall(r"^## (.+)$", methods, re.MULTILINE)
            title = next(heading for heading in headings if heading.lower().replace(" ", "-") == row["anchor"])
        page = pages.setdefault(Path(row["page"]).stem or row["anchor"], DrawingPage(title))
        link = row["link"] if row["page"] else f"methods.md{row['link']}"
        page.descriptions.update(dict.fromkeys(re.findall(r"`([^`]+)`", row["names"]), link))
    return pages


def protocol_pages(docs: Path) -> Mapping[str, str]:
    """Return the pages of protocols by their paths in `docs/reference/`, without `.md`."""
    pages = drawing_pages(docs)
    return {
        "protocols": protocols_index(pages),
        **{f"protocols/{name}": drawings_page(page) for name, page in pages.items()},
    }


@cache
def drawing_of(protocol: str) -> str:
    """Return what `cortexdsl explain` prints about a built-in protocol."""
    drawing = io.StringIO()
    with contextlib.redirect_stdout(drawing):
        if run(["explain", protocol]):
            raise RuntimeError(f"cortexdsl explain {protocol} failed")
    return drawing.getvalue().strip()


def title_of(protocol: str) -> str:
    """Return the title of a built-in protocol."""
    return str(load_protocol(protocol).node.plain().get("title", ""))


def protocols_index(pages: Mapping[str, DrawingPage]) -> str:
    """Return the page that lists all protocols and says how to read their drawings."""
    page_of = {protocol: name for name, page in pages.items() for protocol in page.descriptions}
    rows = (
        (f"[`{name}`](protocols/{page_of[name]}.md#{name})", title_of(name), CALLS.findall(drawing_of(name))[0])
        for name in sorted(page_of)
    )
    parts = [
        "# Every protocol, drawn",
        "Each built-in protocol is drawn turn by turn, as `cortexdsl explain NAME` prints it, with default settings "
        "and four agents. [Methods](../methods.md) says where each comes from and what differs from its paper.",
        table(("protocol", "title", "calls per question, at most"), rows),
        "## How to read a drawing",
        "- The first part is the method as it was resolved, in YAML: settings are filled in, and parts with their "
        "default value are left out. `roles` names the agents of each role.\n"
        "- `steps` has an entry for each kind of turn: who speaks, the prompt's file, whom it hears, and what is read "
        "from the reply, by default an answer. With each answer, the agent states its confidence, a number from 0 to "
        "1. `own` and `tells` say which turns of the speaker and of the heard agents the prompt shows. "
        "The defaults are no turn of the speaker (`none`), and the last turn of each heard agent (`[latest]`). "
        "`draws: 5` are five replies to the same prompt. `said` names templates that are the reply themselves.\n"
        "- `schedule` has the order of the steps. `repeat` is a loop. `repeat: 0` is a loop that does "
        "not run with the default settings. `unless` skips a loop and `until` ends it, if a "
        "[condition](../language/protocol.md#the-schedule) is true. For example, `consensus` is true if the last "
        'answers of all debaters are equal, and `agreed` if the latest verdicts are all "agree".\n'
        "- `choose` decides during the debate which agents have a role. For example, `{choose: debater, where: "
        "chosen >= 0.5}` keeps the debaters that at least half of the latest choices named. "
        "[Names](keys/expressions.md) such as `chosen` and `differs` have a page of their own.\n"
        "- `who hears whom` has a line for each turn. Round 0 is the opening, which some papers call round 1. A round "
        "ends when the debaters have answered, so steps after their last answers have a new number. `8 agent-1, hears "
        "5 6 7, own 0 4` means: in turn 8, agent-1 speaks. The prompt shows turns 5, 6 and 7 of others, and turns 0 "
        "and 4 of agent-1 itself. If the step has `own history`, the numbers after `own` can also name turns of others "
        "that agent-1 was shown before. `about agent-2` means that the turn is about this agent, such as a review of "
        "its answer. `compare (time 2)` is the second run of the step `compare` in the same round.\n"
        "- The replies of a drawing are invented: no two agents agree, and loops run as often as they can. Only turns "
        "whose words the prompt's template writes count as heard.",
    ]
    return "\n\n".join(parts) + "\n"


def drawings_page(page: DrawingPage) -> str:
    """Return the page that draws the protocols of a group."""
    names = ", ".join(f"[`{name}`](#{name})" for name in page.descriptions)
    parts = [
        f"# Drawings: {page.title}",
        f"This page draws these protocols turn by turn: {names}. "
        "See [How to read a drawing](../protocols.md#how-to-read-a-drawing).",
    ]
    for name, description in page.descriptions.items():
        parts += [
            f"## {name}",
            f"{title_of(name)}. [Description and settings](../../{description}).",
            f"```text\n{drawing_of(name)}\n```",
        ]
    return "\n\n".join(parts) + "\n"
