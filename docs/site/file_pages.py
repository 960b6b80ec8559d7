"""The reference pages of stored files: fields of records and logs, and columns of tables, from the classes of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from file_values import CALL_LOG, COLUMNS, FILES, PACKED, RECORDS, SCORES, TRANSCRIPT, VERSIONS
from markdown_tables import table

from cortexdsl.core import debates as core
from cortexdsl.metrics import rows
from cortexdsl.plan.persistence.journal import LedgerEntry
from cortexdsl.records import debates as records
from cortexdsl.stats.tables import rows as tests
from cortexdsl.stats.tables.rows import columns_of

WRITTEN: Mapping[str, str] = {"Measured.asides": "calls"}
"""Fields that have another name in the file."""
VERSION = {"schema_version": "[version of the format](#versions-of-the-format)"}
CHECKSUM = {"checksum": "CRC-32 of everything before it in the line; always last"}
TABLES: Mapping[str, tuple[str, type]] = {
    "hypotheses.csv": ("The claims of the spec with their verdicts.", tests.ClaimRow),
    "comparisons.csv": ("Cells against their references; `difference` is cell minus reference.", tests.ComparisonRow),
    "matches.csv": ("What matched cells spent, as a share of their budgets.", tests.MatchRow),
    "metrics.csv": ("Metrics of cells. The dataset `all` is the mean over datasets.", rows.MetricRow),
    "rounds.csv": ("Accuracy, consensus and listening after each round.", rows.RoundRow),
    "agents.csv": ("Agents of cells. `hears` and `is_heard` count edges of a debate.", rows.AgentRow),
    "persuasion.csv": ("Answers that a listener heard from a speaker, and those that it adopted.", rows.PersuasionRow),
    "calibration.csv": ("Sources of confidence of cells.", rows.CalibrationRow),
    "reliability.csv": ("Answers by bins of confidence, and the share of them that is right.", rows.BinRow),
    "labels.csv": (
        "[Labels](../labels.md) of turns. `value` is empty if the judge's reply could not be read; `call` is the key "
        "of its call.",
        rows.LabelRow,
    ),
    "tournament.csv": (
        "Strengths of cells in a tournament, by the ballots of each judge and of `all`.",
        rows.TournamentRow,
    ),
    "duels.csv": ("Each two cells of a tournament; `difference` and `wins` are of the cell.", rows.DuelRow),
    "judges.csv": ("Judges of a tournament; `ballots` and `ties` are of answers that differ.", rows.JudgeRow),
    "whatif/effects.csv": ("What leaving something out changes.", tests.EffectRow),
    "whatif/causes.csv": ("Labelled turns, and those that [change the answer](../labels.md).", tests.CauseRow),
}
"""What each table has, and its columns as their writers declare them."""


def meanings(kind: type, known: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    """Return the meanings of the fields of a class, by their names in the file.

    Raises
    ------
    RuntimeError
        A field has no meaning, or a meaning has no field.
    """
    names = [WRITTEN.get(f"{kind.__name__}.{field.name}", field.name) for field in fields(kind)]
    if set(names) != set(known[kind.__name__]):
        wrong = sorted(set(names) ^ set(known[kind.__name__]))
        raise RuntimeError(f"docs/site/file_values.py and {kind.__name__} differ in {', '.join(wrong)}")
    return {name: known[kind.__name__][name] for name in names}


def _section(title: str, known: Mapping[str, str], opening: str = "", head: str = "field") -> str:
    body = table((head, "meaning"), ((f"`{name}`", meaning) for name, meaning in known.items()))
    return "\n\n".join(filter(None, (f"## {title}", opening, body)))


def _of_records() -> Iterator[str]:
    one = {
        kind: meanings(kind, RECORDS)
        for kind in (
            core.Turn,
            core.Graph,
            core.RoleChoice,
            core.Measured,
            core.ProbeCall,
            core.Placebo,
            core.ToolRequest,
            core.ToolUse,
            core.Deferred,
            core.Debate,
            records.Header,
            records.RecordedAgent,
        )
    }
    yield "# Fields of records"
    yield (
        "Look up a field of a debate record here. [Records and result files](../records.md) explains what records are, "
        "and how to print and export them."
    )
    yield _section("A debate", VERSION | one[records.Header] | one[core.Debate] | CHECKSUM)
    yield _section("An agent", one[records.RecordedAgent])
    yield _section("A turn", one[core.Turn])
    yield _section("A graph", one[core.Graph])
    yield _section(
        "Packed matrices",
        PACKED,
        "A matrix of more than 1,024 entries (33 agents and more) is an object with its `shape` and one of these keys. "
        "`read_debates` unpacks it, and `export --table edges` writes one row for each pair.",
        "key",
    )
    yield UNPACK
    yield _section(
        "A choice", one[core.RoleChoice], "A [choice](../language/protocol.md#who-speaks-who-stays) fills a role."
    )
    yield _section("A confidence", one[core.Measured], "Of an answer, or of a debate.")
    yield _section("A call that measures", one[core.ProbeCall])
    yield _section("A placebo", one[core.Placebo], "One entry for each turn that was replaced.")
    yield _section("A request for tools", one[core.ToolRequest], "A reply that asks for tools instead of answering.")
    yield _section("A use of a tool", one[core.ToolUse])
    yield _section(
        "A question that was handed on",
        one[core.Deferred],
        "The debate was not sure enough and [handed its question on](../language/confidence.md#hand-questions-on). The "
        "record then has the `answer` of the other debate; `votes` and all other fields are of the first one.",
    )
    yield _section(
        "Versions of the format",
        VERSIONS,
        "A record has the lowest version that has all its fields, so most have version 3. A version that the program "
        "does not know is refused.",
        "version",
    )


UNPACK = """```python
import base64, numpy as np

weight = np.frombuffer(base64.b64decode(packed["float64"]), "<f8").reshape(packed["shape"])
heard = np.unpackbits(np.frombuffer(base64.b64decode(packed["bits"]), "u1"), count=np.prod(packed["shape"])).reshape(
    packed["shape"]
)
```"""


def _of_files() -> Iterator[str]:
    yield "# Fields of other files"
    yield (
        "Look up a field of a log, or a column of a table, here. [Records and result files](../records.md) says what "
        "each file is for, and [fields of records](records.md) has the debates."
    )
    yield _section(
        "A line of a call log",
        CALL_LOG | CHECKSUM,
        "`calls/<dataset>/<replicate>-<shard>/<cell>.jsonl` ([the call log](../calls.md#the-call-log)). Vectors of "
        "embedding models are in `embeddings/<cell>.jsonl` of the same folder, as 32-bit floats in base64.",
    )
    yield _section(
        "An entry of ledger.jsonl", {**meanings(LedgerEntry, FILES), "before": "the seal of the previous entry"}
    )
    yield _section(
        "A line of a transcript to import",
        TRANSCRIPT,
        "The file that `cortexdsl import` reads has one debate a line ([import old transcripts](../old-runs.md)). "
        "`--field KEY=NAME` says how a key is called in your file.",
    )
    yield _section(
        "scores.csv",
        SCORES,
        "One row for each debate: each combination of dataset, cell, replicate and question. An empty field is an "
        "unknown value. The answers of single agents are in `parts/<dataset>/<cell>/answers.csv`.",
        "columns",
    )
    yield "## Other tables"
    listed = ((f"`{name}`", what, f"`{', '.join(columns_of(kind))}`") for name, (what, kind) in TABLES.items())
    yield table(("file", "rows", "columns"), listed)
    yield _section("Columns that need a word", COLUMNS, head="column")


def file_pages() -> Mapping[str, str]:
    """Return the pages by their paths in `docs/reference/`, without `.md`."""
    return {"records": "\n\n".join(_of_records()) + "\n", "files": "\n\n".join(_of_files()) + "\n"}
