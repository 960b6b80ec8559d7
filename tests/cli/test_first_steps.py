"""What a new user meets first: a name for the experiment, and servers whose addresses are not set yet."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from snakemake.cli import parse_args

from cortexdsl.cli.main import main
from cortexdsl.display.launch import workflow_folder

SPEC = """\
title: Over HTTP
dataset: {name: arithmetic, size: 3}
models:
  one: {model: openai/one, api_base: env:ONE_URL, api_key_env: ONE_KEY}
agents: [{name: one, model: one}, {name: two, model: one}]
methods:
  vote: {protocol: voting}
"""


def test_check_names_the_variables_that_a_run_still_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither is set, then one, then both."""
    spec = tmp_path / "x.yaml"
    spec.write_text(SPEC)
    monkeypatch.delenv("ONE_URL", raising=False)
    monkeypatch.delenv("ONE_KEY", raising=False)
    assert main(["check", str(spec)]) == 0
    assert capsys.readouterr().out.endswith("it can run once the environment has ONE_KEY, ONE_URL\n")
    monkeypatch.setenv("ONE_URL", "http://127.0.0.1:9/v1")
    assert main(["check", str(spec)]) == 0
    assert capsys.readouterr().out.endswith("it can run once the environment has ONE_KEY\n")
    monkeypatch.setenv("ONE_KEY", "none")
    assert main(["check", str(spec)]) == 0
    assert capsys.readouterr().out.endswith("it can run\n")


EVERYTHING = """\
title: Who else is asked
dataset: {name: arithmetic, size: 3}
models:
  one: {model: builtin/solver, skill: 0.5}
  near: {model: openai/embed, api_base: env:NEAR_URL, api_key_env: NEAR_KEY}
knowledge:
  web: {api_base: env:WEB_URL, api_key_env: WEB_KEY}
  library: {api_base: env:LIBRARY_URL, api_key_env: LIBRARY_KEY}
  unused: {api_base: env:NOBODYS_URL, api_key_env: NOBODYS_KEY}
tools: {lookup: {tool: search(library)}}
agents: [{name: one, model: one}, {name: two, model: one}]
protocols:
  looked-up:
    roles: {debater: everyone, shelf: {tool: lookup}}
    steps:
      answer: {role: debater, hears: nobody, prompt: common/answer.j2}
      look: {role: shelf, hears: nobody, prompt: "query.j2", reads: comment}
    schedule: [look, answer]
    decide: majority
methods:
  sparse: {protocol: cortexdebate, rounds: 1, weight: similarity, similarity: near}
  read: {protocol: rag, pool: [web]}
  tool: {protocol: looked-up}
limits: {calls: 100}
"""


def test_check_names_the_variables_of_searches_and_similarities_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a method looks up or compares with is asked over a network like a model; what no method names is not."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/query.j2").write_text("{{ question.text }}")
    (tmp_path / "specs/x.yaml").write_text(EVERYTHING)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "specs/x.yaml"]) == 0
    needed = "LIBRARY_KEY, LIBRARY_URL, NEAR_KEY, NEAR_URL, WEB_KEY, WEB_URL"
    assert capsys.readouterr().out.endswith(f"it can run once the environment has {needed}\n")


