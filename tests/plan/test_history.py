"""The questions of results, compared with those of the spec now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.errors import InputError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.persistence.declaration import changes, declaration_of
from cortexdsl.plan.persistence.history import refuse_other_questions
from cortexdsl.plan.persistence.store import plan_record
from cortexdsl.plan.record import plan_json, read_plan, write_plan
from cortexdsl.plan.rehearsal.estimate import CostEstimate
from cortexdsl.report.phrasing.provenance import settings
from tests.plan.specs import SPEC, plan

OWN = SPEC.replace("{name: arithmetic, size: 6}", "{file: a.csv}")
ROWS = [(f"{n} + 1?", str(n + 1)) for n in range(6)]


def own(folder: Path, rows: list[tuple[str, str]], spec: str = OWN) -> Plan:
    """The plan of a spec whose questions are these rows."""
    (folder / "specs").mkdir(exist_ok=True)
    table = "question,answer\n" + "".join(f"{question},{answer}\n" for question, answer in rows)
    (folder / "specs" / "a.csv").write_text(table)
    return plan(folder, spec)


def ran(folder: Path, earlier: Plan) -> None:
    """Leave behind what a run leaves: its plan, and a call."""
    root = Path(earlier.layout.root)
    write_plan(Path(earlier.layout.plan), plan_record(earlier, CostEstimate(), {}))
    (root / "calls").mkdir()
    (root / "calls" / "one.jsonl").write_text("{}\n")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results lie in the folder of the test."""
    monkeypatch.chdir(tmp_path)


def test_a_question_with_another_text_or_answer_is_refused(tmp_path: Path) -> None:
    ran(tmp_path, own(tmp_path, ROWS))
    later = own(tmp_path, [*ROWS[:4], ("4 + 1?", "6"), ("5 + 2?", "7")])
    with pytest.raises(InputError) as caught:
        refuse_other_questions([later])
    said = str(caught.value)
    assert "the questions of dataset a are not those of its results" in said
    assert "of 6 questions 1 has another text, options or answer, 1 is new and 1 is gone" in said
    assert "another name" in said
    assert "delete results/" in said


def test_an_id_whose_question_changed_is_refused(tmp_path: Path) -> None:
    """The id says nothing of the text."""

    def table(text: str) -> Plan:
        (tmp_path / "specs").mkdir(exist_ok=True)
        (tmp_path / "specs" / "a.csv").write_text(f"id,question,answer\nx,{text},2\ny,2 + 2?,4\n")
        return plan(tmp_path, OWN)

    ran(tmp_path, table("1 + 1?"))
    with pytest.raises(InputError, match="of 2 questions 1 has another text, options or answer"):
        refuse_other_questions([table("One and one?")])


@pytest.mark.parametrize("kept", [ROWS, ROWS[:4], [*ROWS, ("9 + 9?", "18")], ROWS[::-1]])
def test_the_same_questions_or_more_or_fewer_go_on(tmp_path: Path, kept: list[tuple[str, str]]) -> None:
    ran(tmp_path, own(tmp_path, ROWS))
    refuse_other_questions([own(tmp_path, kept)])


def test_a_sample_that_new_rows_push_questions_out_of_is_refused(tmp_path: Path) -> None:
    """Twelve more rows: of a sample of six some are new, so others are gone."""
    spec = OWN.replace("{file: a.csv}", "{file: a.csv, size: 6}")
    ran(tmp_path, own(tmp_path, ROWS, spec))
    more = [(f"{n} + 2?", str(n + 2)) for n in range(12)]
    with pytest.raises(InputError, match="of 6 questions 0 have another text"):
        refuse_other_questions([own(tmp_path, [*ROWS, *more], spec)])


def test_another_seed_draws_other_questions_and_is_a_replication(tmp_path: Path) -> None:
    ran(tmp_path, plan(tmp_path, SPEC))
    refuse_other_questions([plan(tmp_path, SPEC.replace("seed: 3", "seed: 4"))])


def test_what_was_never_asked_binds_nobody(tmp_path: Path) -> None:
    earlier = own(tmp_path, ROWS)
    write_plan(Path(earlier.layout.plan), plan_record(earlier, CostEstimate(), {}))
    refuse_other_questions([own(tmp_path, [("7 * 8?", "56")])])


def test_a_plan_of_an_earlier_version_says_nothing_of_its_questions(tmp_path: Path) -> None:
    earlier = own(tmp_path, ROWS)
    ran(tmp_path, earlier)
    path = Path(earlier.layout.plan)
    record = plan_json(read_plan(path))
    del record["question_digests"]
    path.write_text(json.dumps(record))
    refuse_other_questions([own(tmp_path, [("7 * 8?", "56")])])


def test_one_digest_stands_in_plan_ledger_and_report(tmp_path: Path) -> None:
    """It is of the questions and golds in their order; another metric does not change it."""
    one, again = own(tmp_path, ROWS), own(tmp_path, ROWS, OWN.replace("a.csv}", "a.csv, kind: text, metric: f1}"))
    digest = one.tasks["a"].questions_digest
    record = plan_record(one, CostEstimate(), {})
    assert record.datasets["a"].questions_digest == digest
    assert declaration_of(one)["datasets"]["a"]["questions_digest"] == digest
    assert f"questions digest {digest}" in dict(settings(record))["Dataset a"]
    assert again.tasks["a"].questions_digest == digest
    assert own(tmp_path, ROWS[:5]).tasks["a"].questions_digest != digest
    assert changes(declaration_of(one), declaration_of(again)) == ["dataset a: read or graded otherwise"]


def test_a_ledger_without_the_digest_is_no_change(tmp_path: Path) -> None:
    """Earlier versions declared fewer facts."""
    now = declaration_of(own(tmp_path, ROWS))
    facts = {key: value for key, value in now["datasets"]["a"].items() if key != "questions_digest"}
    assert changes({**now, "datasets": {"a": facts}}, now) == []


def test_the_plan_says_where_questions_came_from(tmp_path: Path) -> None:
    facts = plan_record(own(tmp_path, ROWS), CostEstimate(), {}).datasets["a"]
    assert (facts.source, facts.rows, facts.revision) == ("a.csv", 6, None)
