"""Digests of values: a job runs again if, and only if, the digest of what it depends on has changed.

A digest covers the classes and fields that `COVERED` names. The names in it are those of version 0.2.0 and stay, so
that a class or a field can be renamed in the code and finished debates remain finished.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from cortexdsl import core
from cortexdsl.engine.methods import (
    expressions_of,
    learned_of,
    pool_sources,
    principal_roles,
    scheduled_choices,
    stages_of,
)
from cortexdsl.expressions.evaluation import parse
from cortexdsl.expressions.spellings import as_recorded
from cortexdsl.plan.models import tool_sources
from cortexdsl.plan.parts import Judging, Labelling, Learned, Tournament, Whatif
from cortexdsl.plan.shards import Shard


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a digest covers of the values of a class.

    A field is written `name`, or `name=attribute` if the attribute has another name now.

    Attributes
    ----------
    name : str
        The name of the class in digests.
    always : str
        Fields that are always in the digest, separated by spaces.
    later : str
        Fields that were added later: with their default value a digest stays as it was. Words of the language
        (`cortexdsl.core.types.word`) that are named nowhere are of this kind.
    expressions : str
        Fields that are expressions: digests have the names of version 0.2.0.
    values : mapping
        By field: words that have another name now, each with its name in digests.
    never : str
        Fields that no result depends on: prices, access, patience, assumptions of the estimate.
    former : mapping
        Fields that are gone, with the value that they had in every digest.
    """

    name: str
    always: str = ""
    later: str = ""
    expressions: str = ""
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    never: str = ""
    former: Mapping[str, Any] = field(default_factory=dict)


COVERED: Mapping[type, Coverage] = {
    core.Agent: Coverage("Agent", "name model persona", later="given=vars"),
    core.Bin: Coverage("Bin", "low high value low_open high_closed"),
    core.Choose: Coverage("Choose", "role source weight keep", expressions="weight"),
    core.DebateConfidence: Coverage("DebateConfidence", "source", former={"verifier": None, "prompt": ""}),
    core.Decide: Coverage("Decide", "rule role fallback=tie", later="weight otherwise share", expressions="weight"),
    core.Defer: Coverage("Defer", "below to method", later="where", expressions="where"),
    core.Edges: Coverage("Edges", "pairs"),
    core.Everyone: Coverage("Everyone"),
    core.Family: Coverage("Family", "name compare to correction"),
    core.Groups: Coverage("Groups", "count sizes"),
    core.GrowthStep: Coverage("GrowthStep", "value method"),
    Judging: Coverage("Judging", "model datasets prompt_digest"),
    Tournament: Coverage("Tournament", "judges prompt_digest"),
    core.Keep: Coverage("Keep", "rule number"),
    core.Label: Coverage("Label", "name where prompt values"),
    Labelling: Coverage("Labelling", "labels judge prompt_digests"),
    core.Limits: Coverage("Limits", "calls tokens dollars seconds connections failed wait"),
    core.Match: Coverage("Match", "unit cell", later="grow values"),
    core.Measure: Coverage("Measure", "source samples verifier prompt"),
    core.Method: Coverage(
        "Method",
        "protocol cast=role_agents steps schedule decide recalibration similarity passes=quote",
        later="debaters=voters confidence debate_confidence defer charged",
        former={"participation": "spoken", "rounds_cap": None},
    ),
    core.Model: Coverage(
        "Model",
        "name model api_base options parameters tokens",
        never="active_parameters api_key_env cache copies engine is_billed price rate reasoning_tokens refused timeout",
    ),
    core.NetworkX: Coverage("NetworkX", "generator arguments"),
    core.Nobody: Coverage("Nobody"),
    core.OfRole: Coverage("OfRole", "roles"),
    core.Price: Coverage("Price", "input output cached cache_write cache_write_1h"),
    core.RandomEdges: Coverage("RandomEdges", "p"),
    core.Repeat: Coverage("Repeat", "times body until unless", expressions="until unless"),
    core.Ring: Coverage("Ring", "reach"),
    core.Self: Coverage("Self"),
    Shard: Coverage("Shard", "replicate number first end"),
    core.ItemSplit: Coverage("ItemSplit", "parts step"),
    core.Sparse: Coverage("Sparse", "weight keep", later="within", expressions="weight"),
    core.Step: Coverage(
        "Step",
        "name role prompt hears tells=shows own=memory material order each draws=samples reads",
        later="by_agent beside by_role context said of model chooses placebo variants tools split",
        values={name: {"last": "latest", "all": "history"} for name in ("tells", "own")},
    ),
    core.StoppingRule: Coverage("StoppingRule", "fewest batch alpha rule"),
    core.TurnFilter: Coverage("Told", "steps about_me last", later="where", expressions="where"),
    Whatif: Coverage("Whatif", "cell without", former={"coalitions": None}),
    core.Ablation: Coverage("Without", "agents edges rounds steps", later="turns"),
}


