"""Models and tools of a spec: their weights, whether their cost is bounded, and the files that they read.

A model that runs in this process has a folder of weights. The folder's digest becomes an option of the model,
`weights`, so that calls, cells and records belong to these weights: a model that was trained again is another model. A
spec that gives the digest itself can be replayed without the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from cortexdsl.core import Agent, Cell, KnowledgeSource, Method, Model
from cortexdsl.engine.methods import stages_of
from cortexdsl.errors import InputError, Problem, SpecError
from cortexdsl.models.endpoints.providers import missing_package, nearest_provider, provider_of
from cortexdsl.models.transports.interface import WEIGHTS_OPTION
from cortexdsl.models.transports.prices import PRICE_REMEDY, bills_itself, has_price
from cortexdsl.models.transports.registry import has_functions, refused_options_of, runs_here, weights_of
from cortexdsl.models.transports.tool import PYTHON, SEARCH, source_of

if TYPE_CHECKING:
    from cortexdsl.language.spec import Spec


def pin_spec_weights(spec: Spec) -> Spec:
    """Return a spec whose models have the digest of their weights.

    `parameters` and `tokens` are those of the model's card if the spec gives none.

    Raises
    ------
    SpecError
        All problems with folders of weights.
    """
    models: dict[str, Model] = {}
    problems = []
    for name, model in spec.models.items():
        try:
            models[name] = pin_weights(model)
        except InputError as error:
            problems.append(Problem.of(spec.where(("models", name, "model")), error))
    if problems:
        raise SpecError(problems)

    def updated(agent: Agent) -> Agent:
        return replace(agent, model=models[agent.model.name])

    return replace(
        spec,
        models=MappingProxyType(models),
        agents=MappingProxyType({name: updated(agent) for name, agent in spec.agents.items()}),
        teams=MappingProxyType({name: tuple(map(updated, team)) for name, team in spec.teams.items()}),
    )


def pin_weights(model: Model) -> Model:
    """Return a model with the digest and the size of its weights; a model without files is returned as it is.

    Raises
    ------
    InputError
        There is no such folder, and the spec does not give the digest; or the spec gives another digest.
    """
    pinned = model.options.get(WEIGHTS_OPTION)
    try:
        weights = weights_of(model.model)
        if weights is None:
            return model
        digest, card = weights.digest, weights.card
    except InputError:
        if pinned is None:
            raise
        return model
    if pinned not in (None, digest):
        raise InputError(f"{model.model} has the weights {digest}, and the spec asks for {pinned}")
    return replace(
        model,
        options=MappingProxyType({**model.options, WEIGHTS_OPTION: digest}),
        parameters=model.parameters or _count(card.get("parameters")),
        tokens=model.tokens or _count(card.get("tokens")),
    )


def _count(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def cost_problems(spec: Spec, cells: Sequence[Cell], judges: Sequence[Model]) -> Iterator[Problem]:
    """Yield models that may cost money if the spec sets no limit, and models without a price if it limits dollars."""
    limits = spec.limits
    used = {model.name: model for cell in cells for model in cell.debate.models}
    used |= {judge.name: judge for judge in judges}
    for name, model in used.items():
        if limits.calls is limits.tokens is limits.dollars is None and may_cost(model):
            what = f"{name} ({model.model}) may cost money, and the spec sets no limits"
            yield spec.problem(("models", name), what, "write limits: {dollars: 5}, or calls: or tokens:")
        if limits.dollars is not None and not (has_price(model) or bills_itself(model)):
            what = f"{name} ({model.model}) has no price, so that `limits: dollars` would count its calls as free"
            yield spec.problem(("models", name), what, PRICE_REMEDY)


def provider_problems(spec: Spec) -> Iterator[Problem]:
    """Yield models whose provider litellm does not know, or cannot call without a package that is missing."""
    for name, model in spec.models.items():
        package = missing_package(model.model)
        if package is not None:
            what = f"{model.model} needs the package {package}, which is not installed"
            yield spec.problem(("models", name, "model"), what, f"pip install {package}")
        if provider_of(model.model) is not None or model.is_tool:
            continue
        provider, slash, rest = model.model.partition("/")
        near = nearest_provider(model.model)
        what = f"there is no provider {provider!r}" if slash else f"{model.model} does not name its provider"
        hint = f"did you mean {near}/{rest}? " if near and slash else ""
        remedy = f"{hint}write PROVIDER/NAME as litellm does, or openai/NAME with api_base: for a server of your own"
        yield spec.problem(("models", name, "model"), what, remedy)


def refused_options(spec: Spec, cells: Sequence[Cell]) -> list[Problem]:
    """Return the options of models that their providers do not take, by what the transports know without a call."""
    problems: dict[Problem, None] = {}
    used: list[Model] = []
    for model in (model for cell in cells for model in cell.debate.models):
        if model in used:
            continue
        used.append(model)
        for name, reason in refused_options_of(model).items():
            what = f"{model.name} ({model.model}) does not take {name}" + (f": {reason}" if reason else "")
            remedy = f"remove it, or leave it out by drop: [{name}] in the entry of {model.name}"
            problems[spec.problem(("models", model.name), what, remedy)] = None
    for model in _calling_functions(cell.debate for cell in cells):
        refused = refused_options_of(replace(model, options=MappingProxyType({"tools": _A_FUNCTION})))
        if "tools" in refused:
            what = f"{model.name} ({model.model}) takes no function calls, and uses tools"
            remedy = "write function_calls: false in its entry: it then asks for tools in its text"
            problems[spec.problem(("models", model.name), what, remedy)] = None
    return list(problems)


_A_FUNCTION = [{"type": "function", "function": {"name": "sums", "parameters": {"type": "object", "properties": {}}}}]


def _calling_functions(methods: Iterable[Method]) -> list[Model]:
    """Return the models that use tools in their turns by function calls, each once."""
    found: list[Model] = []
    steps = ((stage, step) for method in methods for stage in stages_of(method) for step in stage.steps.values())
    for stage, step in steps:
        for agent in stage.role_agents.get(step.role, ()) if step.tools else ():
            model = step.model_of(agent)
            if step.tools_of(agent.name) and has_functions(model) and model not in found:
                found.append(model)
    return found


def may_cost(model: Model) -> bool:
    """Return whether a model may cost money: it has a price, or it is hosted and has no address of the user's own."""
    if runs_here(model):
        return False
    if model.price is not None:
        return not model.price.is_free
    return model.api_base is None and (model.engine is None or model.is_billed)


