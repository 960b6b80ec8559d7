"""Rule `verdict`: metrics with intervals, comparisons by family, and claims with their history in the ledger.

Reads plan.json, the parts of the tables that each cell has, and, if a claim needs them, the answers. Writes the tables
of all cells, metrics.csv, comparisons.csv,
hypotheses.csv and, of matched cells, matches.csv, and adds verdicts to the ledger.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.designs import design_of
from cortexdsl.claims.meaning import needs_answers
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import Comparison, one_line
from cortexdsl.core import by_key
from cortexdsl.jobs.look import anytime_verdicts
from cortexdsl.jobs.score import join
from cortexdsl.metrics.estimates import metrics_table
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import SEED, binding_changes
from cortexdsl.plan.persistence.fits import noise_in_words, read_fit
from cortexdsl.plan.persistence.journal import Journal, read_journal
from cortexdsl.plan.persistence.recording import record_damage, record_files, record_verdicts, seal_manifest
from cortexdsl.plan.persistence.verification import check_files
from cortexdsl.plan.record import PlanRecord, read_plan
from cortexdsl.stats.inference.budgets import MatchedPair, match_table
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.planning.planning import questions_needed
from cortexdsl.stats.tables.answers import answers_for, with_answers
from cortexdsl.stats.tables.score_table import ScoreTable, read_table
from cortexdsl.stats.verdicts import evaluate_claims

_ONE_FIT = (
    "the claim is about the fit that was made: other questions to fit on would give another one, which the interval "
    "leaves out"
)
BEFORE, AFTER, NEVER = "before the first call", "after the first call", "nothing was declared before the first call"


def with_history(verdicts: pd.DataFrame, journal: Journal, arms: Sequence[CellNames]) -> pd.DataFrame:
    """Add columns to hypotheses.csv: the history of each claim in the ledger.

    Returns
    -------
    DataFrame
        With `declared` (when the claim was declared), `changed` (changes after the first call that the verdict depends
        on), `runs` (how often the claim was tested, with the seed and verdict of each run), `ledger` (the seal of the
        entry with the verdicts). A verdict is also exploratory if `changed` names more than the seed, or if the ledger
        is faulty. All are empty for tables without a ledger, such as those of other programs.
    """
    if not journal.is_kept:
        return verdicts.assign(**dict.fromkeys(("declared", "changed", "runs", "ledger"), ""))
    when, changed, is_bound, runs = [], [], [], []
    for claim in verdicts["claim"]:
        bound = binding_changes(journal.since, design_of(parse_claim(claim), arms).all_cells)
        when.append(_when(claim, journal))
        changed.append("; ".join([change for change in journal.since if change.startswith(f"{SEED}:")] + bound))
        is_bound.append(bool(bound or journal.chain_faults))
        judged = journal.verdicts_on(claim)
        runs.append(_runs(judged))
    return verdicts.assign(
        exploratory=verdicts["exploratory"].to_numpy(dtype=bool) | pd.Series(is_bound, dtype=bool).to_numpy(),
        declared=when,
        changed=changed,
        runs=runs,
        ledger=journal.verdict_seal,
    )


def families_with_history(compared: pd.DataFrame, journal: Journal) -> pd.DataFrame:
    """Add the column `exploratory` to comparisons.csv: whether a comparison was not declared in its present form.

    A comparison is declared if its family and its metric were declared before the first call, its family is unchanged,
    and so is everything that its p depends on (its cells, error, correction, questions, replicates). The column is
    empty for tables without a ledger.
    """
    if not journal.is_kept:
        return compared.assign(exploratory="")
    before, now = journal.before, journal.now
    if before is None or now is None or journal.chain_faults:
        return compared.assign(exploratory=True)
    unchanged = [name for name, family in before["families"].items() if now["families"].get(name) == family]
    declared = compared["family"].isin(unchanged) & compared["metric"].isin(before["metrics"])
    pairs = zip(compared["cell"], compared["reference"], strict=True)
    bound = [bool(binding_changes(journal.since, pair)) for pair in pairs]
    return compared.assign(exploratory=~declared | pd.Series(bound, dtype=bool, index=compared.index))


def _runs(judged: Sequence[tuple[int, int | None, str]]) -> str:
    """Return how often a claim was tested, with the seed and the verdict of each run."""
    named = ", ".join(f"seed {seed} {verdict}" for _, seed, verdict in judged)
    return f"{len(judged)}: {named}" if judged else "0"


def _when(claim: str, journal: Journal) -> str:
    if journal.chain_faults:
        return "; ".join(journal.chain_faults)
    if journal.before is None:
        return NEVER
    return BEFORE if one_line(claim) in journal.claims else AFTER


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("results", help="folder of the experiment's results, with plan.json and scored debates")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    write_verdict(Layout(args.results.rstrip("/")))
    return 0


def write_verdict(layout: Layout) -> None:
    """Join the scores of all cells, test the families and claims of an experiment, and write every table of the rule.

    Raises
    ------
    DataError
        The scores or the answers of a cell were edited.
    """
    plan = read_plan(Path(layout.plan))
    joined = join(plan)
    record_damage(layout, "damage", read_journal(layout).missing_entries)
    scores = replace(read_table(Path(layout.table("scores"))), most=plan.most, fixed=plan.fixed)
    metrics_table(scores).to_csv(layout.metrics, index=False)
    _write_comparisons(plan, scores)
    _write_claims(plan, scores)
    tables = (layout.metrics, layout.comparisons, layout.hypotheses)
    record_files(layout, (*joined, *tables, *_write_matches(plan, scores)))
    seal_manifest(layout)


def _write_matches(plan: PlanRecord, scores: ScoreTable) -> list[str]:
    """Write how matched budgets were met; return the tables.

    Only some experiments have one, so no rule names it as its output.
    """
    pairs = [MatchedPair(cell.name, cell.match.metric, cell.match.cell) for cell in plan.cells if cell.match]
    if not pairs:
        return []
    match_table(scores, pairs, plan.seed).to_csv(plan.layout.matches, index=False)
    return [plan.layout.matches]


def _write_comparisons(plan: PlanRecord, scores: ScoreTable) -> None:
    """Write comparisons by family, and the bounds of missing answers."""
    layout, tested = plan.layout, (plan.families, plan.metrics, plan.seed, plan.arms)
    comparisons = compare_families(scores, *tested)
    if plan.stopping:
        comparisons["test"] = comparisons["test"].map(_fixed_sample)
    families_with_history(comparisons, read_journal(layout)).to_csv(layout.comparisons, index=False)


def _write_claims(plan: PlanRecord, scores: ScoreTable) -> None:
    """Test the claims, record the verdicts in the ledger, and write them with their history."""
    layout, claims, arms, stopping = plan.layout, plan.hypotheses, plan.arms, plan.stopping
    history = read_journal(layout)
    declared = history.claims if history.is_kept else claims  # without a ledger: declared
    correction, alpha = plan.correction, plan.alpha
    if any(needs_answers(parse_claim(claim)) for claim in claims):
        answers = answers_for(Path(layout.table("scores")))
        check_files(layout, answers)
        scores = with_answers(scores, answers)
    if stopping:
        planned = {dataset: len(ids) for dataset, ids in plan.questions.items()}
        rule: dict[str, Any] = {"planned": planned, "alpha": stopping.alpha, "correction": correction}
        verdicts = anytime_verdicts(scores, claims, arms, declared=declared, **rule)
    else:
        how: dict[str, Any] = {"alpha": alpha, "correction": correction, "finished": True}
        verdicts = evaluate_claims(scores, claims, plan.seed, arms, declared=declared, **how)
    history = record_verdicts(layout, plan.seed, _verdict_lines(verdicts), _question_counts(scores))
    rows = with_fit_notes(with_history(verdicts, history, arms), plan)
    if not stopping:
        rows["questions_needed"] = questions_needed(scores, verdicts, arms, alpha=alpha, correction=correction)
    rows.to_csv(layout.hypotheses, index=False)


def with_fit_notes(verdicts: pd.DataFrame, plan: PlanRecord) -> pd.DataFrame:
    """Add to the note of each claim which fits its cells use, and which of these predict no better than chance."""
    if not plan.learned:
        return verdicts
    made = by_key((each.base, read_fit(Path(plan.layout.fit(each.name)), each.digest)) for each in plan.learned)
    users = {each.base: each.used_by for each in plan.learned}
    notes = []
    for text, note in zip(verdicts["claim"], verdicts["note"], strict=True):
        claim = parse_claim(text)
        cells = set(design_of(claim, plan.arms).all_cells)
        used = {base: own for base, of in users.items() if (own := [cell for cell in of if cell in cells])}
        clauses = [noise_in_words(base, made[base], own) for base, own in used.items()]
        if used and isinstance(claim, Comparison) and claim.over == "fits":
            sizes = sorted({len(fit.questions) for base in used for fit in made[base]})
            clauses.append(f"the fits are a sample of fits on {' or '.join(map(str, sizes))} questions")
        elif used:
            clauses.append(_ONE_FIT)
        notes.append("; ".join(filter(None, [str(note or ""), *clauses])))
    return verdicts.assign(note=notes)


def _fixed_sample(test: str) -> str:
    """Mark a test that assumes a fixed number of questions, which an experiment with `stopping` does not have."""
    return test if test.startswith("none") else f"{test} (fixed sample: exploratory)"


def _verdict_lines(verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    """Return verdicts as the ledger keeps them: with six digits, so that they are equal on all platforms."""
    columns = verdicts[["claim", "verdict", "estimate", "p_adjusted"]]
    records = json.loads(columns.to_json(orient="records", double_precision=6))
    return [dict(record) for record in records]


def _question_counts(scores: ScoreTable) -> str:
    sizes = [f"{len(ids)} of {name}" for name, ids in zip(scores.datasets, scores.questions, strict=True)]
    return f"questions: {', '.join(sizes)}"
