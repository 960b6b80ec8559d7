"""Which specs a workflow runs, what it says of those that it cannot, and the workflow that `compile` writes."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from cortexdsl.worker.run import lock_experiment
from tests.workflow.bench import PROMPT, REPOSITORY, SPEC, TWO_ALONE, Bench

pytestmark = pytest.mark.workflow
TINY = """\
title: Tiny
seed: 1
dataset: {name: arithmetic, size: 2}
models:
  one: {model: builtin/solver}
agents:
  - {name: one, model: one}
  - {name: two, model: one}
methods:
  vote: {protocol: voting}
"""


def test_specs_in_folders_outside_specs_and_several_at_once_are_planned_by_name_or_path(fresh: Bench) -> None:
    """`examples/x` lies under results/examples/x; a spec elsewhere is called by its file."""
    fresh.write("specs/plain.yaml", TINY)
    fresh.write("specs/examples/deep.yaml", TINY)
    fresh.write("elsewhere/own.yaml", TINY)
    fresh.write("specs/_part.yaml", "not: {a: spec")
    specs = f"plain,examples/deep,{fresh.folder}/elsewhere/own.yaml"
    run = fresh.snakemake("--dry-run", "--config", f"spec={specs}")
    assert run.status == 0, run.text
    assert run.planned == Counter(
        dict.fromkeys(("declare", "plan", "debate", "score", "verdict", "report"), 3) | {"all": 1}
    )
    for path in ("results/plain", "results/examples/deep", "results/own"):
        assert f"output: {path}/debates/arithmetic/vote/r1-s01.jsonl" in run.text
    assert fresh.snakemake("--dry-run").planned["debate"] == 1  # those directly in specs/ alone


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (TINY.replace("seed: 1", "seed: -1"), (), r"error: specs/tiny.yaml:2:7: seed is -1\n"),
        (TINY.replace("voting", "votng"), (), r"did you mean voting"),
        (TINY, ("--config", "spec=tinny"), r"error: there is no spec 'tinny'\n    did you mean tiny\? specs: tiny\n"),
        (TINY, ("--config", "spc=tiny"), r"error: --config spc: unknown key\n    did you mean spec\? allowed: spec, "),
        (
            TINY.replace("voting", "voting, prompts: {answer: own.j2}"),
            ("--config", "spec=tiny"),
            r"error: prompts/own.j2:2:4: there is no variable qestion .used at specs/tiny",
        ),
        (TINY, ("results/none/report.html",), r"error: there is no spec 'none'\n"),
    ],
    ids=["a value", "a name", "no such spec", "no such key", "a prompt", "no such result"],
)
def test_a_mistake_is_one_message_without_a_traceback(
    fresh: Bench, text: str, arguments: tuple[str, ...], said: str
) -> None:
    """Where, what, the remedy; nothing of the rules' insides; the exit status is not 0."""
    fresh.write("specs/tiny.yaml", text)
    fresh.write("prompts/own.j2", "{{ question.text }} {{ answer_format }}\n{{ qestion }}")
    run = fresh.snakemake("--dry-run", *arguments)
    assert run.status == 2
    assert re.search(said, run.text), run.text
    assert "Traceback" not in run.text
    assert "  File " not in run.text


def test_a_broken_spec_lets_the_others_run_and_is_told_at_the_end(fresh: Bench) -> None:
    """The other one comes to its report; then the run fails, and says what is wrong and where."""
    fresh.write("specs/good.yaml", TINY)
    fresh.write("specs/bad.yaml", TINY.replace("voting", "votng"))
    run = fresh.snakemake()
    assert run.status != 0
    assert (fresh.folder / "results/good/report.html").is_file()
    assert "specs/bad.yaml:10:20: there is no protocol votng" in run.text, run.text
    assert not (fresh.folder / "results/bad").exists()


def test_no_job_makes_what_another_rule_is_to_make(fresh: Bench) -> None:
    """On one core the plan came first, and wrote what `declare` declares: Snakemake warned of it in every run."""
    fresh.write("specs/tiny.yaml", TINY)
    run = fresh.snakemake("results/tiny/plan.json", "results/tiny/declared.json", cores=1)
    assert run.status == 0, run.text
    assert run.finished == Counter({"declare": 1, "plan": 1})
    assert "not present when the DAG was created" not in run.text + run.log


def test_a_spec_edited_while_the_workflow_runs_stops_its_jobs(bench: Bench) -> None:
    """A job is told the digest that the workflow read; where the spec means something else by now it refuses."""
    run = bench.cortexdsl(
        "debate", "specs/small.yaml", "--dataset", "arithmetic", "--cell", "full", "--shard", "r1-s01",
        "--digest", "0" * 16, "--out", "results/small/debates/arithmetic/full/r1-s01.jsonl",
    )  # fmt: skip
    assert run.status == 2
    assert "specs/small.yaml has changed since the workflow started" in run.text
    assert "start snakemake again" in run.text


