"""The declaration of a metric, and metrics that are declared together: of samples, confidences and pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["share", "ratio", "count", "tokens", "operations", "dollars", "seconds"]
Better: TypeAlias = Literal["higher", "lower", "neither"]
MetricLevel: TypeAlias = Literal["round", "agent"]
Group: TypeAlias = Literal[
    "",
    "compute",
    "depth",
    "log",
    "course",
    "samples",
    "confidence",
    "pairs",
    "tools",
    "rankings",
    "errors",
    "labels",
    "instructions",
]
Statistic: TypeAlias = Literal["", "ece", "auroc", "kappa", "alpha"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that summarises a cell.

    Attributes
    ----------
    name : str
    column : str
        The column of scores.csv whose mean over questions it is; empty for a metric of all answers of a cell.
    unit : str
        `share` (in [0, 1]), `ratio`, `count`, `tokens`, `operations` (floating-point), `dollars`, `seconds`.
    better : str
        `higher`, `lower`, or `neither` if no direction is a merit in itself.
    summary : str
        One line for tables and help.
    per : str or None
        If given, the metric is the ratio of the sums of `column` and of this column, not a mean.
    binary : bool
        Whether a value of 0 or 1 is a no or a yes (not a share that happens to be whole).
    noun : str
        The name in a sentence ("the ... of sparse"); empty if that is the name (or the alias in use) with spaces.
    values : (float, float) or None
        The range of its mean; by default [0, 1] for a share and [0, infinity) for anything else.
    kind : str
        Metrics of the same kind measure the same thing, so that their difference means something; by default alone.
    levels : frozenset of str
        `round`: also known after each round; `agent`: also known for each debater.
    aliases : tuple of str
        Further names.
    bound : str
        What a plan can say that bounds the metric of one question: `rounds`, `calls`, `input_tokens`, `output_tokens`,
        `total_tokens`; empty if nothing does.
    group : str
        If given, scores.csv has the columns of this group only if the spec names a metric of the group: they need
        more than the records (`log`: the call log), or are many (`samples`). Those of `tools` and
        `rankings` are also there if agents use tools in their turns, or rank.
    statistic : str
        If given, the metric is not a mean of `column`: it is this statistic of all debates of a cell, by the confidence
        in `column` and whether the debate is right (`cortexdsl.stats.tables.selective`), or by the verdicts and human
        labels of pairs (`cortexdsl.stats.tables.agreement`).
    """

    name: str
    column: str
    unit: Unit
    better: Better
    summary: str
    per: str | None = None
    binary: bool = False
    noun: str = ""
    values: tuple[float, float] | None = None
    kind: str = ""
    levels: frozenset[MetricLevel] = frozenset()
    aliases: tuple[str, ...] = ()
    bound: str = ""
    group: Group = ""
    statistic: Statistic = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its aliases."""
        return (self.name, *self.aliases)

    @property
    def range(self) -> tuple[float, float]:
        """The values that its mean can have."""
        return self.values or ((0.0, 1.0) if self.unit == "share" else (0.0, inf))


_UNIT = (0.0, 1.0)

SAMPLE_SIZES = (1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 40, 64)
"""The k of `pass_at_k`, `pass_all_k` and `majority_at_k`."""


def of_samples() -> Iterator[Metric]:
    """Yield the metrics of k samples of a question, for each k."""
    forms = (
        ("pass_at", "probability that at least one of {k} samples is right (Chen et al. 2021, Eq. 1)", "pass@{k}"),
        ("pass_all", "probability that all of {k} samples are right (Yao et al. 2024)", "pass^{k}"),
        ("majority_at", "expected score of the vote of {k} samples", "majority@{k}"),
    )
    for name, summary, noun in forms:
        for k in SAMPLE_SIZES:
            yield Metric(
                f"{name}_{k}", f"{name}_{k}", "share", "higher", summary.format(k=k), noun=noun.format(k=k),
                kind="accuracy", group="samples",
            )  # fmt: skip


def of_debate_confidence() -> Iterator[Metric]:
    """Yield the metrics of how sure debates are as a whole."""
    column, words = "debate_confidence", "how sure debates are as a whole"
    yield Metric(column, column, "share", "neither", words, noun="debate confidence", group="confidence")
    yield Metric(
        "deferred", "deferred", "share", "neither", "questions that were handed on to a stronger method", binary=True,
        noun="share of questions handed on", group="confidence",
    )  # fmt: skip
    yield Metric(
        "brier_debate", "brier_debate", "ratio", "lower", f"Brier score of {words}", values=_UNIT,
        noun="Brier score of debate confidences", kind="brier", group="confidence",
    )  # fmt: skip
    named: tuple[tuple[str, Statistic, Better, str, str], ...] = (
        ("ece_debate", "ece", "lower", "calibration error (ECE)", "ece"),
        ("auroc_debate", "auroc", "higher", "AUROC", "auroc"),
    )
    for name, statistic, better, title, kind in named:
        yield Metric(
            name, column, "ratio", better, f"{title} of {words}", values=_UNIT,
            noun=f"{title} of debate confidences", kind=kind, group="confidence",
            statistic=statistic,
        )  # fmt: skip


def of_errors() -> Iterator[Metric]:
    """Yield the metrics of how far numbers are from the right ones."""
    for name, words in (
        ("absolute_error", "distance of the answer from the nearest right number, in its unit"),
        ("relative_error", "the same distance, as a share of the right number"),
    ):
        noun = name.replace("_", " ")
        yield Metric(name, name, "ratio", "lower", words, values=(0.0, inf), noun=noun, group="errors")


def of_instructions() -> Iterator[Metric]:
    """Yield the metrics of replies whose instructions a program checks, as IFEval reports them."""
    loosely = ", if need be without the first line, the last line or the asterisks of the reply"
    yield Metric(
        "loose_accuracy", "loosely_right", "share", "higher", f"replies that follow all instructions{loosely}",
        binary=True, noun="loose accuracy", kind="accuracy", group="instructions",
    )  # fmt: skip
    for name, words in (("", ""), ("loose", loosely)):
        yield Metric(
            f"{name}_instruction_accuracy".strip("_"), "loosely_followed" if name else "followed", "share", "higher",
            f"instructions that replies follow{words}", per="instructions",
            noun=f"{name} accuracy of instructions".strip(), group="instructions",
        )  # fmt: skip


def of_pairs() -> Iterator[Metric]:
    """Yield the metrics of verdicts on pairs of replies."""
    yield Metric(
        "pair_accuracy", "pair_score", "share", "higher", "human labels that the preference of both orders agrees with;"
        " two orders that contradict each other are a tie", binary=True, noun="accuracy over both orders",
        kind="accuracy", group="pairs",
    )  # fmt: skip
    agreements: tuple[tuple[Statistic, str], ...] = (
        ("kappa", "Cohen's kappa of verdicts with human labels"),
        ("alpha", "Krippendorff's alpha of verdicts and human labels, as of one more annotator"),
    )
    for statistic, words in agreements:
        yield Metric(
            statistic, "labels", "ratio", "higher", words, values=(-1.0, 1.0), group="pairs", statistic=statistic,
        )  # fmt: skip
    yield Metric(
        "label_agreement", "label_agreement", "share", "neither", "pairs of human labels of one question that are"
        " equal: how far people agree among themselves", noun="agreement among human labels", group="pairs",
    )  # fmt: skip
    yield Metric(
        "consistency", "consistency", "share", "higher", "pairs whose verdict is the same reply in both orders",
        binary=True, group="pairs",
    )  # fmt: skip
    yield Metric(
        "position_bias", "position_bias", "share", "lower", "pairs whose verdict is the same position in both orders",
        binary=True, noun="share of verdicts that follow the position", group="pairs",
    )  # fmt: skip
    yield Metric(
        "first_chosen", "first_chosen", "share", "neither", "verdicts for the reply that is shown first; a tie counts"
        " half, and without a preference for a position it is 0.5", noun="share of verdicts for the first reply",
        group="pairs",
    )  # fmt: skip
    yield Metric(
        "longer_chosen", "longer_chosen", "share", "neither", "verdicts for the longer reply, of pairs that are not"
        " equally long; a tie counts half", noun="share of verdicts for the longer reply", group="pairs",
    )  # fmt: skip
    yield Metric(
        "length_bias", "length_bias", "ratio", "neither", "share of verdicts for the longer reply minus the share of"
        " human labels for it", values=(-1.0, 1.0), noun="length bias", group="pairs",
    )  # fmt: skip


OF_DEBATES, OF_TURNS = "debates_with_", "turns_with_"
"""The beginnings of the two metrics of a label; the name of the label follows."""


@cache
def of_label(name: str) -> Metric | None:
    """Return the metric of a label of turns by its name, such as `turns_with_repetition`; None for other names."""
    for start, what in ((OF_DEBATES, "debates with a turn"), (OF_TURNS, "turns")):
        if label := name.removeprefix(start) if name.startswith(start) else "":
            words = label.replace("_", " ")
            return Metric(
                name, name, "share", "neither", f"{what} labelled {label}", binary=start == OF_DEBATES,
                noun=f'share of {what} labelled "{words}"', kind=start, group="labels",
            )  # fmt: skip
    return None
