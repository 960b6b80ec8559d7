"""Which roles have an answer for certain when a debate ends: given in the role by somebody who plays it still."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

from cortexdsl.protocols.text import walks
from cortexdsl.spec.grammar.protocols.keep import AboveForm, DropBottomForm, TopForm
from cortexdsl.spec.grammar.protocols.protocol import ProtocolText
from cortexdsl.spec.grammar.protocols.schedule import CaseText, ChooseText, LoopText
from cortexdsl.terms import NEVER


@dataclass(frozen=True, slots=True)
class _Course:
    """What is certain at one place of a schedule.

    Attributes
    ----------
    answered : set of str
        Roles in which their players have answered.
    empty : set of str
        Roles that may have no player.
    """

    answered: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()

    def or_else(self, other: _Course) -> _Course:
        """Return what is certain where it is not known which of two came about."""
        return _Course(self.answered & other.answered, self.empty | other.empty)


def answering(text: ProtocolText, *, as_cast: bool = False) -> frozenset[str]:
    """Return the roles that have an answer at the end of every debate of a protocol.

    `as_cast`: if no role were filled anew.
    """
    return _after(text, text.schedule, _Course(), as_cast).answered


def _after(text: ProtocolText, items: Iterable[object], course: _Course, as_cast: bool) -> _Course:
    for item in items:
        if isinstance(item, LoopText):
            once = _after(text, item.do, course, as_cast)
            again = once.or_else(_after(text, item.do, once, as_cast))
            course = again if item.unless == NEVER else course.or_else(again)
        elif isinstance(item, CaseText):
            course = reduce(_Course.or_else, [_after(text, body, course, as_cast) for body in item.do.values()])
        elif isinstance(item, ChooseText):
            course = course if as_cast else _filled(text, item, course)
        elif item in text.steps and text.steps[str(item)].reads[0] == "answer":
            course = replace(course, answered=course.answered | {text.steps[str(item)].role} - course.empty)
    return course


def _filled(text: ProtocolText, choice: ChooseText, course: _Course) -> _Course:
    """Return what is certain after a choice: a condition may leave nobody, and others than before may play the role."""
    role, source = choice.choose, choice.from_ or choice.choose
    may_keep_nobody = choice.where is not None or isinstance(choice.keep, AboveForm)
    may_keep_nobody |= isinstance(choice.keep, TopForm | DropBottomForm) and choice.keep.above is not None
    is_empty = may_keep_nobody or source in course.empty
    lost = {role} if is_empty or source != role else set()
    empty = course.empty | {role} if is_empty else course.empty - {role}
    # Who leaves a role leaves those that were chosen from it.
    lesser = {other.choose for other, _ in walks.choices(text.schedule) if (other.from_ or other.choose) == role}
    lesser -= {role}
    return _Course(course.answered - lost - lesser, empty | lesser)
