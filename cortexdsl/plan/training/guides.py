"""How the replies of debates to learn from are guided: towards the right answer, and towards a wrong one."""

from __future__ import annotations

from cortexdsl.debate.trajectory import Guide, Way
from cortexdsl.plan.training.targets import targets_of
from cortexdsl.protocols.prompts.templates import Templates
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Message, Question


def guides_for(task: Task, question: Question, guide: str, templates: Templates, seed: int) -> dict[Way, Guide]:
    """Return what guides replies to a question: the last message of a prompt, as the guide's template puts it.

    Parameters
    ----------
    task : Task
        It knows the right answer, and finds a wrong one.
    question : Question
    guide : str
        The template.
    templates : Templates
    seed : int
        Of the experiment.
    """
    targets = targets_of(task, question.id, seed)

    def towards(target: str) -> Guide:
        return lambda messages: guided(messages, target, guide, templates)

    return {"right": towards(targets.right), "wrong": towards(targets.wrong)}


def guided(messages: tuple[Message, ...], target: str, guide: str, templates: Templates) -> tuple[Message, ...]:
    """Return a prompt whose last message says which answer to argue for, as the guide's template puts it."""
    *before, last = messages
    words = templates.text(guide, {"prompt": last["content"], "target": target})
    return (*before, {**last, "content": words})
