"""A folder of a stranger, with every file that a tool could take for its own settings: none of them runs anything."""

from __future__ import annotations

import pytest

from tests.workflow.bench import Bench

pytestmark = pytest.mark.workflow
PWNED = "touch pwned"
SPEC = """
dataset: {name: arithmetic, size: 2}
models: {m: {model: builtin/solver}}
agents: [{name: one, model: m}, {name: two, model: m}]
methods: {vote: {protocol: voting}}
"""
PYTHON = "import pathlib; pathlib.Path('pwned').touch()\n"
FILES = {
    "config.yaml": "spec: ../outside\nonstart: touch pwned\n",
    "config/config.yaml": "spec: ../outside\n",
    "workflow/Snakefile": f"shell('{PWNED}')\n",
    "workflow/profiles/default/config.yaml": f"cores: 1\nshell-executable: '{PWNED};'\n",
    "environment.yml": "dependencies: [python]\n",
    "environment.post-deploy.sh": f"{PWNED}\n",
    "workflows/debate.smk": f"shell('{PWNED}')\n",
    "notebooks/report.py.ipynb": '{"cells": []}',
    "sitecustomize.py": PYTHON,
    "usercustomize.py": PYTHON,
    "conftest.py": PYTHON,
    ".env": "OPENAI_BASE_URL=http://127.0.0.1:1/v1\n",
    ".git/config": f"[core]\n\tfsmonitor = {PWNED}\n\thooksPath = .git/hooks\n\tpager = {PWNED}\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/hooks/post-checkout": f"#!/bin/sh\n{PWNED}\n",
    ".git/hooks/pre-commit": f"#!/bin/sh\n{PWNED}\n",
    ".jupyter/jupyter_config.py": PYTHON,
    "pyproject.toml": "[tool.cortexdsl]\nspec = '../outside'\n",
}


def test_no_settings_of_the_folder_run_anything(fresh: Bench) -> None:
    """The run ends in its report, and nothing was touched; the Snakefile of the package was used."""
    for name, text in FILES.items():
        fresh.write(name, text)
    for path in (fresh.folder / ".git" / "hooks").iterdir():
        path.chmod(0o755)
    fresh.write("specs/own.yaml", SPEC)
    for verb in (
        "check own",
        "plan own",
        "explain specs/own.yaml vote",
        "run own --cores 1",
        "report own --text",
        "verify own",
    ):
        run = fresh.cortexdsl(*verb.split())
        assert run.status == 0, (verb, run.text)
    assert (fresh.results("own") / "report.html").is_file()
    assert not list(fresh.folder.rglob("pwned"))
    assert not (fresh.folder.parent / "outside").exists()
