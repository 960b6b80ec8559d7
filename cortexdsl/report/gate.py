"""What a gate says of its required claims: as text, Markdown, JUnit XML and JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any
from xml.etree import ElementTree

from cortexdsl.numbers import counted, in_dollars
from cortexdsl.plain_text import printable
from cortexdsl.report.phrasing.claims import MARKS, Answer, answer
from cortexdsl.report.terminal import answer_lines
from cortexdsl.stats.tables.rows import ClaimRow
from cortexdsl.text_layout import wrapped

VERSION = 1
"""Of the JSON: it rises if a key changes its meaning or goes."""
COLUMNS = (
    "claim", "verdict", "estimate", "ci_low", "ci_high", "ci_low_simultaneous", "ci_high_simultaneous", "p",
    "p_adjusted", "exploratory", "test", "note", "questions_needed",
)  # fmt: skip
"""The columns of hypotheses.csv that the JSON has for each claim, with `words` and `dollars_needed`."""
STATUS = {"supported": 0, "contradicted": 1, "undecided": 3}
_WORST_FIRST = ("contradicted", "undecided", "supported")
_UNDECIDED = {"pass": 0, "fail": 1, "": STATUS["undecided"]}
_WORDS = {0: "passed", 1: "failed", 3: "undecided"}
_MARKDOWN = re.compile(r"[\\`*_\[\]|~!#]")


@dataclass(frozen=True, slots=True)
class RequiredClaim:
    """A required claim with its verdict.

    Attributes
    ----------
    row : ClaimRow
    present : int
        The questions of the scores; the replicates, if it is replicates that would decide the claim; 0 without scores.
    dollars : float or None
        The price of a new run that decides it; None if it is decided, or if nothing is known of prices.
    """

    row: ClaimRow
    present: int
    dollars: float | None

    @property
    def answer(self) -> Answer:
        """The claim in words."""
        return answer(self.row)

    @property
    def further(self) -> str:
        """What would decide an undecided claim, in a sentence; empty for others."""
        if self.row.verdict != "undecided" or not self.present:
            return ""
        if self.row.questions_needed is None:
            return "How many questions would decide it cannot be estimated from these scores."
        price = "" if self.dollars is None else f", and a new run with so many costs about ${in_dollars(self.dollars)}"
        return f"These scores have {counted(self.present, 'question')}{price}."


@dataclass(frozen=True, slots=True)
class Gate:
    """All required claims of a gate.

    Attributes
    ----------
    sources : tuple of str
    claims : tuple of RequiredClaim
    alpha : float
    correction : str
    notes : tuple of str
        Sentences: how logs were paired, how claims were decided, how often it fails without a change.
    undecided : str
        What an undecided claim means: `pass`, `fail`, or empty for a status of its own.
    burn_in : mapping or None
        How often each outcome came without a change.
    """

    sources: tuple[str, ...]
    claims: tuple[RequiredClaim, ...]
    alpha: float
    correction: str
    notes: tuple[str, ...] = ()
    undecided: str = ""
    burn_in: dict[str, Any] | None = field(default=None)

    @property
    def outcome(self) -> str:
        """The verdict on all claims together: the first of contradicted, undecided and supported that is among them."""
        return outcome_of([claim.row.verdict for claim in self.claims])

    @property
    def status(self) -> int:
        """The exit status: 0 passed, 1 failed, 3 undecided."""
        return _UNDECIDED[self.undecided] if self.outcome == "undecided" else STATUS[self.outcome]

    @property
    def headline(self) -> str:
        """The outcome in a sentence."""
        counts = Counter(claim.row.verdict for claim in self.claims)
        listed = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _WORST_FIRST if counts[verdict])
        return f"gate {_WORDS[self.status]}: {counted(len(self.claims), 'required claim')}, {listed}"

    def lines(self) -> Iterator[str]:
        """Yield the lines for a terminal."""
        for claim in self.claims:
            yield from answer_lines(claim.answer)
            yield from wrapped(claim.further, 4, 4)
        for note in self.notes:
            yield from wrapped(note)
        yield self.headline

    def markdown(self) -> str:
        """Return the summary for a page of a continuous-integration service."""
        rows = [
            f"| {said.mark} {said.verdict} | {_escaped(said.words)} | {_escaped(f'{said.finding}. {said.remarks}')} "
            f"{_escaped(claim.further)} |"
            for claim in self.claims
            for said in [claim.answer]
        ]
        table = "\n".join(["| verdict | claim | finding |", "|---|---|---|", *rows])
        head = f"## {MARKS[self.outcome]} {self.headline[:1].upper()}{self.headline[1:]}"
        return "\n\n".join([head, table, *map(_escaped, self.notes)]) + "\n"

    def junit(self) -> bytes:
        """Return a JUnit test suite in XML, with a test case for each claim.

        An undecided claim is an error, with `undecided` a skipped test (`pass`) or a failure (`fail`).
        """
        kinds = {
            "contradicted": "failure",
            "undecided": {"pass": "skipped", "fail": "failure"}.get(self.undecided, "error"),
        }
        found = Counter(kinds.get(claim.row.verdict, "") for claim in self.claims)
        counts = {
            f"{kind}s".replace("skippeds", "skipped"): str(found[kind]) for kind in ("failure", "error", "skipped")
        }
        totals = {"name": "cortexdsl gate", "tests": str(len(self.claims)), **counts, "time": "0"}
        suite = ElementTree.Element("testsuite", totals)
        for claim in self.claims:
            said, source = claim.answer, printable(", ".join(self.sources))
            case = ElementTree.SubElement(suite, "testcase", name=printable(said.claim), classname=source, time="0")
            message, text = printable(f"{said.verdict}: {said.finding}"), printable(f"{said.remarks} {claim.further}")
            if kind := kinds.get(said.verdict):
                settings = {"message": message} if kind == "skipped" else {"message": message, "type": said.verdict}
                ElementTree.SubElement(case, kind, settings).text = text
            else:
                ElementTree.SubElement(case, "system-out").text = f"{message}. {text}"
        ElementTree.indent(suite)
        return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"

    def record(self) -> dict[str, Any]:
        """Return the content of the JSON."""
        claims = []
        for claim in self.claims:
            row = asdict(claim.row)
            claims.append(
                {name: row[name] for name in COLUMNS} | {"words": claim.answer.words, "dollars_needed": claim.dollars}
            )
        return {
            "version": VERSION, "outcome": self.outcome, "status": self.status, "sources": list(self.sources),
            "alpha": self.alpha, "correction": self.correction, "claims": claims, "notes": list(self.notes),
            "burn_in": self.burn_in,
        }  # fmt: skip


def outcome_of(verdicts: list[str]) -> str:
    """Return the verdict on several claims that must all be supported."""
    return next(each for each in _WORST_FIRST if each in verdicts)


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is, in one line: names of others' cells and files are in it."""
    one_line = " ".join(printable(text).split())
    return _MARKDOWN.sub(r"\\\g<0>", one_line.replace("&", "&amp;").replace("<", "&lt;"))
