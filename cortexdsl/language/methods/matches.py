"""The budget that a method is matched to, and the values of the setting that grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cortexdsl.core import GrowthStep, Match, Method
from cortexdsl.errors import SpecError
from cortexdsl.language.grammar.methods import parse_budget
from cortexdsl.language.methods.grid import unknown_axis
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.nodes import Node, refuse
from cortexdsl.language.protocol.loader import Protocol
from cortexdsl.language.spec import Spec
from cortexdsl.models.known_models import parameters_per_token

SAMPLES = "samples"
MOST_STEPS = 32
"""The largest whole number of a setting that grows, unless its values are listed."""
_SIDE_BY_SIDE = ("critical_path", "depth")
_UNGROWN = ("calls", "depth", "critical_path", "input_tokens")
_LIMITS = ("tokens", "budget")
"""How the names of limits on what a model writes end: max_tokens, max_completion_tokens, thinking.budget_tokens."""


def match_of(spec: Spec, protocol: Protocol, choice: MethodChoice) -> Match | None:
    """Return the match of a method; None if it has none.

    Raises
    ------
    SpecError
        The setting does not exist, or cannot grow in this unit.
    """
    written, growing = (choice.node.mapping().get(key) for key in ("budget", "grow"))
    if written is None:
        return None
    unit, cell = parse_budget(str(written.value))
    if growing is None:
        _check_samples(written, protocol, unit)
        return Match(unit, cell, "" if unit in ("calls", "tokens") else SAMPLES)
    setting, values = _setting(growing)
    if setting == SAMPLES and not values:
        _check_samples(growing, protocol, unit)
    elif setting.startswith("models.") and not values:
        _check_thought(growing, setting, unit, choice)
    elif problem := unknown_axis(spec, str(growing.mark), setting, protocol):
        raise SpecError([problem])
    return Match(unit, cell, setting, tuple(value.plain() for value in values))


def growing_steps(
    match: Match, method: Node, resolve: Callable[[Mapping[str, Node]], Method]
) -> tuple[GrowthStep, ...]:
    """Return the method at each value of the setting that grows; empty for samples and for one long thought.

    Parameters
    ----------
    match : Match
    method : Node
        As the spec has it.
    resolve : callable
        Returns the method with some settings, by their axes.

    Raises
    ------
    SpecError
        A listed value does not fit; or no whole number does.
    """
    if not match.grow or match.is_thought or (match.grow == SAMPLES and not match.values):
        return ()
    if match.values:
        _, values = _setting(method.mapping()["grow"])
        return tuple(GrowthStep(value.plain(), resolve({match.grow: value})) for value in values)
    steps: list[GrowthStep] = []
    first: SpecError | None = None
    for number in range(1, MOST_STEPS + 1):
        try:
            steps.append(GrowthStep(number, resolve({match.grow: Node(number, method.where(("grow",)))})))
        except SpecError as error:
            first = first or error
            if steps:
                break
    if not steps and first is not None:
        raise first
    return tuple(steps)


def _setting(growing: Node) -> tuple[str, tuple[Node, ...]]:
    if not isinstance(growing.value, dict):
        return str(growing.value), ()
    ((setting, values),) = growing.mapping().items()
    return setting, tuple(values.value) if isinstance(values.value, list) else ()


def _check_samples(written: Node, protocol: Protocol, unit: str) -> None:
    if SAMPLES not in protocol.settings:
        what = f"the budget chooses `samples`, and {protocol.name} has no such setting"
        others = [name for name, value in protocol.settings.items() if type(value.value) is int]
        say = f"say what grows: grow: {others[0]}; or use self-consistency" if others else "use self-consistency"
        refuse(written.mark, what, say)
    if unit in _SIDE_BY_SIDE:
        what = f"samples are drawn side by side, so that more of them do not raise the {unit}"
        refuse(written.mark, what, "name another unit, or write grow: and a setting such as rounds")


def _check_thought(growing: Node, setting: str, unit: str, choice: MethodChoice) -> None:
    models = {agent.model.name: agent.model for agent in choice.team}
    _, name, *route = setting.split(".")
    if name not in models or not route:
        remedy = f"write models.NAME.max_tokens; models of the method: {', '.join(models)}"
        refuse(growing.mark, f"{setting}: this is not a setting of a model of the method", remedy)
    if not route[-1].endswith(_LIMITS):
        remedy = f"list the values in growing order: grow: {{{setting}: [low, medium, high]}}"
        refuse(growing.mark, f"{setting} is not a number of tokens that could be computed from a budget", remedy)
    if unit in _UNGROWN:
        remedy = "name tokens, output_tokens, reasoning_tokens, compute or dollars"
        refuse(growing.mark, f"a longer reply does not raise the {unit}", remedy)
    if unit == "compute" and parameters_per_token(models[name]) is None:
        remedy = f"write models: {{{name}: {{parameters: NUMBER}}}}"
        refuse(growing.mark, f"compute needs the parameters of model {name}", remedy)
