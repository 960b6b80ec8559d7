"""`cortexdsl train` as the workflow calls it: what it reads, what it leaves, what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.errors import InputError
from cortexdsl.models.tiny.folder import Folder
from cortexdsl.models.tiny.shelf import find
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.train.fit.serving import serve_commands
from tests.models.tiny.made import made
from tests.train.fit.kit import pair, written

NEEDS = 'training needs the extra: pip install ".[train]"'
SPEC = """\
title: Trained
seed: 3
dataset: {name: arithmetic, size: 4}
models:
  base: {model: BASE, parameters: 1.0e5, tokens: 1.0e6}
agents:
  - {name: actor, model: base}
  - {name: critic, model: base}
methods:
  untrained: {protocol: acc, rounds: 2}
train:
  acc:
    method: untrained
    questions: {size: 6, validation: 2}
    LEARNS
    optimiser: {rank: 2, rate: 5.0e-3, batch: 2, epochs: 2.0}
limits: {calls: 1000}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec, a model, and the pairs of both roles' first phases."""
    made(tmp_path / "base")
    monkeypatch.chdir(tmp_path)
    _spec()
    for phase in ("1-critic", "1-actor", "2-critic"):
        rows = [pair(k + len(phase)) for k in range(8)] + [pair(100, "validation")]
        written(Path(f"results/x/train/acc/{phase}/pairs.jsonl"), rows)
    return tmp_path


def _spec(base: str = "tiny/./base", learns: str = "repeats: 2") -> None:
    Path("specs").mkdir(exist_ok=True)
    Path("specs/x.yaml").write_text(SPEC.replace("BASE", base).replace("LEARNS", learns))


def _train(phase: str, *more: str) -> int:
    return main(["train", "x", "--training", "acc", "--phase", phase, *more])


def _plan() -> Plan:
    return compile_spec("x")


@pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT's and TRL's words to transformers
def test_phases_go_on_from_one_another(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("trl", reason=NEEDS)
    training = _plan().training("acc")
    assert [phase.label for phase in training.phases] == ["1-critic", "1-actor", "2-critic", "2-actor"]
    assert _train("1-critic") == 0
    assert _train("2-critic", "--digest", training.phase("2-critic").trained_digest) == 0
    first, second = (Folder(Path(training.phase(label).folder)) for label in ("1-critic", "2-critic"))
    assert first.card["base"] == Folder(Path("base")).digest
    assert second.card["base"] == first.digest
    assert second.card["training"] == training.phase("2-critic").trained_digest
    assert find(training.phase("2-critic").trained.model).digest == second.digest  # as a spec's models name it
    capsys.readouterr()
    assert main(["status", "x"]) != 0  # nothing has been debated
    Path("results/x/plan.json").parent.mkdir(exist_ok=True)
    assert main(["plan", "x", "--out", "results/x/plan.json"]) == 0
    capsys.readouterr()
    main(["status", "x"])
    assert "acc 2-critic: done, step 8 of 8, loss" in capsys.readouterr().out


def test_what_cannot_be_trained_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _train("1-critic", "--digest", "0123") == 2
    assert "has changed since the workflow started" in capsys.readouterr().err
    assert _train("3-critic") == 2
    assert "phases: 1-critic, 1-actor, 2-critic, 2-actor" in capsys.readouterr().err
    Path("results/x/train/acc/1-critic/pairs.jsonl").unlink()
    assert _train("1-critic") == 1
    assert "the examples cannot be read" in capsys.readouterr().err
    _spec("builtin/solver", "roles: [critic]")
    assert _train("1-critic") == 2
    assert "has no weights that could change" in capsys.readouterr().err


def test_without_the_extra_the_remedy_is_said(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "cortexdsl.train.fit.fitting", raising=False)
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert _train("1-critic") == 2
    assert 'training needs datasets\n    install the extra: pip install ".[train]"' in capsys.readouterr().err


def test_adapters_are_served_beside_their_base(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two adapters on one base are one server; a name is what calls ask for; vLLM's ranks are steps."""
    _spec("openai/Llama", "weights: ../base")
    training = _plan().training("acc")
    names = [phase.trained.model.removeprefix("openai/") for phase in training.phases[:2]]
    assert main(["train", "x", "--training", "acc", "--serve"]) == 0
    place, base = "results/x/train/acc", training.begins_in(training.phases[0])
    assert base.resolve() == Path("base").resolve()
    assert capsys.readouterr().out == (
        f"vllm serve {base} --enable-lora --max-lora-rank 8 --lora-modules "
        f"{names[0]}={place}/1-critic/adapter {names[1]}={place}/1-actor/adapter\n"
    )
    with pytest.raises(InputError, match="rank 512 at most, not 513"):
        serve_commands([("a", Path("b"), Path("c"))], 513)


@pytest.mark.timeout(900)
def test_a_training_that_is_killed_goes_on_to_the_same_weights(here: Path) -> None:
    """Killed by the system wherever it is by then, some steps in."""
    pytest.importorskip("trl", reason=NEEDS)
    command = [sys.executable, "-m", "cortexdsl", "train", "x", "--training", "acc", "--phase", "1-critic"]
    folder = Path("results/x/train/acc/1-critic")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as job:
        while not list(folder.glob("checkpoints/checkpoint-*/complete")):
            assert job.poll() is None
            time.sleep(0.05)
        os.kill(job.pid, signal.SIGKILL)
    assert json.loads((folder / "progress.json").read_text())["state"] != "done"
    assert not (folder / "model").exists()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "goes on from" in done.stderr
    written(Path("results/x/train/acc/1-actor/pairs.jsonl"), (json.loads(line) for line in _lines(folder)))
    assert _train("1-actor") == 0  # the same pairs and settings, in one go
    weights = [(Path(f"results/x/train/acc/{phase}/model/model.safetensors")) for phase in ("1-critic", "1-actor")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


CUT = """\
import os, signal, sys
from pathlib import Path
from cortexdsl.cli.main import main

whole = Path.rename

def cut(part, target):
    if part.name == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(part, target)

Path.rename = cut
main(sys.argv[2:])
"""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", ["adapter.part", "model.part"])
def test_a_training_that_is_killed_while_it_writes_weights_goes_on_to_the_same(here: Path, part: str) -> None:
    """All steps are learned by then, and what they came to is written, but not in its place."""
    pytest.importorskip("trl", reason=NEEDS)
    arguments = ["train", "x", "--training", "acc", "--phase", "1-critic"]
    folder = Path("results/x/train/acc/1-critic")
    job = subprocess.run([sys.executable, "-c", CUT, part, *arguments], stderr=subprocess.DEVNULL, check=False)
    assert job.returncode == -signal.SIGKILL
    assert (folder / part).is_dir()
    assert not (folder / "model").exists()
    assert _train("1-critic") == 0
    assert not list(folder.glob("*.part"))
    written(Path("results/x/train/acc/1-actor/pairs.jsonl"), (json.loads(line) for line in _lines(folder)))
    assert _train("1-actor") == 0
    for name in ("model/model.safetensors", "adapter/adapter_model.safetensors", "curve.csv"):
        assert (folder / name).read_bytes() == Path("results/x/train/acc/1-actor", name).read_bytes()


def _lines(folder: Path) -> list[str]:
    return (folder / "pairs.jsonl").read_text().splitlines()