def test_a_spec_that_is_not_there_is_told_with_the_nearest_and_not_with_every_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those directly in specs/ run by default and are named; of a folder below, how many there are."""
    for name in ("quickstart", "_part", "examples/groups", "examples/rings", "papers/madke"):
        path = tmp_path / "specs" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    there = "specs: quickstart, 2 in specs/examples/, 1 in specs/papers/\n"
    assert main(["plan", "quickstrat"]) == 2
    assert capsys.readouterr().err.endswith(f"there is no spec 'quickstrat'\n    did you mean quickstart? {there}")
    assert main(["plan", "specs/group.yaml"]) == 2
    assert capsys.readouterr().err.endswith(f"\n    did you mean examples/groups? {there}")
    assert main(["plan", "nothing-like-it"]) == 2
    assert capsys.readouterr().err.endswith(f"'nothing-like-it'\n    {there}")


def test_new_writes_no_spec_that_could_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A space cannot stand in the name of a results folder."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "a b"]) == 2
    assert "cannot name an experiment" in capsys.readouterr().err
    assert not (tmp_path / "specs").exists()


def test_in_a_checkout_new_advises_what_a_checkout_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the Snakefile that is run, plain Snakemake does it, and the schema is the one in docs/."""
    (tmp_path / "Snakefile").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cortexdsl.cli.specs.workflow_folder", lambda: tmp_path)
    assert main(["new", "groups/mine"]) == 0
    assert capsys.readouterr().out.endswith("then snakemake --cores 2 --config spec=groups/mine\n")
    assert "$schema=../../docs/schema/spec.json\n" in (tmp_path / "specs/groups/mine.yaml").read_text()
    assert not (tmp_path / "specs/spec.schema.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nothing"], "there is no spec 'nothing'"),
        (["run", "x.yaml", "--cores", "few"], "--cores few: this is not a number of jobs"),
        (["run", "x.yaml", "--profile", "slurn"], "--profile slurn: there is no folder slurn with a config.yaml"),
        (["status", "nothing"], "results/nothing: no run has started there"),
    ],
)
def test_what_cannot_be_run_or_watched_is_one_clear_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    """Before Snakemake is started."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(SPEC)
    assert main(arguments) in (1, 2)
    error = capsys.readouterr().err
    assert error.startswith(f"error: {said}")
    assert "\n    " in error


@pytest.mark.parametrize(
    ("given", "config"),
    [
        ([], ['spec="x.yaml"']),
        (["--errors-again"], ['spec="x.yaml"', "errors_again=true"]),
        (["--", "-n", "results/x/scores.csv"], ['spec="x.yaml"']),
        (["--errors-again", "--", "--config", "worker=false"], ['spec="x.yaml"', "errors_again=true", "worker=false"]),
        (["--", "-C", "worker=false", "-n"], ['spec="x.yaml"', "worker=false"]),
        (["--", "--config=worker=false"], ['spec="x.yaml"', "worker=false"]),
    ],
)
def test_run_hands_its_settings_to_the_workflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], config: list[str]
) -> None:
    """As Snakemake's own parser reads the command: a second `--config` would replace the first, and run every spec."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(SPEC)
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda program, command: started.append(command))
    monkeypatch.setattr("cortexdsl.cli.experiments.store_command", lambda arguments: None)
    main(["run", "x.yaml", *given])
    (command,) = started
    assert command[1:4] == ["-P", "-m", "cortexdsl.display.launch"]
    _, read = parse_args(command[4:])
    assert read.config == config
    assert set(read.targets or ()) == {word for word in given if word.endswith(".csv")}


def test_run_takes_the_options_of_the_default_profile_without_announcing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Snakemake prints a line for each profile that it reads; a default profile of one's own is read as ever."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(SPEC)
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda program, command: started.append(command))
    monkeypatch.setattr("cortexdsl.cli.experiments.store_command", lambda arguments: None)
    main(["run", "x.yaml"])
    _, said = parse_args(started[0][4:])
    assert capsys.readouterr().err == ""
    profile = workflow_folder() / "profiles" / "default"
    _, profiled = parse_args(["--snakefile", str(workflow_folder() / "Snakefile")])
    assert "Using workflow specific profile" in capsys.readouterr().err
    options = [name.replace("-", "_") for name in yaml.safe_load((profile / "config.yaml").read_text())]
    assert [getattr(said, name) for name in options] == [getattr(profiled, name) for name in options]
    (tmp_path / "profiles" / "default").mkdir(parents=True)
    (tmp_path / "profiles" / "default" / "config.yaml").write_text("scheduler: ilp\n")
    main(["run", "x.yaml", "--yes"])
    assert parse_args(started[1][4:])[1].scheduler == "ilp"
