"""The report's tables of counterfactuals: what was left out and what that changed; what each agent is worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from cortexdsl.analysis.units.table import ALL
from cortexdsl.numbers import difference, estimate, interval, number, p_value
from cortexdsl.report.inputs.rows import Row, read_rows
from cortexdsl.report.tables.written.table import Column, Entry, Table, words
from cortexdsl.report.words.numbers import Wording, wording

EFFECTS, SHAPLEY = "whatif", "shapley"
ACCURACY = wording("accuracy")


def whatif_tables(folder: Path) -> tuple[Table, ...]:
    """Return the tables of a results folder's counterfactuals; none where nothing was left out."""
    return tuple(table for table in (_effects(folder), _shapley(folder)) if table is not None)


def whatif_lines(folder: Path) -> Iterator[str]:
    """Yield the counterfactuals in words, a line each; of several datasets those in the mean over them."""
    for row in _shown(read_rows(folder / "whatif" / "effects.csv")):
        on, how = "" if row["dataset"] == ALL else f" on {row['dataset']}", _wording(row)
        what = "" if how.noun == ACCURACY.noun else f"{how.noun} "
        yield (
            f"{row['cell']}{on} without {row['without']}: {what}{estimate(row.number('left_out'), how.kind)} "
            f"in place of {estimate(row.number('whole'), how.kind)}; its effect is "
            f"{difference(row.number('effect'), how.kind)} "
            f"{interval(row.number('ci_low'), row.number('ci_high'), how.kind, signed=True)}, "
            f"p {p_value(row.number('p_adjusted'))} ({_correction(row)})"
            + ("" if row.truth("declared") else ", asked for after the run")
        )
    for (cell, dataset, how), rows in groupby(
        _shown(read_rows(folder / "whatif" / "shapley.csv")),
        key=lambda row: (row["cell"], row["dataset"], _wording(row)),
    ):
        worth = ", ".join(f"{row['agent']} {estimate(row.number('value'), how.kind)}" for row in rows)
        to = "" if how.noun == ACCURACY.noun else f" to {how.noun}"
        yield f"what each agent of {cell} is worth{to}{'' if dataset == ALL else f' on {dataset}'} (Shapley): {worth}"


def _wording(row: Row) -> Wording:
    """How the metric of a row is written; tables of before there were several are of accuracy."""
    return wording(row.get("metric") or "accuracy")


def _shown(rows: Iterable[Row]) -> list[Row]:
    found = list(rows)
    means = [row for row in found if row["dataset"] == ALL]
    return means or found


def _correction(row: Row) -> str:
    return "not corrected" if row["correction"] == "none" else row["correction"]


def _effects(folder: Path) -> Table | None:
    rows = []
    for row in read_rows(folder / "whatif" / "effects.csv"):
        whole, left, effect = (row.number(name) for name in ("whole", "left_out", "effect"))
        low, high, p, changed = (row.number(name) for name in ("ci_low", "ci_high", "p_adjusted", "changed"))
        without = row["without"] if row.truth("declared") else f"{row['without']} (asked for after the run)"
        how = _wording(row)
        shown = f"{difference(effect, how.kind)} {interval(low, high, how.kind, signed=True)}"
        rows.append((
            words(row["cell"]), words(row["dataset"]), words(how.title), words(without),
            Entry(estimate(whole, how.kind), (whole,)), Entry(estimate(left, how.kind), (left,)),
            Entry(shown, (effect, low, high), is_strong=p is not None and p <= 0.05),
            Entry(p_value(p), (p,)), Entry(estimate(changed, "share"), (changed,)),
            Entry(number(row.number("asked"), 1), (row.whole("asked"),)),
        ))  # fmt: skip
    heads = (
        Column("Cell", ("cell",), is_numeric=False), Column("Dataset", ("dataset",), is_numeric=False),
        Column("Metric", ("metric",), is_numeric=False, is_group=True),
        Column("Without", ("without",), is_numeric=False), Column("With it", ("whole",)),
        Column("Without it", ("left_out",)), Column("Effect", ("effect", "ci_low", "ci_high")),
        Column("Adjusted p", ("p_adjusted",)), Column("Answers changed", ("changed",)),
        Column("Calls asked", ("asked",)),
    )  # fmt: skip
    note = (
        "Debates branched from their own records with one thing left out and the same draws: the effect is a paired "
        "difference by question, with its own 95% interval, above 0 where there is more with it. What was asked for "
        "after the run is a family of its own, as is each metric. These debates are no results of their cell."
    )
    caption = "What leaving something out changes."
    return Table(EFFECTS, caption, heads, tuple(rows), note) if rows else None


def _shapley(folder: Path) -> Table | None:
    rows, drawn = [], False
    for row in read_rows(folder / "whatif" / "shapley.csv"):
        value, low, high, error = (row.number(name) for name in ("value", "ci_low", "ci_high", "order_error"))
        drawn, how = drawn or error is not None, _wording(row)
        rows.append((
            words(row["cell"]), words(row["dataset"]), words(how.title), words(row["agent"]),
            Entry(f"{estimate(value, how.kind)} {interval(low, high, how.kind)}", (value, low, high)),
            Entry(estimate(error, how.kind), (error,)),
            Entry(number(row.number("coalitions"), 1), (row.whole("coalitions"),)),
        ))  # fmt: skip
    heads = (
        Column("Cell", ("cell",), is_numeric=False), Column("Dataset", ("dataset",), is_numeric=False),
        Column("Metric", ("metric",), is_numeric=False, is_group=True),
        Column("Agent", ("agent",), is_numeric=False), Column("Worth", ("value", "ci_low", "ci_high")),
        Column("Error of drawing", ("order_error",)), Column("Coalitions", ("coalitions",)),
    )  # fmt: skip
    note = (
        "Shapley values: what an agent adds to the metric in debates among those before it, averaged over "
        + ("drawn orders" if drawn else "all orders")
        + " in which agents come in; they add up to that of all. 95% intervals by question."
    )
    return Table(SHAPLEY, "What each agent is worth.", heads, tuple(rows), note) if rows else None
