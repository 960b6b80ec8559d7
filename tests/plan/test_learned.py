"""`learned:`: which questions a function is fitted on, what is refused, and what an edit changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec, validate_experiment
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import rehearse_plan
from cortexdsl.plan.job_files import debate_inputs, fit_inputs
from cortexdsl.plan.learned import in_parts
from cortexdsl.plan.persistence.declaration import changes, declaration_of
from cortexdsl.tasks.load import load
from cortexdsl.tasks.pairs import other_order

FIT = "{predicts: right, from: [confidence, support], method: debate, questions: {size: 12}}"
SPEC = """\
seed: 3
dataset: {name: arithmetic, size: 8}
models:
  weak:   {model: builtin/solver, skill: 0.4, parameters: 1.0e9, tokens: 2.0e12}
  strong: {model: builtin/solver, skill: 0.7, parameters: 7.0e9, tokens: 15e12}
agents: [{name: ann, model: weak}, {name: bob, model: weak}, {name: cai, model: strong}]
learned:
  trust: FIT
methods:
  vote:   {protocol: debate, rounds: 0}
  debate: {protocol: debate, rounds: 1}
  sparse: {extends: debate, topology: {weight: learned(trust), keep: {top: 1}}}
"""
SPEC = SPEC.replace("FIT", FIT)


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(text: str, name: str = "x") -> str:
    path = Path("specs", f"{name}.yaml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path.as_posix()


def plan_of(text: str = SPEC) -> Plan:
    return compile_spec(written(text))


def told(text: str) -> list[tuple[str, str, str]]:
    """Return what is wrong with a spec: place, problem, remedy."""
    return [(one.where, one.what, one.remedy) for one in validate_experiment(written(text)).problems]


def with_fit(fit: str, text: str = SPEC) -> str:
    return text.replace(FIT, fit)


# ---------------------------------------------------------------- what is planned
def test_the_questions_to_fit_on_are_others_and_the_experiment_keeps_its_own() -> None:
    plan, plain = (
        plan_of(),
        plan_of(SPEC.replace(f"learned:\n  trust: {FIT}\n", "").replace("learned(trust)", "support")),
    )
    fitted = plan.fitted("trust")
    asked = {question.text for question in plan.task("arithmetic").questions}
    assert len(fitted.task.questions) == 12
    assert load(fitted.dataset).digest == fitted.task.digest  # as a job loads them
    assert asked.isdisjoint(question.text for question in fitted.task.questions)
    assert plan.question_ids() == plain.question_ids()
    assert plan.jobs == plain.jobs  # the debates to fit on are no cell's


def test_a_cell_waits_for_its_fit_and_the_fit_for_its_debates() -> None:
    plan = plan_of()
    assert fit_inputs(plan, "trust") == ["results/x/debates/(fit-trust)/debate/r1-s01.jsonl"]
    assert "results/x/fits/trust.json" in debate_inputs(plan, "arithmetic", "sparse", "r1-s01")
    for cell, dataset in (("debate", "arithmetic"), ("debate", "(fit-trust)")):
        assert "results/x/fits/trust.json" not in debate_inputs(plan, dataset, cell, "r1-s01")


def test_functions_on_the_same_questions_share_their_debates_and_cost() -> None:
    gain = FIT.replace("right", "gain").replace("confidence, support", "agreement")
    plan = plan_of(SPEC.replace("methods:", f"  worth: {gain}\nmethods:"))
    assert {each.label for each in plan.learned} == {"(fit-trust)"}
    _, by_cell = rehearse_plan(plan)
    assert by_cell["(fit: trust, worth)"].calls == 12 * 3 * 2


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (("size: 12", "size: 13"), {"sparse"}),
        (("[confidence, support]", "[confidence]"), {"sparse"}),
        (("method: debate", "method: debate, by: tree"), {"sparse"}),
        (("method: debate", "method: vote"), {"sparse"}),
        (("keep: {top: 1}", "keep: {top: 2}"), {"sparse"}),
    ],
)
def test_an_edit_of_a_fit_changes_only_the_cells_that_use_it(change: tuple[str, str], changed: set[str]) -> None:
    before, after = plan_of(), plan_of(SPEC.replace(*change))
    assert {cell.name for cell in before.cells if cell.digest != after.cell(cell.slug).digest} == changed


def test_the_declaration_names_fits_and_their_questions() -> None:
    before, after = declaration_of(plan_of()), declaration_of(plan_of(SPEC.replace("size: 12", "size: 13")))
    assert before["learned"]["trust"]["questions"] == 12
    assert changes(before, after) == ["fit changed: trust"]
    by_tree = declaration_of(plan_of(SPEC.replace("method: debate", "method: debate, by: tree")))
    assert changes(before, by_tree) == ["cell changed: sparse", "fit changed: trust"]


# ---------------------------------------------------------------- overlap
def questions(count: int, first: int = 0) -> list[dict[str, Any]]:
    things = ["apples", "boxes", "coins", "drums", "eggs", "forks", "gloves", "hats"]
    return [
        {
            "id": f"row-{k}",
            "question": f"A shop sells {k + 3} {things[k % 8]} on each of {k % 7 + 2} days. How many are sold in all?",
            "answer": (k + 3) * (k % 7 + 2),
        }
        for k in range(first, first + count)
    ]


def write_rows(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    Path("specs").mkdir(exist_ok=True)
    Path("specs", name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


OWN = with_fit("{predicts: right, from: [support], method: debate, questions: {file: fit.jsonl}}").replace(
    "dataset: {name: arithmetic, size: 8}", "dataset: {file: asked.jsonl}"
)
ASKED = questions(10)
APART = questions(12, 100)


def changed(row: Mapping[str, Any], **words: Any) -> dict[str, Any]:
    return {**row, "id": "new", **words}


@pytest.mark.parametrize(
    ("repeated", "reason"),
    [
        (ASKED[4], "the same text"),
        (changed(ASKED[4]), "the same text"),
        (changed(ASKED[4], question=ASKED[4]["question"].upper()), "the same text"),
        (changed(ASKED[4], question=ASKED[4]["question"].replace(" ", "   ")), "the same text"),
        (changed(ASKED[4], question=ASKED[4]["question"].replace("?", "!")), "the same text"),
        (changed(ASKED[4], question=ASKED[4]["question"].replace("A shop", "\uff21 shop")), "the same text"),
        (changed(ASKED[4], answer=0), "the same text"),
        (changed(ASKED[4], question=ASKED[4]["question"].replace("A shop", "The shop")), "nearly the same text"),
        (changed(ASKED[4], question=ASKED[4]["question"].replace("sold in all", "sold")), "nearly the same text"),
        (changed(ASKED[4], question="Please answer. " + ASKED[4]["question"]), "nearly the same text"),
        (changed(ASKED[4], question=ASKED[4]["question"].replace("in all", "altogether")), "nearly the same text"),
    ],
)
def test_a_question_that_is_asked_is_refused(repeated: Mapping[str, Any], reason: str) -> None:
    write_rows("asked.jsonl", ASKED)
    write_rows("fit.jsonl", [*APART, repeated])
    ((where, what, remedy),) = told(OWN)
    assert where.startswith("specs/x.yaml:8:")
    assert "1 of 13 questions to fit on are asked by the experiment, or resemble one that is" in what
    assert f"has {reason} as 'row-4'" in what
    assert "write size: N" in remedy
    with pytest.raises(SpecError):
        compile_spec("specs/x.yaml")  # and so is the run


def test_a_dataset_apart_is_used_whole() -> None:
    write_rows("asked.jsonl", ASKED)
    write_rows("fit.jsonl", APART)
    assert len(plan_of(OWN).fitted("trust").task.questions) == 12


def test_the_same_file_is_refused_whole_and_drawn_from_with_a_size() -> None:
    write_rows("asked.jsonl", ASKED)
    same = OWN.replace("file: fit.jsonl", "file: asked.jsonl")
    assert "10 of 10 questions to fit on are asked" in told(same)[0][1]
    sized = same.replace("{file: asked.jsonl}}", "{size: 6}}").replace("asked.jsonl}", "asked.jsonl, size: 4}")
    plan = plan_of(sized)
    asked = {question.id for question in plan.task("asked").questions}
    assert len(asked) == 4
    assert asked.isdisjoint(question.id for question in plan.fitted("trust").task.questions)
    ((_, what, _),) = told(sized.replace("size: 6", "size: 7"))
    assert "7 questions to fit on are asked for, and 6 of 10 are left" in what


def test_questions_that_are_asked_themselves_are_not_counted_as_similar() -> None:
    write_rows("asked.jsonl", [{**row, "family": k} for k, row in enumerate(ASKED)])
    sized = OWN.replace("{file: fit.jsonl}", "{size: 6}").replace(
        "asked.jsonl}", "asked.jsonl, cluster: family, size: 4}"
    )
    assert plan_of(sized).fitted("trust").left_out == 0


def test_a_size_of_pairs_counts_pairs_and_splits_none() -> None:
    rows = [
        {"request": " ".join(f"{verb}{n}" for n in "abcdefgh"), "one": f"{verb} yes", "two": f"{verb} no", "label": "A"}
        for verb in ("sing", "walk", "read", "bake", "mend", "sail", "draw", "plant")
    ]
    write_rows("pairs.jsonl", rows)
    dataset = "{file: pairs.jsonl, kind: pair, question: request, choices: [one, two], answer: label, size: 3}"
    text = SPEC.replace("{name: arithmetic, size: 8}", dataset).replace("size: 12", "size: 5")
    fitted, task = plan_of(text).fitted("trust"), plan_of(text).task("pairs")
    ids = {question.id for question in fitted.task.questions}
    assert (len(task.questions), len(ids), fitted.left_out) == (6, 10, 0)
    assert {other_order(identity) for identity in ids} == ids
    assert ids.isdisjoint(question.id for question in task.questions)
    ((_, what, _),) = told(text.replace("size: 5", "size: 6"))
    assert "6 pairs to fit on are asked for, and 5 of 8 are left" in what


def test_questions_named_by_id_are_refused_if_they_are_asked() -> None:
    write_rows("asked.jsonl", ASKED)
    named = OWN.replace("{file: fit.jsonl}", "{ids: [row-1, row-9]}").replace(
        "asked.jsonl}", "asked.jsonl, ids: [row-1]}"
    )
    assert "1 of 2 questions to fit on are asked" in told(named)[0][1]


def test_a_copied_file_under_another_name_is_refused() -> None:
    write_rows("asked.jsonl", ASKED)
    write_rows("copy.jsonl", [{**row, "id": f"copy-{k}"} for k, row in enumerate(ASKED)])
    assert "10 of 10" in told(OWN.replace("fit.jsonl", "copy.jsonl"))[0][1]


def test_a_row_with_another_text_is_known_by_its_id_in_the_same_source() -> None:
    """A listed question whose column is another one has another text, and is still the same row."""
    write_rows("asked.jsonl", [{**row, "again": f"Say it otherwise: {k} and {k + 40}"} for k, row in enumerate(ASKED)])
    other = OWN.replace("{file: fit.jsonl}", "{ids: [row-1, row-9], question: again}")
    ((_, what, _),) = told(other.replace("asked.jsonl}", "asked.jsonl, ids: [row-1, row-2]}"))
    assert "1 of 2 questions to fit on are asked" in what
    assert "'row-1' is the id of a question of both" in what


@pytest.mark.parametrize("word", ["cluster", "context"])
def test_a_question_of_the_same_cluster_or_passage_is_refused(word: str) -> None:
    write_rows("asked.jsonl", [{**row, "group": f"g{k}"} for k, row in enumerate(ASKED)])
    write_rows("fit.jsonl", [{**row, "group": f"h{k}" if k else "g3"} for k, row in enumerate(APART)])
    columns = f", {word}: group" if word == "cluster" else ", context: group"
    text = OWN.replace("asked.jsonl}", f"asked.jsonl{columns}}}").replace("fit.jsonl}", f"fit.jsonl{columns}}}")
    ((_, what, _),) = told(text)
    assert f"the same {'cluster' if word == 'cluster' else 'passage'} as 'row-3'" in what


def test_overlap_with_the_second_of_two_datasets_is_refused() -> None:
    write_rows("asked.jsonl", ASKED)
    write_rows("more.jsonl", questions(5, 50))
    write_rows("fit.jsonl", [*APART, questions(5, 50)[2]])
    two = OWN.replace("dataset: {file: asked.jsonl}", "datasets: {one: {file: asked.jsonl}, two: {file: more.jsonl}}")
    assert "1 of 13 questions to fit on" in told(two)[0][1]


def test_overlap_through_extends_is_refused() -> None:
    """The file below names the questions to fit on, the one above those that are asked."""
    write_rows("asked.jsonl", ASKED)
    write_rows("fit.jsonl", [*APART, ASKED[0]])
    written(OWN.replace("dataset: {file: asked.jsonl}", "dataset: {file: fit.jsonl, size: 3}"), "base")
    assert "1 of 13 questions to fit on" in told("extends: base.yaml\ndataset: {file: asked.jsonl}\n")[0][1]


def test_a_larger_experiment_later_is_refused_or_fits_again() -> None:
    write_rows("asked.jsonl", ASKED)
    write_rows("fit.jsonl", questions(6, 10))
    plan = plan_of(OWN)
    write_rows("asked.jsonl", questions(12))
    assert "2 of 6 questions to fit on" in told(OWN)[0][1]
    drawn = plan_of(), plan_of(SPEC.replace("size: 8", "size: 10"))
    for each in drawn:
        asked = {question.text for question in each.task("arithmetic").questions}
        assert asked.isdisjoint(question.text for question in each.fitted("trust").task.questions)
    assert plan.fitted("trust").digest != drawn[0].fitted("trust").digest


def test_questions_outside_of_the_spec_need_a_permission(tmp_path_factory: pytest.TempPathFactory) -> None:
    write_rows("asked.jsonl", ASKED)
    outside = tmp_path_factory.mktemp("outside") / "fit.jsonl"
    outside.write_text("".join(json.dumps(row) + "\n" for row in APART), encoding="utf-8")
    plan = plan_of(OWN.replace("fit.jsonl", str(outside)))
    assert [one.what for one in plan.permissions] == [f"read {outside}"]


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        (SPEC.replace("learned(trust)", "learned(trus)"), "learned(trus), which does not exist", "did you mean trust?"),
        (with_fit(FIT.replace("method: debate", "method: debat")), "there is no method or cell debat", "did you mean"),
        (with_fit(FIT.replace("method: debate", "method: sparse")), "uses a fitted function (itself)", "uses none"),
        (
            SPEC.replace("methods:", f"  other: {FIT.replace('method: debate', 'method: sparse')}\nmethods:"),
            "sparse uses a fitted function (trust)",
            "name a method that uses none",
        ),
        (with_fit(FIT.replace("size: 12", "size: 2")), "2 questions cannot fit 2 features", "raise size"),
        (with_fit(FIT.replace("support", "similarity")), "similarity is of a pair of agents", "features: agent, model"),
        (with_fit(FIT.replace("support", "random")), "random has no value after the opening", "features: "),
        (with_fit(FIT.replace("support", "suport")), "no factor is called suport", "did you mean support?"),
        (with_fit(FIT.replace("support", "before(support)")), "no earlier value", "remove before()"),
        (with_fit(FIT.replace("support", "mine(support)")), "of one agent, not of two", "remove mine()"),
        (with_fit(FIT.replace("support", "confidence")), "a feature is listed twice", "once"),
        (with_fit(FIT.replace("support", "vars(skill)")), "ann of debate has no such number", "write vars:"),
        (with_fit(FIT.replace("right", "gain")), "has a value for each agent", "mean(...)"),
        (with_fit(FIT.replace("right", "gain").replace("confidence, support", "model")), "model differs", "agreement"),
        (with_fit(FIT.replace("method", "by: isotonic, method")), "isotonic is a function of one", "name one feature"),
        (with_fit(FIT.replace("{size: 12}", "{seed: 4}")), "does not say which questions", "write size: 200"),
        (SPEC.replace("weight: learned(trust)", "weight: learned"), "learned says which number", "names:"),
        (SPEC.replace("learned(trust)", "1 / (learned(trust) - learned(trust))"), "is not a number", ""),
        (
            SPEC.replace("rounds: 1}", "rounds: 1, until: learned(trust) > 0.5}"),
            "has a value for each agent",
            "any(...)",
        ),
        (
            with_fit(FIT.replace("support", "agreement")).replace(
                "methods:", "methods:\n  v: {extends: vote, decide: {vote: learned(trust)}}"
            ),
            "learned(trust), whose agreement has no value in a vote",
            "fit it from others, such as confidence",
        ),
        (
            SPEC.replace("debate, rounds: 1}", "debate, rounds: 1, prompts: {answer: own.j2}}"),
            "learned.trust uses confidence, and own.j2 of debate asks for none",
            "leave confidence out of from",
        ),
        (
            with_fit(FIT.replace("method: debate", "method: many"))
            + "  many: {protocol: self-consistency, agents: [cai], budget: calls(debate)}\n",
            "many is matched to a budget",
            "without budget:",
        ),
    ],
)
def test_bad_input_is_told_before_anything_is_spent(text: str, what: str, remedy: str) -> None:
    Path("prompts").mkdir()
    Path("prompts/own.j2").write_text("{{ question.text }}\nEnd with a line Answer: NUMBER\n", encoding="utf-8")
    found = told(text)
    assert any(what in one and remedy in other for _, one, other in found), found
    assert not Path("results").exists()


# ---------------------------------------------------------------- several fits
SEVERAL = FIT.replace("size: 12}", "size: 12}, fits: 3")
OVER_FITS = "hypotheses:\n  - accuracy(sparse) > accuracy(vote) over fits\n"


def test_several_fits_have_questions_of_their_own_and_a_cell_waits_for_all() -> None:
    plan = plan_of(with_fit(SEVERAL).replace("seed: 3", "seed: 3\nreplicates: 3") + OVER_FITS)
    parts = [{question.id for question in fit.task.questions} for fit in plan.fits_of("trust")]
    assert [len(part) for part in parts] == [4, 4, 4]
    assert len(set().union(*parts)) == 12
    fits = [f"results/x/fits/trust-{number}.json" for number in (1, 2, 3)]
    assert set(fits) <= set(debate_inputs(plan, "arithmetic", "sparse", "r2-s01"))
    assert plan.fit_digests.keys() == {"trust"}


@pytest.mark.parametrize("kind", ["cluster", "pair"])
def test_what_belongs_together_is_in_one_part(kind: str) -> None:
    plan = plan_of()
    items = plan.fitted("trust").task.items
    if kind == "cluster":
        items = tuple(
            replace(item, question=replace(item.question, cluster=f"c{k // 3}")) for k, item in enumerate(items)
        )
    else:
        items = tuple(
            replace(item, question=replace(item.question, id=name))
            for k, item in enumerate(items)
            for name in [f"p{k // 2}" if k % 2 == 0 else other_order(f"p{k // 2}")]
        )
    parts = in_parts(replace(plan.fitted("trust").task, items=items), 2)
    together = 3 if kind == "cluster" else 2
    places = [number for item in items for number, part in enumerate(parts) if item in part.items]
    assert len(places) == len(items)
    assert all(len(set(places[k : k + together])) == 1 for k in range(0, len(items), together))


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        (
            with_fit(SEVERAL),
            "learned.trust: 3 fits, one for each replicate, and replicates is 1",
            "write replicates: 3",
        ),
        (SPEC + OVER_FITS, "hypotheses[1]: over fits, and trust is fitted 1 time", "write fits: 3 or more"),
        (
            SPEC + OVER_FITS.replace("sparse", "debate"),
            "hypotheses[1]: over fits, and none of its cells uses one",
            "name a cell that uses learned(NAME)",
        ),
        (
            with_fit(f"{SEVERAL}\n  zeal: {FIT}")
            .replace("seed: 3", "seed: 3\nreplicates: 3")
            .replace(
                "methods:\n  vote:   {protocol: debate, rounds: 0}",
                "methods:\n  vote:   {protocol: debate, rounds: 0, decide: {vote: learned(zeal)}}",
            )
            + OVER_FITS,
            "hypotheses[1]: over fits, and zeal is fitted 1 time",
            "write fits: 3 or more",
        ),
        (
            with_fit(FIT.replace("size: 12}", "size: 12}, fits: 8")).replace("seed: 3", "seed: 3\nreplicates: 8"),
            "learned.trust: 1 question cannot fit 2 features",
            "raise size",
        ),
    ],
)
def test_several_fits_that_cannot_be_are_refused(text: str, what: str, remedy: str) -> None:
    assert any(what == said and how.startswith(remedy) for _, said, how in told(text)), told(text)


# ---------------------------------------------------------------- edges
EDGE = FIT.replace("right, from: [confidence, support]", "helps, from: [confidence, differs, mine(confidence)]")


def test_a_fit_of_edges_is_a_weight() -> None:
    assert plan_of(with_fit(EDGE)).fitted("trust").predicts == "helps"


IN_A_VOTE = SPEC.replace("sparse:", "weighted: {extends: vote, decide: {vote: learned(trust)}}\n  sparse:")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (with_fit(EDGE.replace("differs", "similarity")), "similarity has no value after the opening"),
        (with_fit(EDGE.replace("helps", "right").replace("mine(confidence)", "support")), "differs is of a pair"),
        (with_fit(EDGE.replace("method: debate", "method: vote")), "in vote nobody answers after hearing others"),
        (with_fit(EDGE, IN_A_VOTE), "differs has no value in"),
    ],
)
def test_a_fit_of_edges_that_cannot_be_is_refused(text: str, what: str) -> None:
    assert any(what in said for _, said, _ in told(text)), told(text)
