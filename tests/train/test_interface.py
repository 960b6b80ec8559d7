"""The core finds the package that trains when a spec trains a model, and not before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cortexdsl.errors import InputError
from cortexdsl.plan import training
from tests.train.specs import SPEC, plan

COMPILE = """\
import sys
from cortexdsl.plan.compiler import compile_spec
plan = compile_spec("learning.yaml")
print(len(plan.trainings), any(name.partition(".")[0] == "cortexdsl_train" for name in sys.modules))
"""


def _compiled(folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", COMPILE], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_spec_without_a_training_does_not_import_the_package(tmp_path: Path) -> None:
    plan(tmp_path)
    assert _compiled(tmp_path) == "1 True"
    text = (tmp_path / "learning.yaml").read_text(encoding="utf-8")
    assert "train:" in text
    (tmp_path / "learning.yaml").write_text(text[: text.index("train:")], encoding="utf-8")
    assert _compiled(tmp_path) == "0 False"


def test_without_the_package_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "PACKAGE", "cortexdsl_nowhere")
    with pytest.raises(InputError, match="`train` needs the package cortexdsl_nowhere, which is not installed"):
        plan(tmp_path, SPEC)
