"""The reference pages of protocols: an index that says how to read a drawing, and a page for each built-in protocol.

What a page says is written in the file of the protocol: comments above `title` describe the method, and comments of
settings say what their values do.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Mapping
from functools import cache

from markdown_tables import table

from cortexdsl.cli.verbs import run
from cortexdsl.language.protocol.loader import BUILTIN_FOLDER, builtin_names, load_protocol

CALLS = re.compile(r"^calls: (\d+) at most", re.MULTILINE)
"""The line of a drawing with the largest number of calls."""
SETTING = re.compile(r"^  (?P<name>\w+): (?P<default>.*?)(?:\s+# (?P<comment>.*))?$")
"""A setting with its default, and perhaps a comment after it. Longer comments are above it."""


def protocol_pages() -> Mapping[str, str]:
    """Return the pages of protocols by their paths in `docs/reference/`, without `.md`."""
    return {"protocols": protocols_index(), **{f"protocols/{name}": protocol_page(name) for name in builtin_names()}}


@cache
def drawing_of(protocol: str) -> str:
    """Return what `cortexdsl explain` prints about a built-in protocol."""
    drawing = io.StringIO()
    with contextlib.redirect_stdout(drawing):
        if run(["explain", protocol]):
            raise RuntimeError(f"cortexdsl explain {protocol} failed")
    return drawing.getvalue().strip()


def text_of(protocol: str) -> str:
    """Return the file of a built-in protocol, comments included."""
    return next(BUILTIN_FOLDER.glob(f"*/{protocol}.yaml")).read_text(encoding="utf-8")


def description_of(protocol: str) -> str:
    """Return the comments above `title`, as Markdown whose links are relative to the page of the protocol.

    Raises
    ------
    RuntimeError
        There are none.
    """
    comments, _, _ = text_of(protocol).partition("title:")
    if not comments:
        raise RuntimeError(f"describe the method in comments at the head of {protocol}.yaml in cortexdsl/protocols")
    lines = (line.removeprefix("#").removeprefix(" ") for line in comments.splitlines())
    return "\n".join(lines).strip().replace("](docs/", "](../../")


def has_source(protocol: str) -> bool:
    """Return whether the description links the paper that `source` names."""
    number = re.search(r"arXiv (\S+)", load_protocol(protocol).text.source or "")
    return number is not None and f"arxiv.org/abs/{number[1]}" in description_of(protocol)


def settings_of(protocol: str) -> Iterator[tuple[str, str, str]]:
    """Yield the settings with their defaults and comments."""
    block = re.search(r"^settings:\n((?: +.*\n)+)", text_of(protocol), re.MULTILINE)
    above: list[str] = []
    for line in block[1].splitlines() if block else ():
        if line.startswith("  # "):
            above.append(line.removeprefix("  # "))
        elif setting := SETTING.match(line):
            yield setting["name"], setting["default"], " ".join([*above, setting["comment"] or ""]).strip()
            above = []


def protocols_index() -> str:
    """Return the page that lists all protocols and says how to read their drawings."""
    rows = (
        (f"[`{name}`](protocols/{name}.md)", load_protocol(name).text.title, CALLS.findall(drawing_of(name))[0])
        for name in builtin_names()
    )
    parts = [
        "# Every protocol",
        "Each built-in protocol has a page: what it does, its calls for one question (with n agents and D rounds "
        "after the opening), its settings, what its paper leaves open and how we chose, and a "
        "[drawing](#how-to-read-a-drawing) of who hears whom. [Methods](../methods.md) helps you choose. A spec may "
        "also give [roles](../language.md#methods) other agents or models, and steps other prompts.",
        table(("protocol", "title", "calls per question, at most"), rows),
        "## How to read a drawing",
        "`cortexdsl explain NAME` prints it, with default settings and four agents.\n\n"
        "- First comes the method as it is run, in YAML: settings are filled in, and parts with their default value "
        "are left out, as are loops that do not run with the default settings.\n"
        "- Then there is a matrix for each time that a step is executed. A row is an agent that gets a prompt, a "
        "column an agent whose turns this prompt shows: `#` is one turn, a digit so many, `o` only own turns, `~` "
        "something else in place of the agent's words, `.` nothing.\n"
        "- Round 0 is the opening, which some papers call round 1. `each alone` means that prompts show no turns. "
        "`(time 2)` is the second time that a step is executed in the same round.\n"
        "- The replies are invented: no two agents agree, and loops run as often as they can. So a graph that depends "
        "on what is said may be another one in a real debate.",
    ]
    return "\n\n".join(parts) + "\n"


def protocol_page(name: str) -> str:
    """Return the page of a protocol."""
    text = load_protocol(name).text
    rows = [(f"`{setting}`", f"`{default}`", comment) for setting, default, comment in settings_of(name)]
    parts = [
        f"# Protocol {name}",
        f"{text.title}." + (f" Source: {text.source}." if text.source and not has_source(name) else ""),
        description_of(name),
        "## Settings",
        table(("setting", "default", "meaning"), rows) if rows else "There are none.",
        "## Drawing",
        "[Legend](../protocols.md#how-to-read-a-drawing)",
        f"```text\n{drawing_of(name)}\n```",
    ]
    return "\n\n".join(parts) + "\n"
