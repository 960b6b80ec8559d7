"""The table of fitted functions: what they predict, how well, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.numbers import NOTHING, number, p_clause
from cortexdsl.plan.persistence.fits import Fit, read_fit
from cortexdsl.plan.record import LearnedRecord, PlanRecord
from cortexdsl.report.tables.table import Table, count, numbers, tabulate, text, value

FITS = "fits"
_NOTE = (
    "In five-fold cross-validation, each question is predicted by a fit that never saw it; the base rate is that of "
    "the other folds. Noise: the log loss is not shown to be lower than that of the base rate (t test over questions, "
    "one-sided at 5 %). No cell is scored on a question that a fit has used. Calls and tokens of the debates to fit on "
    "are in no cost of a cell and in no matched budget; fits on the same debates share them. Claims are about these "
    "fits, unless they end in `over fits`."
)


@dataclass(frozen=True, slots=True)
class FittedRow:
    """A fit, and what the plan says of it."""

    plan: LearnedRecord
    fit: Fit

    def score(self, name: str, whose: str) -> float | None:
        """Return a score of the fit or of the base rate."""
        return self.fit.scores[name][whose]


def fit_table(plan: PlanRecord) -> Table | None:
    """Return the table of an experiment's fits; None if it has none."""
    rows = [FittedRow(each, read_fit(Path(plan.layout.fit(each.name)), each.digest)) for each in plan.learned]
    if not rows:
        return None

    def both(title: str, name: str) -> object:
        return numbers(
            title,
            (name, f"base_{name}"),
            lambda row: _text(row.score(name, "fit")),
            of=lambda row: (row.score(name, "fit"), row.score(name, "base")),
            more=lambda row: f"({_text(row.score(name, 'base'))})",
        )

    fields = [
        text("Fit", "learned", lambda row: row.fit.name),
        text("Predicts", "predicts", lambda row: row.fit.predicts),
        text("From", "from", lambda row: ", ".join(row.fit.features)),
        text("By", "by", lambda row: row.fit.by),
        text("Used by", "used_by", lambda row: ", ".join(row.plan.used_by) or NOTHING),
        count("Questions", "questions", lambda row: len(row.fit.questions)),
        both("Log loss (base rate)", "log_loss"),
        both("Brier (base rate)", "brier"),
        value("AUC", "auc", _text, of=lambda row: row.score("auc", "fit")),
        value("p", "p", lambda p: p_clause(p).removeprefix("p = ").removeprefix("p "), of=lambda row: row.fit.p),
        text("Verdict", "verdict", lambda row: "noise" if row.fit.is_noise else "predicts"),
        count("Calls", "calls", lambda row: row.fit.calls),
        count("Tokens", "tokens", lambda row: row.fit.tokens),
    ]
    return tabulate(FITS, "Functions fitted on debates about other questions.", fields, rows, _NOTE)  # type: ignore[arg-type]


def _text(score: float | None) -> str:
    return NOTHING if score is None else number(score)


def fit_lines(plan: PlanRecord) -> Sequence[str]:
    """Return a sentence on each fit, for a terminal."""
    table = fit_table(plan)
    if table is None:
        return ()
    return [
        f"{each.name} ({each.by} from {', '.join(each.features)}): fitted on {len(each.questions)} other questions of "
        f"{each.dataset}, {_finding(each)}; {each.calls:,} calls, {each.tokens:,} tokens, which no cell counts"
        for each in (read_fit(Path(plan.layout.fit(one.name)), one.digest) for one in plan.learned)
    ]


def _finding(fit: Fit) -> str:
    loss = fit.scores["log_loss"]
    how = "noise" if fit.is_noise else "better than the base rate"
    return f"{how} (log loss {_text(loss['fit'])} against {_text(loss['base'])}, {p_clause(fit.p)})"
