"""Which conditions, choices and weights of a method have no effect, found in made-up debates of every kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cortexdsl.debate.roles import choices, principal_roles
from cortexdsl.debate.sites import CONDITION, sites
from cortexdsl.debate.weights.expressions import named, parse
from cortexdsl.plan.rehearsal.latest import comments_shown, may_comment
from cortexdsl.plan.rehearsal.tallies import EvaluationCount
from cortexdsl.plan.rehearsal.varied import varied_debates
from cortexdsl.plan.rehearsal.wording import bare
from cortexdsl.terms import Choose, Debate, Evaluation, Method, Repeat, Site, SitePlace, SiteWord

FEWEST_DEBATES = 5
"""Made-up debates that every method goes through: the scripts that differ most."""
MOST_SHOWN = 100_000
"""Turns that all prompts together may show, about a second's work: large teams go through fewer debates."""
FEWEST_EVALUATIONS = 10
"""So often an expression is evaluated before it counts as unchanging, unless replies cannot change it."""
TIED = 0.25
"""The share of choices, or of listeners, whose count ends in a tie at 0 that is worth a warning."""

_FROM_ANSWERS = frozenset({
    "reliability", "confidence", "support", "constancy", "changes", "changed", "similarity", "intimacy", "differs",
    "agreement", "consensus",
})  # fmt: skip
"""Names that are worth something only after a debater has answered."""


@dataclass(frozen=True, slots=True)
class NoEffect:
    """Something in a method that cannot have the effect it seems to have.

    Attributes
    ----------
    place : SitePlace
    text : str
        The expression or the word.
    what, remedy : str
    is_never : bool
        Whether it is a condition that was never true.
    may_depend_on_team : bool
        Whether the same words may have an effect among other agents.
    """

    place: SitePlace
    text: str
    what: str
    remedy: str
    is_never: bool = False
    may_depend_on_team: bool = False


def without_effect(method: Method) -> tuple[NoEffect, ...]:
    """Run made-up debates, and return what a method says without effect.

    That is: conditions that were never true, or always; weights that never told two candidates apart; `top` and
    `drop_bottom` that often end in a tie at 0; choices that leave nobody to debate; and `latest` that shows a comment
    although the agent has answered. Left out are expressions that draw chance, and
    `unless` that asks only for `n_agents`.

    Parameters
    ----------
    method : Method
        As it is written.
    """
    counts = {site: EvaluationCount(keep) for site, keep in sites(method)}
    if not counts and not may_comment(method):
        return ()

    def observe(seen: Evaluation) -> None:
        if seen.site in counts:
            counts[seen.site].add(seen)

    watched = [count for site, count in counts.items() if not _is_exempt(site)]
    may_empty = any(_may_empty(method, choice) for choice in choices(method.schedule))

    def is_too_much(debates: Sequence[Debate]) -> bool:
        return sum(1 + len(turn.heard) for debate in debates for turn in debate.turns) > MOST_SHOWN

    def enough(debates: Sequence[Debate]) -> bool:
        is_settled = not may_empty and all(count.is_settled for count in watched)
        return (is_settled and len(debates) >= FEWEST_DEBATES) or is_too_much(debates)

    debates = varied_debates(method, observe, enough)
    few = is_too_much(debates)
    found = [each for site, count in counts.items() for each in _of_site(method, site, count, few)]
    shown = comments_shown(method, debates)
    return (*found, *(NoEffect((each.word, each.step), "latest", each.what, each.remedy) for each in shown))


def _is_exempt(site: Site) -> bool:
    """Tell whether a condition may rightly never change: it draws chance, or skips steps for teams of another size."""
    names = parse(site.expression).names
    return "chance" in names or (site.word == "unless" and names == {"n_agents"})


def _is_certain(site: Site, count: EvaluationCount) -> bool:
    """Tell whether an expression is what it is whatever is replied: by the schedule alone."""
    names = parse(site.expression).names
    return names <= {"round", "n_agents"} or (not count.rounds and bool(names & _FROM_ANSWERS))


def _may_empty(method: Method, choice: Choose) -> bool:
    """Tell whether a choice may leave nobody to debate."""
    return choice.role in principal_roles(method) and choice.keep.may_keep_nobody


