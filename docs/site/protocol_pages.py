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
        "Each built-in protocol has a page: what it does, its settings, what its paper leaves open and how we chose, "
        "and a drawing turn by turn, as `cortexdsl explain NAME` prints it with default settings and four agents. "
        "[Methods](../methods.md) helps you choose.",
        table(("protocol", "title", "calls per question, at most"), rows),
        "## How to read a drawing",
        "- The first part is the method as it was resolved, in YAML: settings are filled in, and parts with their "
        "default value are left out. `roles` names the agents of each role.\n"
        "- `steps` has an entry for each kind of turn: who speaks, the prompt's file, whom it hears, and what is read "
        "from the reply, by default an answer. With each answer, the agent states its confidence, a number from 0 to "
        "1. `memory` and `shows` say which turns of the speaker and of the heard agents the prompt shows. "
        "The defaults are no turn of the speaker (`none`), and the last turn of each heard agent (`[latest]`). "
        "`samples: 5` are five replies to the same prompt. `said` names templates that are the reply themselves.\n"
        "- `schedule` has the order of the steps. `repeat` is a loop. `repeat: 0` is a loop that does "
        "not run with the default settings. `if` says when items run and `until` ends a loop, by a "
        "[condition](../language/protocol.md#the-schedule) is true. For example, `consensus` is true if the last "
        'answers of all debaters are equal, and `approved` if the latest verdicts are all "agree".\n'
        "- `choose` decides during the debate which agents have a role. For example, `{choose: debater, where: "
        "chosen >= 0.5}` keeps the debaters that at least half of the latest choices named. "
        "[Names](keys/expressions.md) such as `chosen` and `differs` have a page of their own.\n"
        "- `who hears whom` has a line for each turn. Round 0 is the opening, which some papers call round 1. A round "
        "ends when the debaters have answered, so steps after their last answers have a new number. `8 agent-1, hears "
        "5 6 7, own 0 4` means: in turn 8, agent-1 speaks. The prompt shows turns 5, 6 and 7 of others, and turns 0 "
        "and 4 of agent-1 itself. If the step has `memory: all`, the numbers after `own` can also name turns of others "
        "that agent-1 was shown before. `about agent-2` means that the turn is about this agent, such as a review of "
        "its answer. `compare (time 2)` is the second run of the step `compare` in the same round.\n"
        "- The replies of a drawing are invented: no two agents agree, and loops run as often as they can. Only turns "
        "whose words the prompt's template writes count as heard.",
    ]
    return "\n\n".join(parts) + "\n"


def protocol_page(name: str) -> str:
    """Return the page of a protocol."""
    text = load_protocol(name).text
    rows = [(f"`{setting}`", f"`{default}`", comment) for setting, default, comment in settings_of(name)]
    parts = [
        f"# Protocol {name}",
        f"{text.title}." + (f" Source: {text.source}." if text.source else ""),
        description_of(name),
        "## Settings",
        table(("setting", "default", "meaning"), rows) if rows else "There are none.",
        "A spec may also give [roles](../../language.md#methods) other agents or models, and steps other prompts.",
        "## The drawing",
        "[How to read a drawing](../protocols.md#how-to-read-a-drawing).",
        f"```text\n{drawing_of(name)}\n```",
    ]
    return "\n\n".join(parts) + "\n"
