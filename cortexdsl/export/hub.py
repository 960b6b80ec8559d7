"""A dataset for the Hugging Face hub: a card, and a table for each of debates, turns, edges and questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from cortexdsl.errors import InputError
from cortexdsl.export.source import ExportSource
from cortexdsl.numbers import counted
from cortexdsl.plan.record import PlanRecord
from cortexdsl.records import debate_files, read_debates
from cortexdsl.records.rows import RECORD_TABLES, well_formed

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_CONTENTS = {
    "questions": "one row a question: its words, options and accepted answers",
    "debates": "one row a debate, nested: agents, turns, edges, votes, answer, score",
    "turns": "one row a turn: who said what, in which round, what was read from it",
    "edges": "one row for each speaker and listener of a step: whether heard, and the weight",
}


def export_hub(folder: Path, target: Path) -> dict[str, int]:
    """Write README.md and data/*.parquet, and return how many rows each table has.

    `datasets.load_dataset(TARGET, "debates")` reads it, here and from the hub.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`.
    target : Path
        A folder; an earlier export in it is replaced.

    Raises
    ------
    InputError
        pyarrow (the extra `data`) is not installed.
    """
    source = ExportSource(folder)
    counts = {}
    for name in RECORD_TABLES:
        counts[name] = _write(target / "data" / f"{name}.parquet", partial(_parts, source, name))
    if questions := [well_formed(row) for row in _questions(source)]:
        counts["questions"] = _write(target / "data" / "questions.parquet", lambda: [questions])
    (target / "README.md").write_text(card(source.plan, counts), encoding="utf-8")
    return counts


def card(plan: PlanRecord, counts: Mapping[str, int]) -> str:
    """Return the dataset's card: metadata that the hub reads, and what is in it."""
    largest = max(counts.values())
    size = next((name for most, name in _SIZES if largest < most), "1M<n<10M")
    title = plan.title or plan.experiment
    head = ["---", f"pretty_name: {json.dumps(title)}", "tags:", "- multi-agent-debate", "- cortexdsl"]
    head += ["size_categories:", f"- {size}", "configs:"]
    for name in counts:
        head += [f"- config_name: {name}", f"  data_files: data/{name}.parquet"]
        head += ["  default: true"] if name == "debates" else []
    models = ", ".join(dict.fromkeys(f"`{agent.model}`" for agent in plan.agents))
    datasets = ", ".join(f"{label} ({counted(len(ids), 'question')})" for label, ids in plan.questions.items())
    body = [
        "---", "", f"# {_line(title)}", "",
        "Debates of language models on questions, with who heard whom, what each said and which answer was taken.", "",
        f"- Questions: {datasets}; {counted(plan.replicates, 'replicate')}, seed {plan.seed}",
        f"- Agents: {models}",
        f"- Cells: {', '.join(_line(cell.name) for cell in plan.cells)}",
        f"- Spec digest: `{plan.spec_digest}`", "", "## Tables", "",
    ]  # fmt: skip
    body += [f"- `{name}` ({counted(count, 'row')}): {_CONTENTS[name]}" for name, count in counts.items()]
    body += [
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        'debates = load_dataset("PLACE", "debates")',
        "```",
        "",
    ]
    body += ["Check the licences of the questions and of the models before you publish this; none is stated here.", ""]
    return "\n".join([*head, *body])


def _parts(source: ExportSource, table: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each file of records."""
    for path in debate_files(source.folder):
        made = RECORD_TABLES[table](read_debates(path))
        yield [well_formed(_scored(source, row) if table == "debates" else row) for row in made]


def _scored(source: ExportSource, row: dict[str, Any]) -> dict[str, Any]:
    return row | {"score": source.score_at(row["dataset"], row["cell"], row["replicate"], row["question_id"])}


def _questions(source: ExportSource) -> Iterator[dict[str, Any]]:
    for (dataset, question), item in source.items.items():
        yield {
            "dataset": dataset,
            "question_id": question,
            "question": item.question.text,
            "context": item.question.context,
            "options": [{"label": str(label), "text": str(text)} for label, text in item.question.options],
            "gold": list(item.gold),
            "kind": item.kind,
        }


def _write(path: Path, parts: Callable[[], Iterable[list[dict[str, Any]]]]) -> int:
    """Write a table part by part: once to learn the types of all rows, and once with them."""
    pyarrow, parquet = _pyarrow()
    schema, count = pyarrow.schema([]), 0
    for rows in parts():
        if rows:
            found = pyarrow.Table.from_pylist(rows).schema
            schema = pyarrow.unify_schemas([schema, found], promote_options="permissive")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with parquet.ParquetWriter(part, schema, compression="zstd") as writer:
        for rows in parts():
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    part.replace(path)
    return count


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise InputError("a dataset is written with pyarrow: install cortexdsl[data]") from None


def _line(text: str) -> str:
    return " ".join(text.split())
