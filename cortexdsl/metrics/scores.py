"""Rows of scores: a row a debate (scores.csv), a row a round, a row an answer; CSV files of rows.

A row of scores.csv has the debate's score and every measure of one debate
(`cortexdsl.metrics.registry.MEASURES`), so that all of them can be compared question by question.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from cortexdsl.checksums import write_lines
from cortexdsl.core import EMPTY, NO_COSTS, DebateCosts
from cortexdsl.core.metrics import LABELS
from cortexdsl.errors import RecordError
from cortexdsl.metrics.calibration import confidence_of
from cortexdsl.metrics.influence import talk_density, talk_reciprocity
from cortexdsl.metrics.outcome import agent_score_after, consensus_after, score_after
from cortexdsl.metrics.registry import MEASURES, asked_measures
from cortexdsl.metrics.view import DebateView, DecidedAfter, Grade, view_debate
from cortexdsl.records import Header, Record
from cortexdsl.stats.tables.score_table import AFTER, WORDING_COLUMN

Value: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Value]
DecidedIn: TypeAlias = Callable[[Record], DecidedAfter]
Key: TypeAlias = tuple[str, str, int, str]

SCHEMA_VERSION = 1
AFTER_ROUND: Mapping[str, Callable[[DebateView, int], float | None]] = MappingProxyType(
    {"score": score_after, "consensus": consensus_after, "agent_score": agent_score_after}
)
"""Columns that are also reported for each earlier round: `score@0` is the worth of the openings' vote."""
SHOWN = 5


def score_rows(
    records: Iterable[Record],
    grade: Grade,
    *,
    methods: Mapping[str, str] = EMPTY,
    also: Mapping[str, Grade] = EMPTY,
    labels: Mapping[str, Mapping[str, str | None]] = EMPTY,
    asked: Iterable[str] = (),
    costs: DebateCosts = NO_COSTS,
    decided: DecidedIn | None = None,
) -> list[Row]:
    """Score the debates of one dataset.

    Parameters
    ----------
    records : iterable of Record
        All of one dataset.
    grade : callable
        (question id, answer) -> score in [0, 1].
    methods : mapping of cell to method
        From the plan; a cell that is not in it has the method that its name begins with.
    also : mapping of column to grade function
        Further scores of the same answers (token F1 next to exact match, a judge's verdict).
    labels : mapping of column to (question id -> label)
        What is known of the questions: `cluster`, `group`.
    asked : iterable of str
        Metrics whose groups of columns are not in every table (`cortexdsl.core.metric_types.Metric.group`).
    costs : DebateCosts
        What these need besides the records.
    decided : callable or None
        Record -> (round -> decision after it), by the method of the records; None if it is unknown.

    Returns
    -------
    list of dict
        In the order of the records; `None` is an unknown value and an empty field of the CSV file.

    Raises
    ------
    RecordError
        Records of two datasets, a guided record (its prompts contained the gold answer), or a counterfactual one.
    """
    rows: list[Row] = []
    further = asked_measures(asked)
    for record in records:
        header, debate = record.header, record.debate
        _check(header, rows)
        view = view_debate(debate, grade, costs, decided and decided(record))
        row: Row = {
            "dataset": header.dataset,
            "cell": header.cell,
            "method": methods.get(header.cell, method_of(header.cell)),
            "replicate": header.replicate,
            "question_id": debate.question_id,
        }
        for column, measure in MEASURES.items():
            row[column] = measure(view)
            if column == "rounds":
                row["stop"] = debate.stop
        for round_ in range(debate.rounds):
            row |= {f"{column}{AFTER}{round_}": after(view, round_) for column, after in AFTER_ROUND.items()}
        row |= {WORDING_COLUMN: debate.wording} if debate.wording else {}
        row |= {column: measure(view) for column, measure in further.items()}
        for column, other in also.items():
            row[column] = 0.0 if debate.answer is None else float(other(debate.question_id, debate.answer))
        for column, of in labels.items():
            row[column] = of.get(debate.question_id)
        row["schema_version"] = SCHEMA_VERSION
        rows.append(row)
    return rows


def method_of(cell: str) -> str:
    """Return the method that a cell's name or slug begins with: `sparse` of `sparse[keep=mean]`."""
    return cell.split("[", 1)[0].split("~", 1)[0]


def check_complete(
    rows: Iterable[Row], cells: Sequence[str], replicates: int, questions: Mapping[str, Sequence[str]]
) -> None:
    """Check that every (dataset, cell, replicate, question) of a plan has exactly one row.

    Parameters
    ----------
    rows : iterable of Row
    cells : sequence of str
    replicates : int
        Numbered from 1.
    questions : mapping of dataset to question ids

    Raises
    ------
    RecordError
        Rows are missing, duplicated or not of the plan; the message counts them and names the first.
    """
    found = Counter(_key(row) for row in rows)
    planned: dict[Key, None] = {
        (dataset, cell, replicate, question): None
        for dataset, ids in questions.items()
        for cell in cells
        for replicate in range(1, replicates + 1)
        for question in ids
    }
    faults = [
        _listed("are missing", [key for key in planned if key not in found]),
        _listed("stand twice", [key for key, count in found.items() if count > 1]),
        _listed("are not of the plan", [key for key in found if key not in planned]),
    ]
    if any(faults):
        raise RecordError(
            "the scores are not complete: " + "; ".join(filter(None, faults)) + "\n    run the debates of these"
            " again, or remove files of an older plan from the results folder"
        )


