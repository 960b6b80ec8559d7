"""Words of earlier versions of the language, and what to write instead.

No old word is accepted. These tables are the only place that knows them: a message about an unknown key, value or name
takes its remedy from here. A new entry of a table needs no other code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cortexdsl.expressions.spellings import from_record
from cortexdsl.language.grammar import guesses

_BATCHES = "engine: NAME, and engines: {NAME: {command: cortexdsl batch PROVIDER {requests} {replies}}}"


def _budget(match: Any) -> str:
    """Return `budget:` and `grow:` for the value of `match:`."""
    entries = match if isinstance(match, dict) else {"UNIT": "METHOD"}
    budgets = [f"budget: {unit}({method})" for unit, method in entries.items() if unit != "grow"][:1]
    return ", ".join([*budgets, *(f"grow: {_flow(value)}" for key, value in entries.items() if key == "grow")])


def _bins(bins: Any) -> str:
    """Return the correction that a list of bins with bounds of their own, or a mapping of bounds, means."""
    if isinstance(bins, list):
        entries = [each for each in bins if isinstance(each, dict)]
        bins = {each.get("from", each.get("above", 0)): each.get("value", "keep") for each in entries}
    return f"recalibration: {_flow(dict(sorted(bins.items(), key=str)) if bins else {0: 'keep'})}"


def _steps(steps: Any) -> str:
    """Return the correction that three thresholds mean, the highest first."""
    high, middle, low = steps if isinstance(steps, list) and len(steps) == 3 else (0.8, 0.6, 0.3)
    return f"recalibration: {_flow({0: low, low: 'keep', middle: middle, high: high})}"


def _majority(options: Any) -> str:
    """Return the decision that options of the majority mean."""
    match options:
        case {"weight": "confidence"}:
            return "decide: weighted"
        case {"weight": weight}:
            return f"decide: {{vote: last * ({weight})}}"
    return "decide: [majority, none]"


def _participation(counts: Any) -> str:
    """Return the weight that counts the participation of agents as an old word says."""
    left = {
        "heard": "(round - 1) * (n_agents - 1) - times_hearing",
        "both": "2 * (round - 1) * (n_agents - 1) - participation - times_hearing",
    }.get(counts)
    return f"{left} in the weight, instead of self_orientation" if left else "nothing: participation counts this"


KEYS: Mapping[str, Mapping[str, str | Callable[[Any], str]]] = {
    "MethodText": {"like": "extends: {}", "match": _budget, "team": "agents: {}"},
    "DatasetText": {
        "path": "file: {} beside name",
        "revision": "hub: OWNER/NAME@{}",
        "labels": "kind: {}",
        "tolerance": lambda most: f"metric: within {most.get('relative', '5%') if isinstance(most, dict) else most}",
        "reading": "strict: true, if only answers in the requested format count",
        "config": "subset: {}",
        "decimal": lambda mark: f"table: decimal {'point' if mark == '.' else 'comma'}",
        "delimiter": lambda sign: f"table: {json.dumps(sign)}",
        "encoding": "table: {}",
        "drop_unanswered": "nothing, and remove the rows without an answer from the file",
        "records": "nothing: the list with the column of the question is found",
        "validation": "validation: {} beside questions",
        "dataset": "name: {}",
    },
    "FamilyText": {"correction": "analysis: {correction: {}}"},
    "StoppingRuleText": {
        **dict.fromkeys(("rule", "racing"), "nothing: all cells stop together"),
        "alpha": "analysis: {alpha: {}}",
        "fewest": "min_questions: {}",
    },
    "ProtocolText": {
        "debaters": "voters: {}",
        **dict.fromkeys(("fallback", "tie"), "decide: [RULE, {}]"),
        "participation": _participation,
        "ends": "repeat: and the rounds after the opening, in the schedule",
        "passes": "quote: {}",
    },
    "StepText": {
        "draws": "samples: {}",
        "order": "sequential: true, if each hears those before it",
        "own": "memory: {}",
        "placebo": "placebo: {STEP: {}} in the method",
        "tells": "shows: {}",
    },
    "model": {
        "name": "model: {}",
        "temperature": "temperature: {} in the step, beside model",
        "max_tokens": "models: {NAME: {max_tokens: {}}}, and model: NAME",
    },
    "recalibration": {"bins": _bins, "steps": _steps},
    "each": {"edge": "each: {}"},
    "keep": {"above": "where: WEIGHT > {} instead of weight and keep"},
    "ChooseText": {"order": "nothing: chosen agents keep their order"},
    "ModelForm": {"persona": "agents: [{name: NAME, model: MODEL, persona: {}}], and [NAME] as the role"},
    "BallotForm": dict.fromkeys(("fallback", "tie"), "decide: [{vote: EXPRESSION}, {}]"),
    "AgentText": {"given": "vars: {}"},
    "ModelText": {
        "trained": "model: trained/{}/ROLE",
        "role": "model: trained/NAME/{}",
        "repeat": "model: trained/NAME/ROLE/{}",
        "top_p": "options: {top_p: {}}",
        "system_role": "drop: [system] if the model takes no system message",
        "context": "nothing: a prompt that does not fit is a failed call, and the report counts it",
        "deterministic": "nothing: check --online tests seeds, and a run is repeated from its call log",
        "stream": "timeout: 20 min for long replies, which are then streamed",
        "transport": lambda way: {"direct": "model: direct/NAME", "batch": _BATCHES}.get(str(way), "nothing"),
        "batch": f"{_BATCHES}; with --tokens N in it if the provider limits its queue",
    },
    "PriceText": dict.fromkeys(("cache_write", "cache_write_1h"), "cached: alone; writing follows from input"),
    "ServerText": {
        "seconds": "nothing: half an hour with a command, 10 seconds without",
        "ready": "nothing: /models says whether the server is ready",
        "url": "command: with {port}, or export {} in the environment variable of env",
    },
    "OptimiserText": {"alpha": "nothing: the adapter is scaled by 1", "seed": "nothing: the seed is the spec's"},
    "ExpectedText": {
        "reply_tokens": "nothing: estimates take 200 tokens a reply, or max_tokens if that is less",
        "accuracy": "differences: {CLAIM: ACCURACY}, for claims about one accuracy",
        "refuse": "power: 0.8, so that the run does not start with less",
    },
    "KnowledgeSourceText": {
        "retriever": "nothing: an embedding finds passages by it, a corpus alone by words, and api_key_env "
        "alone by a web search",
    },
    "ToolText": {
        "function": "tool: {}",
        "source": "tool: search({})",
        "top": "top: {} in the entry of knowledge",
    },
    "confidence": {"consistency": "confidence: consistency({})", "verifier": "confidence: verifier({})"},
    "debate_confidence": {"verifier": "confidence: verifier({}), which measures each answer"},
    "judge": {"model": "judge: {}"},
    "LoopText": {"unless": "if: not ({})"},
    "SelectionForm": {"role": "hears: {}", "sparse": "{}", "within": "topology: {}"},
    **{form: {"above": "where: WEIGHT > {}, beside weight and keep"} for form in ("TopForm", "DropBottomForm")},
    "decide": {
        "else": "decide: [ROLE, {}]",
        "last": "decide: {}",
        "majority": _majority,
        "trimmed": lambda share: f"decide: {'median' if share == 0.5 else 'mean'}",
        "pool": "decide: weighted, which sums confidences",
        "weighted": "decide: [weighted, none]",
    },
    "prompt": {"first": "1: {}", "second": "2: {}"},
    "roles": {"model_of": "extra: an agent more, with the model of the first agent"},
    "TurnFilterText": {"about": "shows: about_me"},
    "with": {"pool": "knowledge: {}"},
    "setting": {
        **dict.fromkeys(("fallback", "tie"), "decide: [majority, {}]"),
        "graph": "topology: {}",
        "own": "memory: {}",
        "participation": _participation,
        "passes": "quote: {}",
        "tells": "shows: {}",
    },
}
"""By place: old keys, each with the line to write instead, in which `{}` stands for the value that was written,
or with a function of the value that returns the line.

