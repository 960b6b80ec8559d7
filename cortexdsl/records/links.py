"""Addresses of the explorer's views: the fragments that reports and tables link to.

An address is a path and filters, every part percent-encoded:

    #/x/EXPERIMENT                        the experiment
    #/x/EXPERIMENT/find?FILTERS           the debates that match the filters
    #/x/EXPERIMENT/q/DATASET/QUESTION     one question, its cells side by side
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args
from urllib.parse import quote

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.designs import design_of
from cortexdsl.claims.parser import parse_claim
from cortexdsl.core import ConfidenceSource
from cortexdsl.errors import CortexError

Outcome: TypeAlias = Literal["cut", "repetitive", "refused", "empty", "tool_calls", "unmeasured"]
"""A kind of reply, named as in `scores.csv`: cut at its limit, repetitive, a refusal, empty, a call of a tool,
with a confidence that could not be measured."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Mark: TypeAlias = Literal["right", "wrong", "tied", "unread", "unanswered", "failed", "to-right", "to-wrong"] | Outcome
"""A kind of debate: its answer right or wrong; tied; a turn unreadable; no answer at all; a call failed; an agent that
changed from wrong to right, or from right to wrong; a reply of one of the outcomes."""
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
    confidence: ConfidenceSource | None = None,
    text: str | None = None,
    sort: Order | None = None,
) -> str:
    """Return the fragment of the debates that match some filters; cells by their names in tables.

    Parameters
    ----------
    experiment : str
    dataset, cell, replicate
        Dataset `all` means every dataset; several cells may be named.
    marks : sequence of Mark
        All of them must hold.
    right, wrong : str
        Cells: questions with a right answer of the one and a wrong answer of the other, in the same replicate.
    apart : pair of str
        Two cells; exactly one of them was right.
    agent : str
        An agent that took part.
    confidence : str
        The source of the confidences of its answers.
    text : str
        Words in replies.
    sort : Order
        Sort by this, the largest first.
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


def _query(filters: _Filters) -> str:
    """Return the filters with values as a query; a filter with several values is repeated."""
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
    """Return a name with U+FFFD for lone surrogates, which addresses cannot hold, as the explorer does."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_ANSWERS = ("accuracy", "opening_accuracy", "score")


def claim_link(experiment: str, text: str, arms: Sequence[CellNames] = ()) -> str:
    """Return the link to the debates that a claim is about.

    For a claim on the answers of two cells, these are the debates that one cell got right and the other wrong.
    Otherwise they are all debates of its cells, the most expensive first if the claim is on tokens.
    """
    try:
        claim = parse_claim(text)
        cells = list(dict.fromkeys(design_of(claim, arms).cells)) if arms else []
        metrics = claim.metrics
    except CortexError:
        return find_link(experiment)
    dataset = getattr(claim, "dataset", None)
    dataset = dataset if isinstance(dataset, str) and dataset not in ("every", "no") else None
    if len(cells) == 2 and any(metric in _ANSWERS for metric in metrics):
        return find_link(experiment, dataset=dataset, apart=(cells[0], cells[1]))
    sort = "tokens" if any("tokens" in metric for metric in metrics) else None
    return find_link(experiment, dataset=dataset, cell=cells, sort=sort)  # type: ignore[arg-type]
