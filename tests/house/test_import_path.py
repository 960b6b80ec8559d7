"""No process of ours imports a module that lies in the folder that it runs in."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortexdsl.cli.experiments import add_run_arguments, run_run
from cortexdsl.cli.verbs import VERBS
from cortexdsl.import_path import SAFE_PATH, protect_children, python_command
from cortexdsl.jobs.options import VerbParser
from cortexdsl.tasks.grading.math import COMMAND
from cortexdsl.worker.run import MODULE

HOSTILE = ("yaml", "jinja2", "numpy", "pulp", "cortexdsl", "sitecustomize", "json", "snakemake", "aiohttp", "rich")
BESIDE = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose modules leave a mark and end the process that imports them."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in HOSTILE:
        (folder / f"{name}.py").write_text("open('HOSTILE', 'a').write(__name__)\nraise SystemExit('imported')\n")
    (folder / "specs").mkdir()
    (folder / "specs" / "x.yaml").write_text(
        "dataset: {name: arithmetic, size: 2}\nmodels: {one: {model: builtin/solver}}\n"
        "agents: [{name: ann, model: one}, {name: bob, model: one}]\nmethods: {alone: {protocol: standard}}\n"
    )
    return folder


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in (SAFE_PATH, "PYTHONPATH")}


def ended(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder, and fail if it imported one of its modules."""
    done = subprocess.run(
        command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert not (folder / "HOSTILE").exists(), f"{command}: imported {(folder / 'HOSTILE').read_text()}"
    return done


def test_the_folder_is_hostile(hostile: Path, tmp_path: Path) -> None:
    """The test can fail: Python as everybody starts it imports these modules."""
    for path in hostile.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    with pytest.raises(AssertionError, match="imported"):
        ended(tmp_path, [sys.executable, "-m", "cortexdsl", "--version"])


@pytest.mark.parametrize("module", [MODULE, "cortexdsl.display.launch", COMMAND[-1]])
def test_what_we_start_by_its_module(hostile: Path, module: str) -> None:
    """The worker with its forks, Snakemake, and the checker of mathematics."""
    assert python_command(module)[1] == "-P"
    arguments = ["--version"] if module.endswith("launch") else []
    ended(hostile, python_command(module, *arguments))


def test_the_console_script(hostile: Path) -> None:
    assert ended(hostile, [str(BESIDE / "cortexdsl"), "check", "x"]).returncode == 0


def test_each_verb(hostile: Path, tmp_path: Path) -> None:
    """All verbs are imported by one script, which has its own folder on the path, as console scripts do."""
    script = tmp_path / "every-verb"
    script.write_text("from cortexdsl.cli.verbs import VERBS, parser_of\nparser_of(VERBS)\nprint(len(VERBS))\n")
    done = ended(hostile, [sys.executable, str(script)])
    assert done.stdout == f"{len(VERBS)}\n", done.stderr


@pytest.mark.workflow
def test_plain_snakemake_its_worker_and_its_jobs(hostile: Path) -> None:
    """Plain `snakemake` is a console script; the worker, its forks and the jobs are started by the workflow."""
    command = [str(BESIDE / "snakemake"), "--snakefile", str(ROOT / "Snakefile"), "--cores", "1", "--config", "spec=x"]
    done = ended(hostile, [*command, "--", "results/x/debates/arithmetic/alone/r1-s01.jsonl", "results/x/plan.json"])
    assert done.returncode == 0, done.stderr


def test_what_snakemake_starts_itself_inherits_the_variable() -> None:
    """Snakemake starts jobs of a cluster by `python -m snakemake`; sbatch hands the environment on."""
    for name in ("common", "zoo"):
        text = (ROOT / "workflows" / f"{name}.smk").read_text(encoding="utf-8")
        assert 0 < text.index("\nprotect_children()\n") < text.index("shell.prefix(")


@pytest.mark.parametrize("checkout", [None, ROOT])
def test_an_environment_of_conda_gets_no_package_of_the_folder(tmp_path: Path, checkout: Path | None) -> None:
    """pip runs the code of a package that it installs from a folder; Snakemake runs the script in that of the run."""
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@" >> installed\n')
    program.chmod(0o755)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "cortexdsl"\n')
    named = {"CORTEXDSL_CHECKOUT": str(checkout)} if checkout else {}
    path = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    subprocess.run(["bash", ROOT / "environment.post-deploy.sh"], cwd=tmp_path, env=path | named, check=True)
    [installed] = (tmp_path / "installed").read_text().splitlines()
    assert installed.endswith(f"--editable {checkout}" if checkout else "--quiet cortexdsl")


def test_environments_of_conda_install_the_package_that_runs() -> None:
    environment: dict[str, str] = {}
    protect_children(environment)
    assert environment["CORTEXDSL_CHECKOUT"] == str(ROOT)


def python_starts(path: Path) -> Iterator[str]:
    """Yield the places in a file that name the program of this Python."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable":
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_every_python_is_started_by_one_function() -> None:
    """One for modules of the project, next to one for the code inside sandboxes, which has no import path at all."""
    packages = ("cortexdsl", "cortexdsl_tiny", "cortexdsl_train", "snakemake_logger_plugin_cortexdsl")
    files = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    starts = [place.partition(":")[0] for path in files for place in python_starts(path)]
    assert starts == ["cortexdsl/import_path.py"] * 2


def test_run_becomes_snakemake_with_a_safe_path(monkeypatch: pytest.MonkeyPatch, hostile: Path) -> None:
    started: list[list[str]] = []
    monkeypatch.chdir(hostile)
    monkeypatch.setattr(os, "execv", lambda program, command: started.append([program, *command[1:]]))
    parser = VerbParser()
    add_run_arguments(parser)
    arguments = parser.parse_args(["x"])
    arguments.handed_on = []
    run_run(arguments)
    assert started[0][:4] == [sys.executable, "-P", "-m", "cortexdsl.display.launch"]
