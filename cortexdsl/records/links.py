"""Where the explorer shows what: the fragments of its address, which reports, tables and people link to.

An address is a path and filters, every part percent-encoded, so that any view can be sent:

    #/x/EXPERIMENT                        the experiment
    #/x/EXPERIMENT/find?FILTERS           the debates that some filters leave
    #/x/EXPERIMENT/q/DATASET/QUESTION     one question, its cells side by side
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args
from urllib.parse import quote

from cortexdsl.terms import Source

Outcome: TypeAlias = Literal["cut", "repetitive", "refused", "empty", "tool_calls", "other_language", "unmeasured"]
"""What a reply of a debate may be, named as in `scores.csv`: cut at its limit, saying the same over and over, a
refusal, without a word, a call of a tool, in another script than its question, its confidence not to be measured."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Mark: TypeAlias = Literal["right", "wrong", "tied", "unread", "unanswered", "failed", "to-right", "to-wrong"] | Outcome
"""What a debate may be: its answer right or wrong; tied; a turn unreadable; no answer at all; a call failed; an agent
that changed from wrong to right, or from right to wrong; a reply of one of the outcomes."""
Order: TypeAlias = Literal["persuasive", "tokens", "flips", "rounds"]
_Filters: TypeAlias = Mapping[str, str | int | Sequence[str] | None]


def experiment_link(experiment: str) -> str:
    """Return the fragment of an experiment."""
    return f"#/x/{_part(experiment)}"


def find_link(
    experiment: str,
    *,
    dataset: str | None = None,
    cell: str | Sequence[str] | None = None,
    replicate: int | None = None,
    marks: Sequence[Mark] = (),
    right: str | None = None,
    wrong: str | None = None,
    apart: tuple[str, str] | None = None,
    agent: str | None = None,
    confidence: Source | None = None,
    text: str | None = None,
    sort: Order | None = None,
) -> str:
    """Return the fragment of the debates that some filters leave; cells by the names that tables give them.

    Parameters
    ----------
    experiment : str
    dataset, cell, replicate
        Of the debates; dataset `all` means every dataset; several cells may be named.
    marks : sequence of Mark
        All of them hold.
    right, wrong : str
        Cells: questions that the one answered right and the other wrong, in the same replicate.
    apart : pair of str
        Cells of which one was right and the other wrong, whichever.
    agent : str
        It took part.
    confidence : str
        Where the confidences of its answers came from.
    text : str
        Words that were said.
    sort : Order
        The most of it first.
    """
    filters: _Filters = {
        "dataset": None if dataset == "all" else dataset,
        "cell": cell,
        "replicate": replicate,
        "is": ",".join(marks),
        "right": right,
        "wrong": wrong,
        "apart": apart,
        "agent": agent,
        "confidence": confidence,
        "text": text,
        "sort": sort,
    }
    return f"{experiment_link(experiment)}/find{_query(filters)}"


def question_link(
    experiment: str, dataset: str, question: str, *, cells: Sequence[str] = (), replicate: int | None = None
) -> str:
    """Return the fragment of a question; without cells those that the explorer chooses."""
    filters: _Filters = {"cell": tuple(cells), "replicate": replicate}
    return f"{experiment_link(experiment)}/q/{_part(dataset)}/{_part(question)}{_query(filters)}"


def _query(filters: _Filters) -> str:
    """What is set, as a query; a filter with several values stands there once for each."""
    pairs = [
        f"{name}={_part(str(one))}"
        for name, value in filters.items()
        if value is not None
        for one in ([value] if isinstance(value, str | int) else value)
        if one != ""
    ]
    return f"?{'&'.join(pairs)}" if pairs else ""


def _part(text: str) -> str:
    return quote(_well_formed(text), safe="")


def _well_formed(text: str) -> str:
    """A name with a lone surrogate, which no address can hold, as the explorer calls it: with U+FFFD there."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
