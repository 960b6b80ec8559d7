"""The job `fit`: what it fits on, what cells do with it, and fits that are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cortexdsl.cli.main import main
from cortexdsl.engine.methods import all_expressions
from cortexdsl.engine.opening import opening_answers, opening_values
from cortexdsl.expressions.evaluation import NAMED, evaluate, parse
from cortexdsl.jobs.fit import fit_function, fit_table
from cortexdsl.language.grammar.learned import feature_names
from cortexdsl.metrics.scores import read_rows
from cortexdsl.plan.compiled import read_compiled, write_compiled
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.persistence.fits import read_fit, with_fits
from cortexdsl.records import Record, read_debates
from cortexdsl.stats.tables.score_table import read_table
from tests.jobs.experiment import call, run_jobs, write_spec
from tests.jobs.test_without_language import language_functions

NAME = "fits"
SPEC = """\
seed: 5
dataset: {name: arithmetic, size: 12}
models:
  weak:   {model: builtin/solver, skill: 0.2, parameters: 1.0e9, tokens: 2.0e12}
  strong: {model: builtin/solver, skill: 0.8, parameters: 7.0e9, tokens: 15e12}
agents: [{name: ann, model: weak}, {name: bob, model: weak}, {name: cai, model: strong}]
learned:
  trust: {predicts: right, from: [model], by: table, method: debate, questions: {size: 40}}
  hear:  {predicts: right, from: [confidence, support], method: debate, questions: {size: 40}}
  worth: {predicts: gain, from: [agreement], method: debate, questions: {size: 40}}
methods:
  vote:     {protocol: debate, rounds: 0}
  debate:   {protocol: debate, rounds: 1, until: never}
  weighted: {extends: vote, decide: {vote: learned(trust)}}
  gated:    {extends: vote, defer: {where: learned(worth) > 0.05, to: debate}}
  sparse:   {extends: debate, topology: {weight: learned(hear), keep: {top: 1}}}
hypotheses:
  - accuracy(weighted) > accuracy(vote)