def write_scores(path: Path, rows: Sequence[Row]) -> None:
    """Write score rows sorted by dataset, cell and replicate; questions keep their order (see `write_rows`).

    Raises
    ------
    RecordError
        A column of text is not declared as a label: it could not be told from a column of values.
    """
    for column in dict.fromkeys(column for row in rows for column in row if column not in LABELS):
        value = next((row[column] for row in rows if row.get(column)), None)
        if isinstance(value, str) and not _is_number(value):
            raise RecordError(
                f"{path}: the column {column!r} holds {value!r}, and values are numbers\n"
                "    declare a column of text in LABELS of cortexdsl/core/metrics.py"
            )
    write_rows(path, sorted(rows, key=lambda row: _key(row)[:3]))


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as CSV, atomically. The same rows give the same text.

    Columns are in order of appearance; whole numbers have no point, others are the shortest text that gives them
    back, unknown values are empty.
    """
    columns = list(dict.fromkeys(column for row in rows for column in row))
    write_lines(path, _csv_lines([columns, *([_text(row.get(column)) for column in columns] for row in rows)]))


def read_rows(path: Path) -> list[Row]:
    """Read rows as `write_rows` wrote them, to join the parts of a table; values stay text, empty ones are None.

    Raises
    ------
    RecordError
        The file is missing or not in UTF-8, or a row has not as many fields as the table has columns.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:  # spreadsheets write the mark
            table = list(csv.reader(stream))
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}: is not in UTF-8 ({error})\n    save it as CSV UTF-8") from error
    columns, lines = (table[0], table[1:]) if table else ([], [])
    short = next((line for line in lines if len(line) != len(columns)), None)
    if short is not None:
        raise RecordError(
            f"{path}: a row has {len(short)} fields where {len(columns)} columns are named; write it again"
        )
    return [{column: value or None for column, value in zip(columns, line, strict=True)} for line in lines]


def scores_by_debate(path: Path) -> dict[tuple[str, ...], str]:
    """Return the scores of a table of scores as text, by dataset, cell, replicate and question; empty without one."""
    keys = ("dataset", "cell", "replicate", "question_id")
    rows = read_rows(path) if path.is_file() else []
    return {tuple(str(row.get(key)) for key in keys): str(row.get("score") or "") for row in rows}


def _csv_lines(table: Iterable[Sequence[str]]) -> Iterable[str]:
    for fields in table:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\r\n").writerow(fields)  # quotes what holds either of the two
        yield buffer.getvalue().removesuffix("\r\n")


def _text(value: Value) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check(header: Header, rows: Sequence[Row]) -> None:
    if header.guided:
        raise RecordError(
            f"cell {header.cell!r}: guided debates were told the gold answer and cannot be scored\n"
            "    score the debates of the experiment, not those of the training data"
        )
    if header.without:
        raise RecordError(
            f"cell {header.cell!r}: debates without {header.without} are counterfactual, and no results of the cell\n"
            "    cortexdsl whatif compares them with those they branch from"
        )
    if rows and rows[0]["dataset"] != header.dataset:
        raise RecordError(
            f"records of the datasets {rows[0]['dataset']!r} and {header.dataset!r} in one table\n"
            "    score each dataset by its own grade function"
        )


def _key(row: Row) -> Key:
    return str(row["dataset"]), str(row["cell"]), int(row["replicate"] or 0), str(row["question_id"])


def _listed(what: str, keys: Sequence[Key]) -> str:
    if not keys:
        return ""
    first = ", ".join(f"{d}/{c}/r{r}/{q}" for d, c, r, q in keys[:SHOWN])
    return f"{len(keys)} {what} ({first}{', ...' if len(keys) > SHOWN else ''})"


def round_rows(
    records: Iterable[Record],
    grade: Grade,
    clusters: Mapping[str, str | None] = EMPTY,
    decided: DecidedIn | None = None,
) -> list[Row]:
    """Return one row for each round that a debate had, the opening included.

    Columns `dataset, cell, replicate, question_id, cluster, round, score, consensus, agent_score, density,
    reciprocity`: what the debate would have scored, had it ended there, and how its debaters listened in that
    round. `clusters` names what a question belongs to, where questions are not independent; `decided` as in
    `score_rows`.
    """
    return [
        {
            "dataset": record.header.dataset,
            "cell": record.header.cell,
            "replicate": record.header.replicate,
            "question_id": record.debate.question_id,
            "cluster": clusters.get(record.debate.question_id),
            "round": round_,
            "score": score_after(view, round_),
            "consensus": consensus_after(view, round_),
            "agent_score": agent_score_after(view, round_),
            **_listening(view, round_),
        }
        for record in records
        for view in [view_debate(record.debate, grade, decided=decided and decided(record))]
        for round_ in range(record.debate.rounds + 1)
    ]


def _listening(view: DebateView, round_: int) -> dict[str, float | None]:
    talk = next((talk for talk in view.talks if talk.round == round_), None)
    return {
        "density": None if talk is None else talk_density(talk),
        "reciprocity": None if talk is None else talk_reciprocity(talk),
    }


def answer_rows(records: Iterable[Record], grade: Grade) -> list[Row]:
    """Return one row for each answer, in the order of the records and of the debate.

    Columns `dataset, cell, replicate, question_id, agent, round, score, right, stated, recalibrated, raw`: what the
    answer is worth, whether it counts as right (1 or 0), the confidence that it states, the one that the debate
    uses, and that one before recalibration.
    """
    return [
        {
            "dataset": record.header.dataset,
            "cell": record.header.cell,
            "replicate": record.header.replicate,
            "question_id": record.debate.question_id,
            "agent": turn.speaker,
            "round": turn.round,
            "score": view.worth(turn.answer),
            "right": int(view.is_right(turn.answer)),
            "stated": turn.confidence_stated,
            "recalibrated": turn.confidence,
            "raw": confidence_of(turn, "raw"),
        }
        for record in records
        for view in [view_debate(record.debate, grade)]
        for turn in view.given()
    ]