def tools_of(method: Method) -> dict[str, Model]:
    """Return the tools that speak in a method, by name."""
    return {model.name: model for model in method.models if model.is_tool}


def functions_of(method: Method) -> tuple[str, ...]:
    """Return the Python functions that a method's tools call."""
    return _named_by_tools(method, PYTHON, "function")


def tool_sources(method: Method) -> tuple[str, ...]:
    """Return the knowledge sources that a method's tools search."""
    return _named_by_tools(method, SEARCH, "source")


def _named_by_tools(method: Method, kind: str, option: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(tool.options[option]) for tool in tools_of(method).values() if tool.model == kind))


def tool_files(method: Method, knowledge: Mapping[str, KnowledgeSource], folder: Path) -> list[str]:
    """Return the files that a method's tools read: corpora and the modules of functions.

    Parameters
    ----------
    method : Method
    knowledge : mapping of name to KnowledgeSource
    folder : Path
        The paths of corpora are relative to it.
    """
    corpora = [knowledge[name].corpus for name in tool_sources(method)]
    files = [(folder / corpus).as_posix() for corpus in corpora if corpus]
    return [*files, *(source_of(name).as_posix() for name in functions_of(method))]


def missing_modules(spec: Spec) -> Iterator[Problem]:
    """Yield a problem for each function of a spec whose module is missing, without running it."""
    for name, tool in spec.tools.items():
        if tool.model == PYTHON:
            try:
                source_of(str(tool.options["function"]))
            except InputError as error:
                yield Problem.of(spec.where(("tools", name, "function")), f"tools.{name}.{error}")
