"""Rounds as files, run by Snakemake: a static graph, a run that fails in its second round, and the same command."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from cortexdsl.plan.forecast.rounds import MORE
from tests.jobs import stub_engine
from tests.workflow.bench import Bench

SPEC = f"""{stub_engine.TWO_METHODS.replace("size: 4", "size: 2")}
labels: {{move: {{prompt: move.j2, values: [yes, no]}}}}
analysis: {{judge: small, metrics: [critical_path]}}
"""


def test_a_failed_round_is_repeated_and_nothing_is_asked_twice(fresh: Bench) -> None:
    command = f"{sys.executable} {stub_engine.__file__} orders -i {{requests}} -o {{replies}}"
    fresh.write("specs/small.yaml", f"{SPEC}engines:\n  stub: {{command: {json.dumps(command)}}}\n")
    fresh.write("specs/prompts/move.j2", "{{ turn.text }}\nLabel: <yes or no>\n")
    fresh.write("orders", "ok\nsilent\n")
    refused = fresh.snakemake("results/small/scores.csv")
    assert refused.status == 2
    assert "this needs your permission" in refused.text
    assert fresh.cortexdsl("trust", "small").status == 0
    dry = fresh.snakemake("--dry-run")
    reads = [line for line in dry.text.splitlines() if "input:" in line and "/debates/arithmetic/full/" in line]
    assert any("judgements/arithmetic/calls/full~labels.jsonl" in line for line in reads)
    assert any(
        "parts/arithmetic/full/labels.csv" in line and "calls/arithmetic/r1-s01/vote.jsonl" in line for line in reads
    )
    planned = dry.planned
    assert {rule: planned[rule] for rule in ("advance_small", "answer_small_stub", "finish_small")} == {
        "advance_small": 3 + MORE, "answer_small_stub": 3 + MORE, "finish_small": 1,
    }  # fmt: skip
    failed = fresh.snakemake("results/small/scores.csv")
    assert failed.status == 1
    assert "RuntimeError: CUDA out of memory" in failed.text + failed.log
    assert not (fresh.folder / "results/small/rounds/2/stub-1.replies.jsonl").exists()
    done = fresh.snakemake("results/small/scores.csv")
    assert done.status == 0, done.text
    assert done.finished["advance_small"] == 1 + MORE
    first, second, third, last = (fresh.folder / "orders.asked").read_text(encoding="utf-8").splitlines()
    assert second == third  # the engine had written nothing
    assert max(Counter(f"{first} {third} {last}".split()).values()) == 1
    assert not list(Path(fresh.folder, "results/small/calls").rglob("*~open.jsonl"))
    assert fresh.cortexdsl("verify", "small").status == 0
    assert fresh.cortexdsl("replay", "specs/small.yaml").status == 0


APPTAINER = """\
#!/usr/bin/env bash
# pull --name FILE URL; or: exec --home FOLDER IMAGE bash -c COMMAND, in which PATH is that of the image
case "$*" in
    --version) echo "apptainer version 1.3.4" ;;
    *pull*) echo "$4" >> {root}/pulled.txt; touch "$3" ;;
    *exec*)
        echo in >> {root}/inside.txt
        export PATH={beside}:/usr/bin:/bin
        exec bash -c "${{@: -1}}" ;;
    *) echo "apptainer is asked for $*" >&2; exit 1 ;;
esac
"""


def test_the_jobs_of_an_engine_run_in_its_container(fresh: Bench, tmp_path: Path) -> None:
    """A stand-in runs them here. Other jobs run outside; without apptainer one sentence says that it is needed."""
    command = f"{sys.executable} {stub_engine.__file__} orders -i {{requests}} -o {{replies}}"
    engine = {"command": command, "container": "docker://registry/one"}
    fresh.write("specs/small.yaml", f"{stub_engine.TWO_METHODS}engines:\n  stub: {json.dumps(engine)}\n")
    fresh.write("orders", "")
    assert "in the image docker://registry/one" in fresh.cortexdsl("check", "specs/small.yaml").text
    assert fresh.cortexdsl("trust", "small").status == 0
    deployed, out = ("--software-deployment-method", "apptainer"), "results/small/scores.csv"
    refused = fresh.snakemake(*deployed, "--", out)
    assert refused.status == 1
    assert "The apptainer or singularity command has to be available" in refused.text
    assert not (fresh.folder / "orders.asked").exists()
    apptainer = tmp_path / "bin" / "apptainer"
    apptainer.parent.mkdir()
    apptainer.write_text(APPTAINER.format(root=tmp_path, beside=Path(sys.executable).parent), encoding="utf-8")
    apptainer.chmod(0o755)
    fresh.environment["PATH"] = f"{apptainer.parent}:{fresh.environment['PATH']}"
    run = fresh.snakemake(*deployed, "--", out)
    assert run.status == 0, run.text
    assert (tmp_path / "pulled.txt").read_text() == "docker://registry/one\n"
    assert len((tmp_path / "inside.txt").read_text().split()) == run.finished["answer_small_stub"] == 2 + MORE