def _of_site(method: Method, site: Site, count: EvaluationCount, few: bool) -> Iterator[NoEffect]:
    """Yield what is without effect at a site; after `few` debates only what no other replies could change."""
    place, text = site.place, bare(site.expression)
    is_known = count.evaluations >= FEWEST_EVALUATIONS and not few
    is_known = (is_known or (count.evaluations > 0 and _is_certain(site, count))) and not _is_exempt(site)
    if is_known and (what := _unchanging(site, text, count)) is not None:
        why, remedy = _reason(method, site, count)
        yield NoEffect(place, text, f"{what}: {why}", remedy, is_never=not count.kept, may_depend_on_team=True)
        if not count.kept:
            return  # that a choice leaves nobody follows from it
    if isinstance(site.part, Choose) and _may_empty(method, site.part) and count.emptied:
        yield NoEffect(place, text, *_emptied(site.part, count))
    if count.tied > TIED * count.columns:
        yield NoEffect(place, text, *_tied(count))


def _unchanging(site: Site, text: str, count: EvaluationCount) -> str | None:
    """Say that a condition was never true, or always, or that a weight never told candidates apart."""
    over = f"in {count.evaluations} evaluations over made-up debates"
    if count.keep == CONDITION:
        word = site.word if isinstance(site.part, Repeat) else f"{site.word} where"
        if not count.kept:
            return f"{word} {text} was never true {over}, so {_NEVER[site.word]}"
        is_choice_of_one = site.word == "hears" and not count.is_compared  # there is nothing to leave out
        if count.kept == count.possible and not is_choice_of_one:
            return f"{word} {text} was always true {over}, so {_ALWAYS[site.word]}"
    elif count.keep.rule not in ("all", "above") and count.is_compared and not count.differs:
        return f"weight {text} was the same for all candidates {over}, so ties keep all of them"
    return None


_NEVER: Mapping[SiteWord, str] = {
    "until": "the loop always runs to its end",
    "unless": "its steps are never passed over",
    "choose": "nobody is ever chosen",
    "hears": "nobody is ever heard",
    "tells": "no such turn is ever told",
    "own": "no such turn is ever remembered",
}
_ALWAYS: Mapping[SiteWord, str] = {
    "until": "the loop ends after its first pass",
    "unless": "its steps are never spoken",
    "choose": "everybody is always chosen",
    "hears": "all who could be heard are heard",
    "tells": "it leaves no turn out",
    "own": "it leaves no turn out",
}


def _reason(method: Method, site: Site, count: EvaluationCount) -> tuple[str, str]:
    """Say why an expression may never have changed, and what to look at."""
    names, roles = parse(site.expression).names, " or ".join(principal_roles(method))
    if not count.rounds and names & _FROM_ANSWERS:
        remedy = f"let a step of {roles} answer before it, or choose the role that answers from {roles}"
        return f"no debater ({roles}) had answered by then", f"{remedy}: {{choose: ROLE, from: {roles}, where: ...}}"
    ranges = {key: ends for key, ends in count.ranges.items() if named(key)[0] in names}
    if any(named(key)[0] == "agreed" and ends == (0.0, 0.0) for key, ends in ranges.items()):
        remedy = "let the step that reads the verdict be spoken before it: for until, inside the loop"
        return "no verdict had been read by then", remedy
    listed = ", ".join(_range(key, *ends) for key, ends in ranges.items())
    if not listed:
        return "it names nothing that changes", "name what it depends on, such as agreement or confidence"
    if "round" in names:
        return f"{listed}, and round is the round to come", "compare round with a number that it can have there"
    return listed, "compare with values that come up, or remove it"


def _range(key: str, low: float, high: float) -> str:
    return f"{key} was {low:.4g}" if low == high else f"{key} was {low:.4g} to {high:.4g}"


def _emptied(choice: Choose, count: EvaluationCount) -> tuple[str, str]:
    what = (
        f"choose {choice.role} left nobody to debate in {count.emptied} of {count.evaluations} choices over made-up"
        " debates: such a debate has no answer"
    )
    return what, (
        f"keep a number of agents: keep: {{top: 1}} with a weight; or choose another role from {choice.source}"
        " to speak, so that the others still vote"
    )


def _tied(count: EvaluationCount) -> tuple[str, str]:
    rule, number = count.keep.rule, f"{count.keep.number:g}"
    what = (
        f"keep: {{{rule}: {number}}} kept more than its number in {count.tied} of {count.columns} cases over made-up"
        " debates, since several candidates weighed 0 and ties are kept"
    )
    return what, f"write keep: {{{rule}: {number}, above: 0}} to keep none that weighs 0, or add chance / 1000"