def digest(*parts: Any) -> str:
    """Return a digest of frozen values, mappings, sequences and scalars; 16 hexadecimal digits."""
    text = json.dumps([_plain(part) for part in parts], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    coverage = COVERED.get(type(value))
    if coverage is None:
        raise TypeError(f"{type(value).__name__} has no digest; a class of this project needs an entry in COVERED")
    values = {}
    for name, attribute, absent in _covered_fields(value.__class__):
        inner = getattr(value, attribute)
        if inner not in absent:
            inner = as_recorded(inner) if name in coverage.expressions.split() else _plain(inner)
            values[name] = _named(inner, coverage.values.get(name, {}))
    return [coverage.name, values | {**coverage.former}]


def _named(value: Any, former: Mapping[str, str]) -> Any:
    """Return a word, or a list with words, with the names of earlier versions."""
    if isinstance(value, list):
        return [former.get(item, item) if isinstance(item, str) else item for item in value]
    return former.get(value, value) if isinstance(value, str) else value


@cache
def _covered_fields(kind: type) -> tuple[tuple[str, str, tuple[Any, ...]], ...]:
    """Return the fields in the digests of a class: name, attribute, and the values that leave it out."""
    coverage, defaults = COVERED[kind], {field.name: field.default for field in fields(kind)}
    always, later, never = (
        [(name, attribute or name) for name, _, attribute in (item.partition("=") for item in text.split())]
        for text in (coverage.always, coverage.later, coverage.never)
    )
    named = [attribute for _, attribute in (*always, *later, *never)]
    later += [(each.name, each.name) for each in fields(kind) if each.metadata and each.name not in named]
    declared = [attribute for _, attribute in (*always, *later, *never)]
    if sorted(declared) != sorted(defaults):
        wrong = ", ".join(sorted({*declared} ^ {*defaults})) or "a field named twice"
        raise TypeError(f"COVERED does not name each field of {kind.__name__} once: {wrong}")
    return (
        *((name, attribute, ()) for name, attribute in always),
        *((name, attribute, (defaults[attribute], "", (), {})) for name, attribute in later),
    )


ENGINE_VERSION = 2
"""Increase this if the engine makes another record from the same replies; finished debates then run again."""


def method_digest(method: core.Method, seed: int, prompt_digest: Callable[[str], str], *more: Any) -> str:
    """Return the digest of a cell's method.

    Parameters
    ----------
    method : Method
    seed : int
        Of the experiment.
    prompt_digest : callable
        From a template's name to the digest of its text and of the templates that it includes.
    more : values
        Other things that the records depend on (the matched budget, knowledge).
    """
    named = templates_of(method)
    prompts = {prompt: prompt_digest(prompt) for prompt in named}
    return digest(ENGINE_VERSION, seed, method, prompts, *_changed_meanings(method), *more)


def cell_digest(
    method: core.Method,
    seed: int,
    prompt_digest: Callable[[str], str],
    match: core.Match | None,
    budget: str | None,
    steps: Sequence[core.GrowthStep],
    knowledge: Mapping[str, core.KnowledgeSource],
    models: Mapping[str, core.Model],
    fits: Mapping[str, str] = core.EMPTY,
) -> str:
    """Return the digest of a cell: it changes if and only if something changes that can change the cell's records.

    Parameters
    ----------
    method, seed, prompt_digest
        As for `method_digest`.
    match, budget : Match and str, or None
        The budget of a matched cell, and the digest of the cell whose budget it is.
    steps : sequence of GrowthStep
    knowledge : mapping of name to KnowledgeSource
    models : mapping of name to Model
        Entries of the spec: a similarity may name one.
    fits : mapping of name to str
        The digests of the fitted functions of the spec.
    """
    learned = [fits.get(name, "") for name in learned_of(method)]
    pools = [knowledge[name].parameters for name in sources_of(method) if name in knowledge]
    compared = [models.get(stage.similarity) for stage in stages_of(method)] if method.defer else []
    similarity = models.get(method.similarity)
    more = *compared, *([learned] if learned else [])
    return method_digest(method, seed, prompt_digest, match, budget, pools, similarity, *steps, *more)


def fit_digests(learned: Sequence[Learned]) -> dict[str, str]:
    """Return the digest of each function that expressions name: that of its fit, or of all its fits."""
    by_base = core.by_key((each.base, each.digest) for each in learned)
    return {base: own[0] if len(own) == 1 else digest("fits", own) for base, own in by_base.items()}


def sources_of(method: core.Method) -> tuple[str, ...]:
    """Return the names of the knowledge that a method's steps read, and that its tools search."""
    return tuple(dict.fromkeys([*pool_sources(method), *tool_sources(method)]))


def templates_of(method: core.Method) -> list[str]:
    """Return the templates of a method, and of the one that it hands questions on to."""
    named = [prompt for step in method.steps.values() for prompt in step.prompts]
    named += [method.confidence.prompt] if method.confidence.prompt else []
    named += [core.TOOLS_PROMPT] if any(step.tools for step in method.steps.values()) else []
    return named + (templates_of(method.defer.method) if method.defer else [])


def _changed_meanings(method: core.Method) -> tuple[str, ...]:
    """Name the expressions whose meaning changed for this method since earlier versions.

    `position` now counts the agents that still debate. It used to keep the gaps of agents that a choice had removed.
    """
    may_leave = any(choice.role in principal_roles(method) for choice in scheduled_choices(method.schedule))
    return ("place",) if may_leave and any("position" in parse(text).names for text in expressions_of(method)) else ()
