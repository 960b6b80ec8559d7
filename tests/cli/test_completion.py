"""The script that `cortexdsl completion` prints, in the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.cli.specs import SHELLS
from cortexdsl.cli.verbs import VERBS

ASK_BASH = """\
source "$0/_cortexdsl"
COMP_WORDS=(cortexdsl "$@")
COMP_CWORD=$#
completed=$(complete -p cortexdsl | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$completed
printf '%s\\n' "${COMPREPLY[@]}"
"""

# A shell on a terminal of its own, in which the keys are pressed; it prints what the Tab key left on its line.
ASK_ZSH = """\
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= RPS1=; unsetopt zle_bracketed_paste; zstyle ':completion:*' insert-tab false"
zpty -w shell "fpath=($0 \\$fpath); autoload -Uz compinit; compinit -u -D; bindkey -e; bindkey '^I' complete-word"
zpty -w shell "line() { print -r -- '<'\\$BUFFER'>'; BUFFER= }; zle -N line; bindkey '^X' line; print rea''dy"
zpty -r -m shell said '*ready*'
zpty -w -n shell "cortexdsl $*"$'\\t\\x18'
zpty -r -m shell said '*<*>*'
print -r -- ${${said##*<}%%>*}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two specs, a part of specs, and one experiment that has begun."""
    for name in ("specs/mine.yaml", "specs/examples/groups.yaml", "specs/_part.yaml", "results/begun/plan.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each shell, with its script."""
    root = tmp_path_factory.mktemp("scripts")
    for shell in SHELLS:
        (root / shell).mkdir()
        with (root / shell / "_cortexdsl").open("w") as file, redirect_stdout(file):
            assert main(["completion", shell]) == 0
    return root


def completed(scripts: Path, shell: str, *words: str) -> set[str]:
    """Return what a shell offers, in the folder where the test stands, for the last of some words."""
    flags, ask = (["--norc", "-c"], ASK_BASH) if shell == "bash" else (["-f", "-c"], ASK_ZSH)
    command = [shell, *flags, ask, str(scripts / shell), *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
    assert not done.stderr
    return set(done.stdout.split("\n")) - {""}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ([""], set(VERBS)),
        (["st"], {"status"}),
        (["run", "specs/m"], {"specs/mine.yaml"}),
        (["check", "specs/mine.yaml", "specs/e"], {"specs/examples"}),
        (["status", "results/b"], {"results/begun"}),
        (["run", "mine", "--e"], {"--errors-again"}),
        (["report", "res"], {"results"}),
        (["schema", "p"], {"protocol"}),
        (["data", "sam"], {"sample"}),
    ],
)
def test_bash_completes_verbs_options_specs_and_results(
    here: Path, scripts: Path, words: list[str], offered: set[str]
) -> None:
    """Verbs are those of the help; specs and results are files and folders."""
    assert completed(scripts, "bash", *words) == offered


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not on this machine")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("stat", "status "),
        ("run specs/mi", "run specs/mine.yaml "),
        ("run mine --e", "run mine --errors-again "),
    ],
)
def test_zsh_completes_the_same(here: Path, scripts: Path, words: str, line: str) -> None:
    """What has one completion is completed on the line."""
    assert completed(scripts, "zsh", words) == {f"cortexdsl {line}"}


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not on this machine")
@pytest.mark.parametrize(
    ("line", "offered"),
    [("st", {"status"}), ("run specs/m", {"specs/mine.yaml"}), ("run mine --e", {"--errors-again"})],
)
def test_fish_completes_the_same(here: Path, scripts: Path, line: str, offered: set[str]) -> None:
    ask = f"function cortexdsl; end; source {scripts}/fish/_cortexdsl; complete -C 'cortexdsl {line}'"
    done = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True, timeout=60, check=True)
    assert {each.partition("\t")[0] for each in done.stdout.splitlines()} == offered
