"""The table of fitted functions: what they predict, how well, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cortexdsl.numbers import NOTHING, number, p_clause, p_value
from cortexdsl.plan.persistence.fits import Fit, read_fit
from cortexdsl.plan.record import PlanRecord
from cortexdsl.report.tables.table import Field, Table, count, numbers, tabulate, text, value

FITS = "fits"
_NOTE = (
    "In five-fold cross-validation, each question is predicted by a fit that never saw it; the base rate is that of "
    "the other folds. Noise: the log loss is not shown to be lower than that of the base rate (t test over questions, "
    "one-sided at 5 %). No cell is scored on a question that a fit has used. Calls and tokens of the debates to fit on "
    "are in no cost of a cell and in no matched budget; fits on the same debates share them. Claims are about these "
    "fits, unless they end in `over fits`."
)


def fit_table(plan: PlanRecord) -> Table | None:
    """Return the table of an experiment's fits; None if it has none."""
    rows = _fits(plan)
    if not rows:
        return None
    used_by = {each.name: ", ".join(each.used_by) for each in plan.learned}

    def both(title: str, name: str) -> Field[Fit]:
        def scores(fit: Fit) -> tuple[float | None, float | None]:
            return fit.scores[name]["fit"], fit.scores[name]["base"]

        return numbers(
            title, (name, f"base_{name}"), lambda fit: number(scores(fit)[0]), of=scores,
            more=lambda fit: f"({number(scores(fit)[1])})",
        )  # fmt: skip

    fields = [
        text("Fit", "learned", lambda fit: fit.name),
        text("Predicts", "predicts"),
        text("From", "from", lambda fit: ", ".join(fit.features)),
        text("By", "by"),
        text("Used by", "used_by", lambda fit: used_by[fit.name] or NOTHING),
        count("Questions", "questions", lambda fit: len(fit.questions)),
        both("Log loss (base rate)", "log_loss"),
        both("Brier (base rate)", "brier"),
        value("AUC", "auc", number, of=lambda fit: fit.scores["auc"]["fit"]),
        value("p", "p", p_value),
        text("Verdict", "verdict", lambda fit: "noise" if fit.is_noise else "predicts"),
        count("Calls", "calls"),
        count("Tokens", "tokens"),
    ]
    return tabulate(FITS, "Functions fitted on debates about other questions.", fields, rows, _NOTE)


def fit_lines(plan: PlanRecord) -> Iterator[str]:
    """Yield a sentence on each fit, for a terminal."""
    for fit in _fits(plan):
        loss = fit.scores["log_loss"]
        how = "noise" if fit.is_noise else "better than the base rate"
        yield (
            f"{fit.name} ({fit.by} from {', '.join(fit.features)}, {len(fit.questions)} questions of {fit.dataset}): "
            f"{how} (log loss {number(loss['fit'])} against {number(loss['base'])}, {p_clause(fit.p)})"
        )


def _fits(plan: PlanRecord) -> list[Fit]:
    return [read_fit(Path(plan.layout.fit(each.name)), each.digest) for each in plan.learned]