"""


def fit_all(spec: str) -> Plan:
    """Run the debates to fit on, and every fit."""
    plan = compile_spec(spec)
    call("plan", spec, "--declare")
    for fitted in {each.label: each for each in plan.learned}.values():
        for shard in fitted.shards:
            out = plan.layout.debates(fitted.label, fitted.cell, shard.label)
            place = ("--dataset", fitted.label, "--cell", fitted.cell, "--shard", shard.label)
            call("debate", spec, *place, "--out", out)
    for fitted in plan.learned:
        call("fit", spec, "--learned", fitted.name)
    return plan


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fits")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        spec = write_spec(SPEC, NAME)
        fit_all(spec)
        run_jobs(spec)
    return folder


@pytest.fixture
def plan(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return compile_spec(f"specs/{NAME}.yaml")


def records(plan: Plan, dataset: str, cell: str) -> list[Record]:
    paths = [plan.layout.debates(dataset, cell, shard.label) for shard in plan.shards_of(dataset)]
    return [record for path in paths for record in read_debates(Path(path))]


def test_a_table_of_models_has_their_accuracies(plan: Plan) -> None:
    fit = read_fit(Path(plan.layout.fit("trust")), plan.fitted("trust").digest)
    task, method = plan.task("(fit-trust)"), plan.cell("debate").debate
    right: dict[str, list[float]] = {"weak": [], "strong": []}
    for record in records(plan, "(fit-trust)", "debate"):
        for name, turn in opening_answers(method, record.debate).items():
            model = "strong" if name == "cai" else "weak"
            right[model].append(task.grade(record.debate.question_id, turn.answer))
    assert fit.rows == sum(map(len, right.values())) == 120
    assert fit.base_rate == pytest.approx(np.mean([*right["weak"], *right["strong"]]), abs=1e-6)
    means = {model: float(np.mean(scores)) for model, scores in right.items()}
    assert means["weak"] < fit.coefficients["weak"] < fit.base_rate < fit.coefficients["strong"] < means["strong"]
    assert not fit.is_noise
    assert fit.calls == 40 * 6
    assert set(fit.questions) == {question.id for question in task.questions}


def test_features_are_those_of_the_opening(plan: Plan) -> None:
    method = plan.cell("debate").debate
    (record, *_) = records(plan, "(fit-trust)", "debate")
    answers = opening_answers(method, record.debate)
    assert {turn.round for turn in answers.values()} == {0}
    features = ["confidence", "length", "entropy", "mean(confidence)", "position"]
    values = {name: of[:, 0] for name, of in opening_values(method, record.debate, features).items()}
    names = ["ann", "bob", "cai"]
    assert values["confidence"].tolist() == [answers[name].confidence or 0.0 for name in names]
    assert values["length"].tolist() == [len(answers[name].text.split()) for name in names]
    assert values["mean(confidence)"] == pytest.approx([values["confidence"].mean()] * 3)
    counts = np.unique([str(answers[name].answer) for name in names], return_counts=True)[1] / 3
    assert values["entropy"] == pytest.approx([-(counts * np.log2(counts)).sum()] * 3)
    assert values["position"].tolist() == [1, 2, 3]


def test_a_vote_counts_each_answer_by_its_fitted_value(plan: Plan) -> None:
    fit = read_fit(Path(plan.layout.fit("trust")))
    for record in records(plan, "arithmetic", "weighted"):
        votes: dict[str, float] = {}
        for turn in record.debate.turns:
            weight = fit.coefficients["strong" if turn.speaker == "cai" else "weak"]
            if turn.answer is not None:
                votes[turn.answer] = votes.get(turn.answer, 0.0) + weight
        assert dict(record.debate.votes) == pytest.approx(votes, abs=1e-5)


def test_a_question_is_handed_on_if_the_fitted_condition_holds(plan: Plan) -> None:
    expression = parse(read_fit(Path(plan.layout.fit("worth"))).expression)
    handed = []
    for record in records(plan, "arithmetic", "gated"):
        answers = [turn.answer for turn in record.debate.turns]
        agreement = max(answers.count(answer) for answer in answers) / 3
        expected = bool(evaluate(expression, {"agreement": agreement}) > 0.05)
        assert (record.debate.deferred is not None) == expected
        handed.append(expected)
        if record.debate.deferred is not None:
            assert record.debate.deferred.below is None
    assert len(set(handed)) == 2  # the solver's debates pay only where agents disagree


def test_edges_are_weighed_by_the_fitted_value(plan: Plan) -> None:
    expression = parse(read_fit(Path(plan.layout.fit("hear"))).expression)
    for record in records(plan, "arithmetic", "sparse"):
        (graph,) = record.debate.graphs
        opening = {turn.speaker: turn for turn in record.debate.turns if turn.round == 0}
        answers = [turn.answer for turn in opening.values()]
        for row, name in enumerate(graph.speakers):
            values = {
                "confidence": opening[name].confidence or 0.0,
                "support": 0.0 if opening[name].answer is None else answers.count(opening[name].answer) / 3,
            }
            assert graph.weight is not None
            weights = [weight for weight in graph.weight[row] if not np.isnan(weight)]
            assert weights == pytest.approx([float(evaluate(expression, values))] * len(weights))


def test_no_question_to_fit_on_is_scored(plan: Plan) -> None:
    scores = read_table(Path(plan.layout.table("scores")))
    fitted = {question.id for question in plan.task("(fit-trust)").questions}
    assert scores.datasets == ("arithmetic",)
    assert fitted.isdisjoint(*scores.questions)


def test_the_verdict_names_the_fit(plan: Plan) -> None:
    note = Path(plan.layout.hypotheses).read_text(encoding="utf-8")
    assert "the claim is about the fit that was made" in note
    assert "noise" not in note


def test_the_same_debates_give_the_same_fit(plan: Plan) -> None:
    path = Path(plan.layout.fit("hear"))
    before = path.read_bytes()
    call("fit", plan.spec_path, "--learned", "hear")
    assert path.read_bytes() == before


def test_other_methods_have_no_expressions_replaced(plan: Plan) -> None:
    debate = plan.cell("debate").debate
    assert with_fits(plan, debate, 1) is debate
    assert not any("learned" in text for _, text in all_expressions(with_fits(plan, plan.cell("gated").debate, 1)))


# ---------------------------------------------------------------- fits that are refused
def edited(plan: Plan, **words: Any) -> None:
    path = Path(plan.layout.fit("trust"))
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | words), encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ({"expression": "1"}, "this fit was edited, so that its questions and scores no longer hold"),
        ({"is_noise": True}, "this fit was edited"),
        ({"questions": []}, "this fit was edited"),
        ({"schema_version": 99}, "written by a later version"),
        ({"seal": ""}, "this fit was edited"),
    ],
)
def test_a_fit_that_was_edited_is_refused(
    plan: Plan, words: Mapping[str, Any], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edited(plan, **words)
    place = ("--dataset", "arithmetic", "--cell", "weighted", "--shard", "r1-s01")
    assert main(["debate", plan.spec_path, *place, "--out", "x.jsonl"]) == 1
    said = capsys.readouterr().err
    assert "results/fits/fits/trust.json" in said
    assert what in said
    assert not Path("x.jsonl").exists()


def test_a_fit_of_another_spec_is_refused(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_spec(SPEC.replace("by: table", "by: logistic"), NAME)
    place = ("--dataset", "arithmetic", "--cell", "weighted", "--shard", "r1-s01")
    assert main(["debate", spec, *place, "--out", "x.jsonl"]) == 1
    assert "it was fitted for another spec than this one" in capsys.readouterr().err


def test_answers_that_are_all_right_cannot_be_fitted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    right = SPEC.replace("skill: 0.2", "skill: 1.0").replace("skill: 0.8", "skill: 1.0").replace("size: 40", "size: 12")
    spec = write_spec(right, NAME)
    plan = compile_spec(spec)
    call("plan", spec, "--declare")
    out = plan.layout.debates("(fit-trust)", "debate", "r1-s01")
    call("debate", spec, "--dataset", "(fit-trust)", "--cell", "debate", "--shard", "r1-s01", "--out", out)
    capsys.readouterr()
    assert main(["fit", spec, "--learned", "trust"]) == 2
    what = "its target is 1 in all 36 rows, so that nothing can be predicted"
    assert f"specs/{NAME}.yaml: learned.trust: {what}\n    fit on questions" in capsys.readouterr().err
    assert not Path(plan.layout.fit("trust")).exists()


def test_debates_without_a_readable_answer_cannot_be_fitted_on(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unread(path: Path) -> list[Record]:
        return [
            replace(each, debate=replace(each.debate, turns=tuple(replace(t, answer=None) for t in each.debate.turns)))
            for each in read_debates(path)
        ]

    monkeypatch.setattr("cortexdsl.jobs.fit.read_debates", unread)
    assert main(["fit", plan.spec_path, "--learned", "trust"]) == 2
    assert "learned.trust: no debate about its questions was finished with a readable" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted({*feature_names()}.difference(NAMED)))
def test_every_name_of_features_has_a_value_after_the_opening(plan: Plan, name: str) -> None:
    (record, *_) = records(plan, "(fit-trust)", "debate")
    assert np.isfinite(opening_values(plan.cell("debate").debate, record.debate, [name])[name]).all()


# ---------------------------------------------------------------- several fits
def test_each_replicate_uses_a_fit_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fit has its own questions; a claim over fits takes them as a sample, and the plain one does not."""
    monkeypatch.chdir(tmp_path)
    old = "trust: {predicts: right, from: [model], by: table, method: debate, questions: {size: 40}}"
    text = SPEC.replace(old, old.replace("size: 40}", "size: 60}, fits: 3")).replace(
        "seed: 5", "seed: 5\nreplicates: 3"
    )
    spec = write_spec(f"{text}  - accuracy(weighted) > accuracy(vote) over fits\n", NAME)
    plan = fit_all(spec)
    run_jobs(spec)
    fits = plan.fits_of("trust")
    assert [fit.name for fit in fits] == ["trust-1", "trust-2", "trust-3"]
    read = [read_fit(Path(plan.layout.fit(fit.name)), fit.digest) for fit in fits]
    assert [len(fit.questions) for fit in read] == [20, 20, 20]
    assert len({question for fit in read for question in fit.questions}) == 60
    debate = plan.cell("weighted").debate
    weights = [with_fits(plan, debate, replicate).decide.weight for replicate in (1, 2, 3)]
    assert weights == [fit.expression for fit in read]
    assert len(set(weights)) == 3
    call("verdict", f"results/{NAME}")
    verdicts = read_rows(Path(plan.layout.hypotheses))
    assert "about the fit that was made" in str(verdicts[0]["note"])
    assert "the fits are a sample of fits on 20 questions" in str(verdicts[1]["note"])
    assert "random effect of 3 fits" in str(verdicts[1]["test"])


