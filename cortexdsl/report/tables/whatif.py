"""Counterfactuals: what was left out, and what that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cortexdsl.numbers import difference, estimate, interval, p_clause, p_value
from cortexdsl.report.csv_rows import read_frame
from cortexdsl.report.phrasing.names import wording
from cortexdsl.report.tables.table import Table, count, group, numbers, share, tabulate, text, value
from cortexdsl.stats.tables.rows import CauseRow, EffectRow
from cortexdsl.stats.tables.score_table import ALL

EFFECTS, CAUSES = "whatif", "causes"


def whatif_tables(folder: Path) -> tuple[Table, ...]:
    """Return the tables of a results folder's counterfactuals; none if nothing was left out."""
    causes = read_frame(folder / "whatif" / "causes.csv", CauseRow)
    return tuple(filter(None, [_effect_table(_effects(folder)), _cause_table(causes)]))


def whatif_lines(folder: Path) -> Iterator[str]:
    """Yield the counterfactuals in words, a line each; of several datasets those in the mean over them."""
    rows = _effects(folder)
    for row in [row for row in rows if row.dataset == ALL] or rows:
        how, on = wording(row.metric), "" if row.dataset == ALL else f" on {row.dataset}"
        p = p_clause(row.p_adjusted, "p" if row.correction == "none" else "adjusted p")
        widened = replace(row, ci_low=row.ci_low_simultaneous, ci_high=row.ci_high_simultaneous)
        yield (
            f"{row.cell}{on} without {row.without}: {how.noun} {estimate(row.left_out, how.kind)} "
            f"instead of {estimate(row.whole, how.kind)}, an effect of {_effect(widened)}, {p}"
        )


def _effects(folder: Path) -> Sequence[EffectRow]:
    return read_frame(folder / "whatif" / "effects.csv", EffectRow)


def _effect(row: EffectRow) -> str:
    kind = wording(row.metric).kind
    return f"{difference(row.effect, kind)} {interval(row.ci_low, row.ci_high, kind, signed=True)}"


def _effect_table(rows: Sequence[EffectRow]) -> Table | None:
    if not rows:
        return None

    def is_strong(row: EffectRow) -> bool:
        return row.p_adjusted is not None and row.p_adjusted <= 0.05

    fields = [
        text("Cell", "cell"),
        text("Dataset", "dataset"),
        group("Metric", "metric", lambda row: wording(row.metric).title),
        text("Without", "without"),
        numbers("With it", "whole", lambda row: estimate(row.whole, wording(row.metric).kind)),
        numbers("Without it", "left_out", lambda row: estimate(row.left_out, wording(row.metric).kind)),
        numbers("Effect", ("effect", "ci_low", "ci_high"), _effect, is_strong=is_strong),
        value("Adjusted p", "p_adjusted", p_value),
        share("Answers changed", "changed"),
        count("Calls asked", "asked"),
    ]
    note = (
        "Debates branched from their own records with one thing left out and the same draws: the effect is a paired "
        "difference, above 0 if there is more with it."
    )
    return tabulate(EFFECTS, "What leaving something out changes.", fields, rows, note)


def _cause_table(rows: Sequence[CauseRow]) -> Table | None:
    if not rows:
        return None
    fields = [
        text("Cell", "cell"),
        text("Label", "label"),
        count("Labelled turns", "turns"),
        count("of these change the answer", "changed"),
        count("Other turns", "other_turns"),
        count("of these change it", "other_changed"),
        numbers(
            "Difference",
            ("difference", "ci_low", "ci_high"),
            lambda row: (
                f"{difference(row.difference, 'share')} {interval(row.ci_low, row.ci_high, 'share', signed=True)}"
            ),
            is_strong=lambda row: row.ci_low is not None and row.ci_low > 0,
        ),
    ]
    note = (
        "A turn changes the answer if its debate without it ends with another one. The difference is between turns of "
        "one debate, given who speaks and when; a label marks causes if its interval is above 0. Intervals are not "
        "corrected for the number of labels."
    )
    return tabulate(CAUSES, "Whether labelled turns are causes of the answer.", fields, rows, note)
