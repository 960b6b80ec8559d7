"""Environments of conda, as far as they can be tried without one: a stand-in answers what Snakemake asks of it.

What it shows: the environment is made of environment.yml, the package is put into it, and the jobs find the command
there and not beside the Python that runs Snakemake. What it does not: that the packages resolve.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.workflow.bench import SPEC, Bench

pytestmark = pytest.mark.workflow
CONDA = """\
#!/usr/bin/env bash
case "$*" in
    --version) echo "conda 24.11.0" ;;
    "info --json") echo '{{"conda_prefix": "{root}", "platform": "linux-64"}}' ;;
    clean*) ;;
    config*) echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
    "env create"*)
        prefix=${{@: -1}}; prefix=${{prefix#--prefix=}}
        echo "$*" >> {root}/created.txt
        mkdir -p "$prefix/bin" && cp {root}/python "$prefix/bin/python" ;;
    *) echo "conda is asked for $*" >&2; exit 1 ;;
esac
"""
PYTHON = """\
#!/usr/bin/env bash
# The environment's Python: pip puts the command beside it, which notes that it was called.
if [[ "$*" == "-m pip install"*"--editable "?* ]]; then
    cp {root}/cortexdsl "${{0%/*}}/cortexdsl"
    exit
fi
exec {python} "$@"
"""
COMMAND = """\
#!/usr/bin/env bash
echo "$1" >> {root}/called.txt
exec {python} -m cortexdsl "$@"
"""


def test_jobs_find_the_command_in_the_environment_that_was_made_for_them(fresh: Bench, tmp_path: Path) -> None:
    """A worker would run them outside of it, so that there is none."""
    root = tmp_path / "conda"
    (root / "bin").mkdir(parents=True)
    for path, text in (("bin/conda", CONDA), ("python", PYTHON), ("cortexdsl", COMMAND)):
        (root / path).write_text(text.format(root=root, python=sys.executable))
        (root / path).chmod(0o755)
    (root / "bin" / "activate").write_text('export PATH="$1/bin:$PATH"\n')
    fresh.environment["PATH"] = f"{root / 'bin'}:{fresh.environment['PATH']}"
    fresh.write(
        "specs/small.yaml", SPEC.replace("size: 6", "size: 1").replace(", prompts: {answer: own/answer.j2}", "")
    )
    out = "results/small/debates/arithmetic/near/r1-s01.jsonl"
    run = fresh.snakemake("--software-deployment-method", "conda", "--", out)
    assert run.status == 0, run.text
    assert (root / "created.txt").read_text().count("env create") == 1
    assert (root / "called.txt").read_text().split() == ["plan", "debate"]
    assert (fresh.folder / out).exists()
    assert not (fresh.results("small") / "logs" / "worker.log").exists()