# ---------------------------------------------------------------- edges
def test_a_row_of_an_edge_is_what_its_speaker_and_its_listener_gave(plan: Plan) -> None:
    """By hand: a row for each speaker that a listener heard before its next answer, which is right or not."""
    names = ("confidence", "mine(confidence)", "differs", "model")
    learned = replace(plan.fitted("trust"), predicts="helps", features=names)
    method, task = plan.cell("debate").debate, learned.task
    debates = [each.debate for each in records(plan, learned.label, "debate")]
    table = fit_table(learned, method, records(plan, learned.label, "debate"), task.grade, plan.seed)
    expected = []
    for debate in debates:
        opening = {turn.speaker: turn for turn in debate.turns if turn.round == 0}
        for listener in (turn for turn in debate.turns if turn.round == 1):
            for speaker in opening if listener.answer is not None else ():
                if speaker != listener.speaker:
                    one, other = opening[speaker], opening[listener.speaker]
                    model = "strong" if speaker == "cai" else "weak"
                    score = task.grade(debate.question_id, str(listener.answer))
                    differs = float(one.answer != other.answer)
                    expected.append((one.confidence or 0.0, other.confidence or 0.0, differs, model, score))
    rows = list(zip(*(feature.values for feature in table.features), table.target.tolist(), strict=True))
    assert sorted(rows) == sorted(expected)
    assert 0 < table.target.mean() < 1