A place is the name of the class of the grammar (`StepText`), the key whose value is the mapping (`hears`), or `setting`
for the settings of built-in protocols.
"""

_TURNS = {"latest": "last", "history": "all"}
VALUES: Mapping[str, Mapping[str, str]] = {
    "memory": _TURNS,
    "shows": _TURNS,
    "roles": {"first": "1", "second": "2"},
    "correction": {"hommel": "holm", "by": "bh"},
    "quote": {"reasoning": "whole"},
    "loss": dict.fromkeys(("dpo_norm", "ipo", "hinge", "nca", "bco", "sppo", "apo_zero", "apo_down"), "dpo"),
    "tool": {"python": "package.module:function"},
    "debate_confidence": dict.fromkeys(("linear", "log_odds", "verifier"), "weighted"),
    "cache": {"1h": "true"},
    "chooses": {"agents": ""},
    "each": {"speaker": ""},
    "shard_size": {"auto": ""},
}
"""By the key that is written now: old values, each with the new one."""
_ANSWERED = {key: {**VALUES.get(key, {}), **guesses.VALUES.get(key, {})} for key in {**VALUES, **guesses.VALUES}}

GONE_NAMES: Mapping[str, str] = {
    "changes": "write answer != before(answer): whether the last answer is another than the one before",
    "authors": "write support: the share of the debaters with this answer",
}
"""Names in expressions without a name of today, each with its remedy. `FORMER` has the others."""

_INNER = {"within": "topology"}
"""Old keys in the values of old keys."""
_EXPRESSIONS = ("weight", "where", "until", "unless", "if", "vote")


def key_remedy(place: str, key: object, value: Any) -> str:
    """Return the line to write instead of an old or guessed key with its value, or nothing for any other key.

    Old values and names of expressions in the value are replaced in the line, too.
    """
    line = KEYS.get(place, {}).get(str(key)) or guesses.GUESSES.get(place, {}).get(str(key), "")
    if callable(line):
        return f"write {line(value)}"
    return f"write {line.replace('{}', _flow(_renewed(line.partition(':')[0], value)))}" if line else ""


def value_remedy(route: Sequence[object], value: Any) -> str:
    """Return the line to write instead of an old value at a route, or nothing for any other value."""
    places = [str(part) for part in route if isinstance(part, str)][-2:]
    if isinstance(value, dict):
        lines = [key_remedy(place, key, inner) for place in places for key, inner in reversed(value.items())]
        return next(filter(None, lines), "")
    words = [
        _ANSWERED[place][value] for place in places if isinstance(value, str) and value in _ANSWERED.get(place, {})
    ]
    label = "" if isinstance(route[-1], int) else f"{route[-1]}: "
    if not words:
        return ""
    return f"write {label}{words[-1]}" if words[-1] else f"remove {route[-1]}"


def renewed_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a method with the words of today, as results of earlier versions state them."""
    lines = {name: str(KEYS["setting"].get(name, name)).partition(":")[0] for name in settings}
    return {lines[name]: _renewed(lines[name], value) for name, value in settings.items()}


def expression_remedy(text: str) -> str:
    """Return the expression to write instead of one with old names, or nothing for any other expression."""
    gone = next((remedy for name, remedy in GONE_NAMES.items() if re.search(rf"\b{name}\b", text)), "")
    return gone or (f"write {new}" if (new := from_record(text)) != text else "")


def _renewed(key: str, value: Any) -> Any:
    """Return a value with new words of the tables."""
    if isinstance(value, list):
        return [_renewed(key, item) for item in value]
    if isinstance(value, dict):
        renewed = {_INNER.get(str(word), str(word)): item for word, item in value.items()}
        return {word: _renewed(word, item) for word, item in renewed.items()}
    if isinstance(value, str) and key in _EXPRESSIONS:
        return from_record(value)
    return VALUES.get(key, {}).get(value, value) if isinstance(value, str) else value


def _flow(value: Any) -> str:
    """Return a value as YAML on one line; a long one is left out."""
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(map(_flow, value)) + "]"
    else:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 100 else "..."