def test_a_compiled_workflow_runs_by_itself_and_gives_the_same_records(fresh: Bench, original: Bench) -> None:
    """Snakemake reads it as any workflow, without our profile; each cell is a target of the installed rules."""
    fresh.write("specs/small.yaml", SPEC)
    fresh.write("prompts/own/answer.j2", PROMPT)
    compiled = fresh.cortexdsl("compile", "specs/small.yaml")
    assert compiled.status == 0
    fresh.write("small.smk", compiled.text)
    command = [word if word != str(REPOSITORY / "Snakefile") else "small.smk" for word in fresh.command()]
    run = fresh.run([*command, "cell_matched", "cell_sparse_keep_top_1"])
    assert run.status == 0, run.text
    cells = {"cell_matched": 1, "cell_sparse_keep_top_1": 1}
    assert run.finished == Counter({"declare": 1, "debate": 2 * 3, "score": 2} | cells)
    records = original.records("small")
    assert fresh.records("small").items() <= records.items()
    for cell in ("matched", "sparse~keep=top-1"):
        scores = f"parts/arithmetic/{cell}/scores.csv"
        assert (fresh.results("small") / scores).read_bytes() == (original.results("small") / scores).read_bytes()
    whole = fresh.run([*command, "--dry-run"])
    assert whole.status == 0, whole.text
    rest = {"plan": 1, "verdict": 1, "report": 1, "all": 1}
    assert whole.planned == Counter({"debate": 10 - 6, "score": 5 - 2} | rest)


def test_the_protocol_of_the_readme_runs_as_it_is_written_there(fresh: Bench) -> None:
    """YAML and Jinja taken from the README; everyone hears whoever else is most confident, and nobody besides."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    section = text.partition("## A protocol of your own")[2]
    protocol, template = re.findall(r"```(?:yaml|jinja)\n(.*?)```", section, re.DOTALL)[:2]
    assert fresh.cortexdsl("new", "mine").status == 0
    fresh.write("specs/loudest.yaml", protocol)
    fresh.write("prompts/my/revise.j2", template)
    check = fresh.cortexdsl("check", "specs/loudest.yaml")
    assert (check.status, "it can run" in check.text, "warning" in check.text) == (0, True, False), check.text
    assert fresh.cortexdsl("explain", "specs/loudest.yaml", "loudest").status == 0
    run = fresh.snakemake("results/loudest/scores.csv")
    assert run.status == 0, run.text
    heard = 0
    for debate in fresh.debates("loudest"):
        if debate["cell"] != "loudest":
            continue
        turns = {turn["turn"]: turn for turn in debate["turns"]}
        for turn in turns.values():
            others = [t for t in turns.values() if t["round"] == turn["round"] - 1 and t["speaker"] != turn["speaker"]]
            loudest = max((other["confidence"] for other in others), default=None)
            expected = {other["turn"] for other in others if other["confidence"] == loudest}
            assert set(turn["heard"]) == expected
            heard += len(expected)
    assert heard > 0


def test_a_run_is_refused_beside_another_one_and_not_for_locks_that_one_left(fresh: Bench) -> None:
    """Snakemake's own locks are files that a killed run leaves; ours ends with the process that holds it."""
    fresh.write("specs/tiny.yaml", TINY)
    locks = fresh.folder / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("results/tiny/report.html\n")
    other = lock_experiment(fresh.folder / "results" / "tiny")
    assert other is not None
    run = fresh.snakemake("results/tiny/scores.csv")
    assert run.status != 0
    assert "another run is at work on this experiment" in run.text
    os.close(other)
    assert fresh.snakemake("results/tiny/scores.csv").status == 0


def test_without_home_path_or_a_language_it_runs_all_the_same(fresh: Bench) -> None:
    """Neither HOME nor a UTF-8 locale, and a PATH on which there is no cortexdsl; a name that is not ASCII."""
    fresh.write("specs/größe.yaml", TINY)
    fresh.environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    run = fresh.snakemake("results/größe/scores.csv")
    assert run.status == 0, run.text
    assert Path(fresh.results("größe"), "scores.csv").is_file()


def test_specs_that_nobody_named_are_refused_if_one_may_cost_money(fresh: Bench) -> None:
    """The message names the spec and the command; nothing runs. One that is named is not asked about."""
    fresh.write("specs/free.yaml", TWO_ALONE)
    fresh.write(
        "specs/paid.yaml",
        TWO_ALONE.replace("builtin/solver, skill: 0.8", "openai/gpt-4o-mini") + "limits: {calls: 9}\n",
    )
    run = fresh.snakemake()
    assert run.status == 2, run.text
    assert "error: no spec is named, and models of some specs in specs/ may cost money" in run.text
    assert "    paid: strong" in run.text
    assert "cortexdsl run paid" in run.text
    assert not fresh.results("free").exists()
    assert not fresh.results("paid").exists()
    run = fresh.snakemake("results/free/plan.json")
    assert run.status == 0, run.text
    assert "no spec is named" not in run.text


def test_the_last_lines_name_the_experiments_of_this_run_alone(bench: Bench) -> None:
    """The report of `small` is there, and nothing was done for it."""
    bench.write("specs/two.yaml", TWO_ALONE)
    run = bench.snakemake("results/two/plan.json")
    assert run.status == 0, run.text
    assert "report: results/small" not in run.text
    run = bench.snakemake("results/small/scores.csv")
    assert "Nothing to be done" in run.text
