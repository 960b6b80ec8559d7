"""Provenance of the results: data, the size of the experiment and versions, as sentences and rows."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version

from cortexdsl import __version__
from cortexdsl.numbers import THIN, counted, p_value
from cortexdsl.plan.record import DatasetRecord, PlanRecord
from cortexdsl.report.data import ReportData
from cortexdsl.report.phrasing.citations import data_in_words
from cortexdsl.report.phrasing.claims import Answer, details_in_words
from cortexdsl.report.phrasing.comparisons import (
    TESTED,
    claims_decided,
    intervals,
    table_terms,
)

PACKAGES = ("litellm", "snakemake", "numpy", "scipy", "statsmodels", "pandas", "matplotlib")
BUILT_IN = "builtin/"
BUILT_IN_ONLY = "The agents here are a built-in solver, not language models."
BUILT_IN_SOME = "Some of the agents here are a built-in solver, not language models."


def versions() -> dict[str, str]:
    """Return the versions of cortexdsl, Python and the packages that results depend on."""
    found = {"cortexdsl": __version__, "Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def built_in_line(plan: PlanRecord) -> str:
    """Say that agents are the built-in solver, if any is; else return the empty text."""
    are = [agent.model.startswith(BUILT_IN) for agent in plan.agents]
    if not any(are):
        return ""
    return BUILT_IN_ONLY if all(are) else BUILT_IN_SOME


def claims_decided_line(data: ReportData) -> str:
    """Say once how the claims of an experiment were decided."""
    stopping = data.plan.stopping
    alpha = p_value(stopping.alpha if stopping else data.alpha).rstrip("0")
    return claims_decided(alpha, len(data.claims), data.plan.correction, is_anytime=stopping is not None)


def how_tested(data: ReportData, answers: Sequence[Answer], *, has_tables: bool = False) -> Iterator[str]:
    """Yield how claims and differences were tested, and what the tables of differences have; nothing without tests."""
    if data.claims or data.comparisons:
        yield TESTED
    if data.claims:
        yield claims_decided_line(data)
        yield from details_in_words(answers)
    if data.comparisons:
        yield from (
            table_terms(data.comparisons) if has_tables else [intervals({row.correction for row in data.comparisons})]
        )


def stopping_line(data: ReportData) -> str:
    """Say where an experiment that may stop early stopped, what that saved, and what then holds; else nothing."""
    look, rule = data.look, data.plan.stopping
    if look is None or not rule:
        return ""
    asked, planned = sum(look["questions"].values()), sum(look["planned"].values())
    decided = sum(claim["verdict"] != "undecided" for claim in look["claims"])
    count = counted(len(look["claims"]), "claim")
    left = look["calls_left"]
    share = f"{100 * left / ((look['calls'] + left) or 1):.0f}"
    sentences = [
        f"The experiment {'stopped after' if asked < planned else 'used'} {asked:,} of {planned:,} questions, with "
        f"{decided} of {count} decided; about {left:,} calls ({share}{THIN}%) were not made."
    ]
    sentences.append(
        f"Only verdicts on claims allow for early stopping (error {rule.alpha:g}); all other p-values and intervals "
        "are exploratory."
    )
    return " ".join(sentences)


def title(plan: PlanRecord) -> str:
    """Return the experiment's title, or its name if it has none."""
    return plan.title or plan.experiment or "An experiment"


def facts(data: ReportData) -> tuple[str, ...]:
    """Return the size of the experiment in a few words each."""
    plan = data.plan
    methods = {cell.method or cell.name for cell in plan.cells}
    count, questions = len(plan.agents), sum(map(len, plan.questions.values()))
    asked = sum(data.look["questions"].values()) if data.look else questions
    part = f"{asked:,} of " if asked < questions else ""
    datasets = [name for name in data.datasets if name != "all"]
    said = [
        counted(count, "agent") if count else "",
        counted(len(methods), "method") if methods else "",
        counted(len(data.cells), "cell"),
        ", ".join(datasets),
        f"{part}{counted(questions, 'question')}{_pairs(plan)}" if questions else "",
        counted(plan.replicates, "replicate") if plan.replicates else "",
        f"seed {plan.seed}" if plan else "",
    ]
    return tuple(part for part in said if part)


def settings(plan: PlanRecord) -> tuple[tuple[str, str], ...]:
    """Return (name, value) of what fixed the experiment and does not stand in the text of its spec."""
    cited = dict(data_in_words(plan))
    named = [
        (f"Dataset {label}", "; ".join(filter(None, (_facts(entry), cited.get(label)))))
        for label, entry in plan.datasets.items()
    ]
    return tuple((name, value) for name, value in (("Spec digest", plan.spec_digest), *named) if value)


def _facts(entry: DatasetRecord) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in entry.facts().items() if value)


def _pairs(plan: PlanRecord) -> str:
    """Say how many pairs of replies are among the questions: each is two of them."""
    pairs = sum(len(plan.questions.get(label, ())) for label, one in plan.datasets.items() if one.kind == "pair") // 2
    return f" ({counted(pairs, 'pair')} in both orders)" if pairs else ""


def has_right_answers(plan: PlanRecord) -> bool:
    """Return whether any dataset has right answers; a plan without datasets may have them."""
    return not plan.datasets or any(one.kind != "open" for one in plan.datasets.values())
