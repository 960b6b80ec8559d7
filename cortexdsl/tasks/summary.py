"""What a set of graded replies comes to: scores, unreadable shares, averages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cortexdsl.tasks.grading.longbench import GROUPS, macro_average
from cortexdsl.tasks.rows import Graded


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a summary.

    Attributes
    ----------
    task : str
        The task's name, or `all`.
    replies : int
    strict_score, lenient_score : float
        Mean score of each reading; an unreadable reply counts 0.
    strict_unread, lenient_unread : float
        Share of replies in which each reading found no answer.
    out_of_range : int
        Stated confidences below 0 or above 1: kept as stated, clipped where they are used.
    """

    task: str
    replies: int
    strict_score: float
    lenient_score: float
    strict_unread: float
    lenient_unread: float
    out_of_range: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Lines by task, and averages of the reading that scores.

    Attributes
    ----------
    lines : tuple of Line
        One a task in the order of the replies, then `all`.
    micro : float
        Mean over replies.
    macro : float
        Mean over tasks of their means.
    longbench : mapping of language to float
        LongBench's published kind of average, where all six groups of a language are there.
    """

    lines: tuple[Line, ...]
    micro: float
    macro: float
    longbench: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        return asdict(self)

    def text(self) -> str:
        """Return the summary as a table for a terminal."""
        width = max(len("task"), *(len(line.task) for line in self.lines))
        head = f"{'task':<{width}}  replies  score strict/lenient  unread strict/lenient"
        rows = [
            f"{line.task:<{width}}  {line.replies:>7}  {line.strict_score:>12.1%}{line.lenient_score:>8.1%}"
            f"  {line.strict_unread:>13.1%}{line.lenient_unread:>8.1%}"
            for line in self.lines
        ]
        notes = [f"micro average {self.micro:.1%} (over replies), macro average {self.macro:.1%} (over tasks)"]
        notes += [f"LongBench average ({language}) {value:.1%}" for language, value in self.longbench.items()]
        stated = self.lines[-1].out_of_range
        if stated:
            notes.append(f"{stated} stated confidences lie outside 0 to 1")
        return "\n".join([head, *rows, "", *notes])


def summarise(graded: Sequence[Graded]) -> Summary:
    """Summarise graded replies.

    Raises
    ------
    ValueError
        If there is none.
    """
    if not graded:
        raise ValueError("no graded reply to summarise")
    by_task: dict[str, list[Graded]] = {}
    for each in graded:
        by_task.setdefault(each.task, []).append(each)
    means = {task: mean(each.score for each in replies) for task, replies in by_task.items()}
    lines = [_line(task, replies) for task, replies in by_task.items()] if len(by_task) > 1 else []
    return Summary(
        (*lines, _line("all" if lines else next(iter(by_task)), graded)),
        mean(each.score for each in graded),
        mean(means.values()),
        _longbench(means),
    )


def macro(scores: Iterable[tuple[str, float]]) -> float:
    """Mean over groups of their mean scores, from (group, score) pairs."""
    groups: dict[str, list[float]] = {}
    for group, score in scores:
        groups.setdefault(group, []).append(score)
    return mean(mean(values) for values in groups.values())


def mean(values: Iterable[float]) -> float:
    """Arithmetic mean of at least one value."""
    listed = list(values)
    return sum(listed) / len(listed)


def _line(task: str, replies: Sequence[Graded]) -> Line:
    return Line(
        task,
        len(replies),
        mean(each.strict_score for each in replies),
        mean(each.lenient_score for each in replies),
        mean(float(each.strict.value is None) for each in replies),
        mean(float(each.lenient.value is None) for each in replies),
        sum(each.scored.confidence is not None and not 0 <= each.scored.confidence <= 1 for each in replies),
    )


def _longbench(means: Mapping[str, float]) -> dict[str, float]:
    subsets = {task.split("/", 1)[1]: mean for task, mean in means.items() if task.lower().startswith("longbench/")}
    averages: dict[str, float] = {}
    for language, groups in GROUPS.items():
        if {groups[subset] for subset in subsets if subset in groups} == set(groups.values()):
            averages[language] = macro_average(subsets, language)
    return averages
