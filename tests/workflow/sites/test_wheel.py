"""From an installed wheel, in an empty folder, far from any checkout: new, check, run, status, report."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workflow.bench import REPOSITORY

pytestmark = pytest.mark.workflow

Said = Callable[..., str]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment that has the wheel, and what it depends on from this one."""
    root = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "-q"]
    offline = ["--no-deps", "--no-index"]
    _run([*pip, "wheel", *offline, "--no-build-isolation", "-w", str(root), str(REPOSITORY)], root)
    (wheel,) = root.glob("cortexdsl-*.whl")
    environment = root / "venv"
    _run([sys.executable, "-m", "venv", "--without-pip", str(environment)], root)
    python = environment / "bin" / "python"
    _run([*pip, "--python", str(python), "install", *offline, str(wheel)], root)
    # What a path file names is searched, but the path files in there are not read: no editable install gets in.
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    found = _run([str(python), "-c", "import cortexdsl; print(cortexdsl.__file__)"], root)
    assert Path(found.strip()).is_relative_to(environment)
    return environment / "bin"


def _run(command: list[str], folder: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**clean, "PATH": os.defpath},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=240,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_an_empty_folder_becomes_a_report(installed: Path, tmp_path: Path) -> None:
    """What `new` advises is what works; nothing but the wheel brings the workflow, the prompts and the schema."""
    command = str(installed / "cortexdsl")
    advice = _run([command, "new", "mine"], tmp_path)
    assert advice == "wrote specs/mine.yaml\n    next: cortexdsl check specs/mine.yaml, then cortexdsl run mine\n"
    first, *_ = (tmp_path / "specs" / "mine.yaml").read_text().splitlines()
    schema = first.partition("$schema=")[2]
    assert '"title"' in (tmp_path / "specs" / schema).read_text()
    assert _run([command, "check", "specs/mine.yaml"], tmp_path).endswith("it can run\n")
    said = _run([command, "run", "mine", "--cores", "2"], tmp_path)
    assert "report: results/mine/report.html" in said
    assert len(said.splitlines()) <= 10, said  # stages, a line for each cell, what it cost, where the report is
    assert (tmp_path / "results" / "mine" / "report.html").is_file()
    status = _run([command, "status", "mine"], tmp_path)
    assert "40/40" in status
    assert "debate" in _run([command, "report", "results/mine", "--text"], tmp_path)
    again = _run([command, "run", "mine", "--", "--dry-run"], tmp_path)
    assert "Nothing to be done" in again
