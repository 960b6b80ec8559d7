"""Conditions, choices and weights of a method that have no effect, found in simulated debates of every kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from cortexdsl.core import (
    AUDIBLE,
    KEEP_TRUE,
    Choose,
    Debate,
    Evaluation,
    Keep,
    Method,
    Repeat,
    Site,
    SitePlace,
    SiteWord,
    Step,
    TurnFilter,
)
from cortexdsl.engine.methods import expression_sites, principal_roles, scheduled_choices
from cortexdsl.expressions.evaluation import parse, split_key
from cortexdsl.expressions.names import FROM_ANSWERS
from cortexdsl.plan.rehearsal.scripted import scripted_debates
from cortexdsl.plan.rehearsal.wording import plain_expression


@dataclass(slots=True)
class EvaluationCount:
    """The results of all evaluations of one expression.

    Attributes
    ----------
    keep : Keep
        The rule that selects by its value.
    evaluations : int
        The number of evaluations with at least one candidate.
    kept, possible : int
        Edges, agents, turns or conditions that were selected, and all of them.
    emptied : int
        Evaluations after the opening that selected nothing.
    rounds : int
        The most rounds of answers before any evaluation.
    ranges : mapping of name to (float, float)
        The lowest and the highest value of each name.
    is_compared, differs : bool
        Whether any evaluation had two candidates, and two of different weight.
    columns, tied : int
        Listeners, or choices, with more candidates than the rule selects; those of them that got more, since several
        candidates had weight 0.
    """

    keep: Keep
    evaluations: int = 0
    kept: int = 0
    possible: int = 0
    emptied: int = 0
    rounds: int = 0
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    is_compared: bool = False
    differs: bool = False
    columns: int = 0
    tied: int = 0

    def add(self, seen: Evaluation) -> None:
        """Count one evaluation."""
        possible = ~np.isnan(seen.weight)
        if not possible.any():
            return
        self.evaluations += 1
        self.kept += int(seen.kept.sum())
        self.possible += int(possible.sum())
        self.emptied += seen.rounds > 0 and not seen.kept.any()
        self.rounds = max(self.rounds, seen.rounds)
        for key, value in seen.values.items():
            low, high = self.ranges.get(key, (np.inf, -np.inf))
            array = np.asarray(value, dtype=float)
            self.ranges[key] = float(np.min(array, initial=low)), float(np.max(array, initial=high))
        for column in range(seen.weight.shape[1]):
            self._add_column(seen.weight[possible[:, column], column], seen.kept[possible[:, column], column])

    def _add_column(self, weights: np.ndarray, kept: np.ndarray) -> None:
        if len(weights) < 2:
            return
        self.is_compared = True
        self.differs |= bool(np.ptp(weights) > 0)
        wanted = _wanted(self.keep, len(weights))
        if wanted is not None and len(weights) > wanted:
            self.columns += 1
            self.tied += bool(kept.sum() > wanted and weights[kept].min() == 0)

    @property
    def is_settled(self) -> bool:
        """Whether a condition was both true and false, or two candidates had different weights."""
        if self.keep == KEEP_TRUE:
            return 0 < self.kept < self.possible
        return self.differs or not self.keep.declaration.compares


def _wanted(keep: Keep, candidates: int) -> int | None:
    """Return how many candidates of different weights a rule selects; None if that depends on the weights."""
    return None if keep.floor is not None else keep.retained(candidates)


_BESIDE_ANSWERS = AUDIBLE - {"answer"}


@dataclass(frozen=True, slots=True)
class CommentShown:
    """A `latest` that shows another turn than the last answer.

    Attributes
    ----------
    step : str
    word : str
        `tells` or `own`.
    what, remedy : str
    """

    step: str
    word: Literal["tells", "own"]
    what: str
    remedy: str


def may_comment(method: Method) -> bool:
    """Return whether an agent that answers may also comment or summarize."""
    answer, comment = (
        {agent.name for step in method.steps.values() if step.reads in reads for agent in method.role_agents[step.role]}
        for reads in ({"answer"}, _BESIDE_ANSWERS)
    )
    return bool(answer & comment)


def comments_shown(method: Method, debates: Sequence[Debate]) -> tuple[CommentShown, ...]:
    """Return the steps whose `latest` showed, in some debate, a comment of an agent that had answered before.

    Steps that name further turns in `tells`, and steps that are shown the answer too, are left out.
    """
    shown = {pair: step for debate in debates for pair, step in _shown(method, debate)}
    return tuple(_in_words(method, step, word, of) for (step, word), of in shown.items())


def _shown(method: Method, debate: Debate) -> Iterator[tuple[tuple[str, Literal["tells", "own"]], str]]:
    answers: dict[str, set[int]] = {}
    for turn in debate.turns:
        step, shown = method.steps[turn.step], {*turn.heard, *turn.recalled}
        for word, numbers in (("tells", turn.heard), ("own", turn.recalled)):
            for number in numbers if _says_latest(step, word) else ():
                other = debate.turns[number]
                given = answers.get(other.speaker, set())
                if other.reads in _BESIDE_ANSWERS and given and not given & shown:
                    yield (step.name, word), other.step  # type: ignore[misc]  # one of the two words above
        if turn.reads == "answer":
            answers.setdefault(turn.speaker, set()).add(turn.turn)


def _says_latest(step: Step, word: str) -> bool:
    if word == "own":
        return step.own == "latest"
    return not {"latest", "by_answer"}.isdisjoint({told for told in step.tells if not isinstance(told, TurnFilter)})


def _in_words(method: Method, name: str, word: Literal["tells", "own"], of: str) -> CommentShown:
    step = method.steps[name]
    spoke = {agent.name for agent in method.role_agents[method.steps[of].role]}
    answering = [
        each.name
        for each in method.steps.values()
        if each.reads == "answer" and any(agent.name in spoke for agent in method.role_agents[each.role])
    ]
    latest = "by_answer" if word == "tells" and "by_answer" in step.tells else "latest"
    whose = "the speaker's own answer" if word == "own" else "the answer of the same agent"
    what = f"step {name}: {word}: {latest} shows the {method.steps[of].reads} of step {of}, and not {whose} before it"
    return CommentShown(name, word, what, f"write {{step: [{', '.join(answering)}]}} for the latest answer")


FEWEST_DEBATES = 5
"""Simulated debates that every method goes through: the scripts that differ most."""
MOST_SHOWN = 100_000
"""The most turns that all prompts together may show, about a second of work: large teams have fewer debates."""
FEWEST_EVALUATIONS = 10
"""Evaluations before an expression counts as constant, unless replies cannot change it."""
TIED = 0.25
"""The share of choices, or of listeners, with a tie at weight 0 above which there is a warning."""


@dataclass(frozen=True, slots=True)
class NoEffect:
    """A word of a method that has no effect.

    Attributes
    ----------
    place : SitePlace
    text : str
        The expression or the word.
    what, remedy : str
    is_never : bool
        Whether it is a condition that was never true.
    may_depend_on_team : bool
        Whether the same words may have an effect in another team.
    """

    place: SitePlace
    text: str
    what: str
    remedy: str
    is_never: bool = False
    may_depend_on_team: bool = False


def without_effect(method: Method) -> tuple[NoEffect, ...]:
    """Simulate debates, and return the words of a method that have no effect.

    These are conditions that are never or always true; weights that are equal for all candidates; `top` and
    `drop_bottom` that often end in a tie at 0; choices that leave no agent to debate; and `latest` that shows a comment
    although the agent has answered. Expressions that draw chance are left out, and so is `unless` with `n_agents`
    alone.

    Parameters
    ----------
    method : Method
        As written.
    """
    counts = {site: EvaluationCount(keep) for site, keep in expression_sites(method)}
    if not counts and not may_comment(method):
        return ()

    def observe(seen: Evaluation) -> None:
        if seen.site in counts:
            counts[seen.site].add(seen)

    checked = [count for site, count in counts.items() if not _is_exempt(site)]
    may_empty = any(_may_empty(method, choice) for choice in scheduled_choices(method.schedule))

    def is_too_much(debates: Sequence[Debate]) -> bool:
        return sum(1 + len(turn.heard) for debate in debates for turn in debate.turns) > MOST_SHOWN

    def enough(debates: Sequence[Debate]) -> bool:
        is_settled = not may_empty and all(count.is_settled for count in checked)
        return (is_settled and len(debates) >= FEWEST_DEBATES) or is_too_much(debates)

    debates = scripted_debates(method, observe, enough)
    few = is_too_much(debates)
    ineffective = [each for site, count in counts.items() for each in _of_site(method, site, count, few)]
    shown = comments_shown(method, debates)
    return (*ineffective, *(NoEffect((each.word, each.step), "latest", each.what, each.remedy) for each in shown))


def _is_exempt(site: Site) -> bool:
    """Return whether a condition may be constant: it draws chance, or skips steps in teams of another size."""
    names = parse(site.expression).names
    return "chance" in names or (site.word == "unless" and names == {"n_agents"})


def _is_certain(site: Site, count: EvaluationCount) -> bool:
    """Return whether replies cannot change an expression: the schedule alone decides its value."""
    names = parse(site.expression).names
    return names <= {"round", "n_agents"} or (not count.rounds and bool(names & FROM_ANSWERS))


def _may_empty(method: Method, choice: Choose) -> bool:
    """Return whether a choice may leave no agent to debate."""
    return choice.role in principal_roles(method) and choice.keep.may_keep_nobody


def _of_site(method: Method, site: Site, count: EvaluationCount, few: bool) -> Iterator[NoEffect]:
    """Yield what has no effect at a site; after `few` debates only what replies cannot change."""
    place, text = site.place, plain_expression(site.expression)
    is_known = count.evaluations >= FEWEST_EVALUATIONS and not few
    is_known = (is_known or (count.evaluations > 0 and _is_certain(site, count))) and not _is_exempt(site)
    if is_known and (what := _unchanging(site, text, count)) is not None:
        why, remedy = _reason(method, site, count)
        yield NoEffect(place, text, f"{what}: {why}", remedy, is_never=not count.kept, may_depend_on_team=True)
        if not count.kept:
            return  # it follows that the choice leaves no agent
    if isinstance(site.part, Choose) and _may_empty(method, site.part) and count.emptied:
        yield NoEffect(place, text, *_emptied(site.part, count))
    if count.tied > TIED * count.columns:
        yield NoEffect(place, text, *_tied(count))


def _unchanging(site: Site, text: str, count: EvaluationCount) -> str | None:
    """Return a sentence if a condition was never or always true, or a weight equal for all; None otherwise."""
    over = f"in {count.evaluations} evaluations over made-up debates"
    if count.keep == KEEP_TRUE:
        word = site.word if isinstance(site.part, Repeat) else f"{site.word} where"
        if not count.kept:
            return f"{word} {text} was never true {over}, so {_NEVER[site.word]}"
        is_choice_of_one = site.word == "hears" and not count.is_compared  # nothing can be left out
        if count.kept == count.possible and not is_choice_of_one:
            return f"{word} {text} was always true {over}, so {_ALWAYS[site.word]}"
    elif count.keep.declaration.compares and count.is_compared and not count.differs:
        return f"weight {text} was the same for all candidates {over}, so ties keep all of them"
    return None


_NEVER: Mapping[SiteWord, str] = {
    "until": "the loop always runs to its end",
    "unless": "its steps are never skipped",
    "choose": "nobody is ever chosen",
    "hears": "nobody is ever heard",
    "tells": "no such turn is ever shown",
    "own": "no such turn is ever remembered",
}
_ALWAYS: Mapping[SiteWord, str] = {
    "until": "the loop ends after its first pass",
    "unless": "its steps never run",
    "choose": "everybody is always chosen",
    "hears": "all agents that can be heard are heard",
    "tells": "it leaves no turn out",
    "own": "it leaves no turn out",
}


def _reason(method: Method, site: Site, count: EvaluationCount) -> tuple[str, str]:
    """Return why an expression may be constant, and a remedy."""
    names, roles = parse(site.expression).names, " or ".join(principal_roles(method))
    if not count.rounds and names & FROM_ANSWERS:
        remedy = f"let a step of {roles} answer before it, or choose the role that answers from {roles}"
        return f"no debater ({roles}) had answered by then", f"{remedy}: {{choose: ROLE, from: {roles}, where: ...}}"
    ranges = {key: ends for key, ends in count.ranges.items() if split_key(key)[0] in names}
    if any(split_key(key)[0] == "agreed" and ends == (0.0, 0.0) for key, ends in ranges.items()):
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
        " debates, because several candidates had weight 0 and ties are kept"
    )
    return what, f"write keep: {{{rule}: {number}, above: 0}} to keep none with weight 0, or add chance / 1000"