def test_a_policy_of_edges_is_a_weight_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    edge = "edge: {predicts: helps, from: [support, differs * support], method: debate, questions: {size: 40}}"
    policy = "policy: {extends: debate, topology: {weight: learned(edge), keep: {top: 1}}}"
    text = SPEC.replace("methods:\n", f"  {edge}\nmethods:\n  {policy}\n")
    spec = write_spec(text, NAME)
    plan = fit_all(spec)
    fit = read_fit(Path(plan.layout.fit("edge")))
    assert fit.rows == 6 * 40  # three listeners that hear two others
    run_jobs(spec)
    expression = parse(fit.expression)
    for record in records(plan, "arithmetic", "policy"):
        (graph,) = record.debate.graphs
        answers = [turn.answer for turn in record.debate.turns[:3]]
        support = np.array([answers.count(answer) / 3 if answer is not None else 0.0 for answer in answers])[:, None]
        differs = np.array([[float(one != other) for other in answers] for one in answers])
        weight = np.broadcast_to(evaluate(expression, {"support": support, "differs": differs}), (3, 3))
        off = ~np.eye(3, dtype=bool)
        assert graph.weight is not None
        assert graph.weight[off] == pytest.approx(weight[off], abs=1e-9)


# ---------------------------------------------------------------- compiled plans
def test_a_compiled_plan_has_the_questions_of_a_fit_by_their_ids(plan: Plan) -> None:
    """So a job of the run loads them without the spec; they are those that the compiler chose."""
    write_compiled(plan)
    loaded = read_compiled(plan.layout)
    for fitted in plan.learned:
        again = loaded.fitted(fitted.name)
        assert again.task.questions_digest == fitted.task.questions_digest
        assert again.task.digest == fitted.task.digest
    with language_functions() as called:
        fit_function(read_compiled(plan.layout), "trust")
    assert called == set()
