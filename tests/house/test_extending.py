"""What docs/extending.md calls one declaration and one function is missed if either is forgotten.

Each table below has an entry for each declaration, so that a new one fails here until it has an example; and each
example must come to what the declaration says. A metric is added for real in `tests/metrics/test_registry.py`.
"""

from __future__ import annotations

import ast
import inspect
import random
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import get_type_hints

import pandas as pd
import pytest

from cortexdsl.core import Limits, Method, Sparse, Step, Turn
from cortexdsl.core.keep_rules import KEEP_RULES
from cortexdsl.core.metrics import METRICS
from cortexdsl.engine.decisions import DECISION_RULES, decide
from cortexdsl.language.grammar.steps import StepText
from cortexdsl.language.protocol.loader import protocol_of
from cortexdsl.language.reader import parse
from cortexdsl.metrics.registry import MODULES
from cortexdsl.metrics.scores import score_rows
from cortexdsl.models import transports
from cortexdsl.models.transports.registry import CORE, DECLARATION
from cortexdsl.plan.rehearsal.explain import method_values
from cortexdsl.stats.tables.score_table import score_table
from tests.language.methods.test_resolve import TEAM, made
from tests.stats.debates import grade, record
from tests.stats.debates import made as debate

PLAIN = {"role": "debater", "prompt": "a.j2", "hears": "everyone"}
WORDS = {
    "role": "helper", "prompt": "b.j2", "hears": "nobody", "shows": "all", "memory": "all",
    "with": "{x: 1}", "knowledge": "[wiki]", "context": "false",
    "sequential": "true", "each": "helper", "samples": "2", "model": "strong", "temperature": "0.2",
    "reads": "[answer, belief]", "chooses": "turns", "tools": "sums", "uses": "2",
}  # fmt: skip
"""For each word of a step a value that is not its default."""
BESIDE = {"role": {"hears": "nobody"}, "chooses": {"reads": "choice"}, "uses": {"tools": "sums"}}
"""What a word needs beside it."""


def step(words: dict[str, str]) -> Step:
    written = ", ".join(f"{word}: {value}" for word, value in (PLAIN | words).items())
    text = f"""
roles: {{debater: everyone, helper: everyone}}
steps: {{a: {{{written}}}, b: {{role: helper, prompt: a.j2}}, c: {{role: debater, prompt: a.j2}}}}
schedule: [c, b, a]
decide: first
"""
    return made(protocol_of("p", parse(text, "p.yaml"))).steps["a"]


@pytest.mark.parametrize("word", [field.alias or name for name, field in StepText.model_fields.items()])
def test_each_word_of_a_step_changes_the_step_of_the_method(word: str) -> None:
    beside = BESIDE.get(word, {})
    assert step(beside | {word: WORDS[word]}) != step(beside)


@pytest.mark.parametrize(
    ("kind", "readers"),
    [(Step, ["core", "engine"]), (Method, ["core", "engine", "plan"]), (Limits, ["models", "plan", "jobs"])],
)
def test_each_declared_word_is_read(kind: type, readers: list[str], repository: Path) -> None:
    """A word that is accepted and then read by nobody would be ignored without a word."""
    trees = (
        ast.parse(path.read_text(encoding="utf-8"))
        for folder in readers
        for path in (repository / "cortexdsl" / folder).rglob("*.py")
    )
    read = {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert {field.name for field in fields(kind)} - read == set()


VOTES = (("8", 0.1), ("1", 0.1), ("1", 0.1), ("5", 0.9), ("6", 0.2))
"""The answers of five debaters, and how sure they are. Two agree, the fourth is sure, the mean of all is 4.2."""
RANKINGS = ("2 > 7 > 3", "2 > 7 > 3", "2 > 7 > 3", "7 > 3 > 2", "7 > 3 > 2")
"""What they rank: 2 is the first of most, and 7 has most points."""
RULES = {
    "majority": ("majority", "1"), "weighted": ("weighted", "5"), "first": ("first", "8"), "last": ("debater", "6"),
    "trimmed": ("mean", "4.2"), "vote": ("{vote: confidence}", "5"), "borda": ("borda", "7"), "runoff": ("runoff", "2"),
}  # fmt: skip
"""For each rule how a protocol writes it, and what it decides."""


def method(rule: str) -> Method:
    step = "{role: debater, prompt: a.j2, reads: [answer, ranking], chooses: answers}"
    text = f"steps: {{a: {step}}}\nschedule: [a]\ndecide: {RULES[rule][0]}\n"
    return made(protocol_of("p", parse(text, "p.yaml")))


@pytest.mark.parametrize("rule", DECISION_RULES)
def test_each_rule_of_decisions_can_be_written_and_decides_in_its_own_way(rule: str) -> None:
    of = method(rule)
    names = [agent.name for agent in TEAM]
    turns = [
        Turn(
            k,
            0,
            0,
            "a",
            "answer",
            name,
            None,
            (),
            (),
            "text",
            answer,
            None,
            sure,
            sure,
            1,
            1,
            "",
            beside={"ranking": RANKINGS[k]},
        )
        for k, (name, (answer, sure)) in enumerate(zip(names, VOTES, strict=True))
    ]
    assert of.decide.rule == rule
    assert decide(of, turns, names, random.Random).answer == RULES[rule][1]
    others = DECISION_RULES.keys() - {rule}
    assert method_values(of)["decide"] not in [method_values(method(other))["decide"] for other in others]


@pytest.mark.parametrize("rule", [name for name, rule in KEEP_RULES.items() if rule.is_word])
def test_each_keep_rule_can_be_written(rule: str) -> None:
    written = f"{{{rule}: 1}}" if KEEP_RULES[rule].number else rule
    hears = step({"hears": f"{{weight: confidence, keep: {written}}}"}).hears
    assert isinstance(hears, Sparse)
    assert (hears.keep.rule, hears.keep.number) == (rule, 1.0 if KEEP_RULES[rule].number else None)


def test_each_function_of_a_debate_is_the_column_of_a_metric() -> None:
    """One without a declaration would be computed by nobody; the reverse is tested in tests/metrics."""
    columns = {column for metric in METRICS.values() for column in (metric.column, metric.per)}
    functions = {
        name for module in MODULES for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
        and list(inspect.signature(function).parameters) == ["view"]
        and get_type_hints(function)["return"] in (float, float | None)
    }  # fmt: skip
    assert len(functions) > 30
    assert functions - columns == set()
    assert functions <= {column for module in MODULES for column in module.MEASURES}


def test_each_module_that_declares_a_transport_is_registered() -> None:
    modules = {
        one.name: import_module(f"{transports.__name__}.{one.name}") for one in iter_modules(transports.__path__)
    }
    assert {name for name, module in modules.items() if hasattr(module, DECLARATION)} == set(CORE)


def test_each_column_of_scores_is_a_number_or_known_as_text() -> None:
    """Tables of scores of any program may be compared by their further columns: those of text are named as such."""
    rows = score_rows(
        map(record, [debate([{"a": "R", "b": "R"}], question="q1"), debate([{"a": "R", "b": "W"}], question="q2")]),
        grade, labels={"cluster": {"q1": "one", "q2": "two"}, "group": {"q1": "x", "q2": "y"}}, asked=METRICS,
    )  # fmt: skip
    texts = {column for row in rows for column, value in row.items() if isinstance(value, str)}
    assert {"cell", "question_id", "cluster"} <= texts
    assert texts.isdisjoint(score_table(pd.DataFrame(rows)).metrics)
