"""`cortexdsl train` as the workflow calls it: what it reads, what it leaves, what it refuses."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from cortexdsl.cli.main import main
from cortexdsl.errors import InputError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl_tiny.folder import Folder, find
from cortexdsl_train.models import serve_commands
from cortexdsl_train.phases import base_folder
from tests.tiny.made import made
from tests.train.fit.kit import pair, written

NEEDS = 'training needs the extra: pip install ".[train]"'
PHASE = "results/x/train/acc/1-critic"
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
    questions: {size: 6}
    validation: 2
    LEARNS
    optimiser: {rank: 2, rate: 5.0e-3, batch: 2, epochs: 2.0}
limits: {calls: 1000}
"""


TRAINER = """\
import json, os, signal, sys
from pathlib import Path
import cortexdsl_train.fit.fitting  # takes seconds: once for all trainings of this module
from cortexdsl.cli.main import main

whole = Path.rename

def cut(part, target):
    if part.name == killed_at:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(part, target)

for line in sys.stdin:
    folder, killed_at, *arguments = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.dup2(os.open("errors.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        Path.rename = cut
        os._exit(main(arguments))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
PAIRS = [*(pair(k + 8) for k in range(8)), pair(100, "validation")]


class Trainer:
    """A process that has imported what trains, and forks for each training, which may be killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", TRAINER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip

    def start(self, folder: Path, phase: str = "1-critic", *more: str, killed_at: str = "") -> int:
        """Start the training of a phase, to be killed before it renames a file; return its process id."""
        assert self._process.stdin is not None
        job = [str(folder), killed_at, "train", "x", "--training", "acc", "--phase", phase, *more]
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return self._number()

    def wait(self) -> int:
        """Return the exit status of the training that was started."""
        return self._number()

    def run(self, folder: Path, phase: str = "1-critic", *more: str, killed_at: str = "") -> int:
        """Train, and return the exit status."""
        self.start(folder, phase, *more, killed_at=killed_at)
        return self.wait()

    def _number(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def trainer() -> Iterator[Trainer]:
    pytest.importorskip("trl", reason=NEEDS)
    trainer = Trainer()
    yield trainer
    trainer.close()


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


def spec_text(base: str = "tiny/./base", learns: str = "repeats: 2") -> str:
    return SPEC.replace("BASE", base).replace("LEARNS", learns)


def _spec(base: str = "tiny/./base", learns: str = "repeats: 2") -> None:
    Path("specs").mkdir(exist_ok=True)
    Path("specs/x.yaml").write_text(spec_text(base, learns))


def _train(phase: str, *more: str) -> int:
    return main(["train", "x", "--training", "acc", "--phase", phase, *more])


def _plan() -> Plan:
    return compile_spec("x")


def test_phases_go_on_from_one_another(here: Path, trainer: Trainer, capsys: pytest.CaptureFixture[str]) -> None:
    training = _plan().training("acc")
    assert [phase.label for phase in training.phases] == ["1-critic", "1-actor", "2-critic", "2-actor"]
    assert trainer.run(here) == 0
    assert trainer.run(here, "2-critic", "--digest", training.phase("2-critic").trained_digest) == 0
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
    monkeypatch.delitem(sys.modules, "cortexdsl_train.fit.fitting", raising=False)
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert _train("1-critic") == 2
    assert 'training needs datasets\n    install the extra: pip install ".[train]"' in capsys.readouterr().err


def test_adapters_are_served_beside_their_base(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two adapters on one base are one server; a name is what calls ask for; vLLM's ranks are steps."""
    _spec("openai/Llama", "weights: ../base")
    training = _plan().training("acc")
    names = [phase.trained.model.removeprefix("openai/") for phase in training.phases[:2]]
    assert main(["train", "x", "--training", "acc", "--serve"]) == 0
    place, base = "results/x/train/acc", base_folder(training, training.phases[0])
    assert base.resolve() == Path("base").resolve()
    assert capsys.readouterr().out == (
        f"vllm serve {base} --enable-lora --max-lora-rank 8 --lora-modules "
        f"{names[0]}={place}/1-critic/adapter {names[1]}={place}/1-actor/adapter\n"
    )
    with pytest.raises(InputError, match="rank 512 at most, not 513"):
        serve_commands([("a", Path("b"), Path("c"))], 513)


@pytest.fixture(scope="module")
def undisturbed(trainer: Trainer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the first phase of a training that nobody killed."""
    folder = begun(tmp_path_factory.mktemp("undisturbed"))
    assert trainer.run(folder) == 0
    return folder / PHASE


def begun(folder: Path) -> Path:
    """Make a folder with the spec, the model and the pairs of the first phase."""
    (folder / "specs").mkdir()
    (folder / "specs" / "x.yaml").write_text(spec_text())
    made(folder / "base")
    written(folder / PHASE / "pairs.jsonl", PAIRS)
    return folder


def assert_same(folder: Path, undisturbed: Path) -> None:
    """Weights, adapter and losses are those of a training that nobody killed."""
    for name in ("model/model.safetensors", "adapter/adapter_model.safetensors", "curve.csv"):
        assert (folder / PHASE / name).read_bytes() == (undisturbed / name).read_bytes()


@pytest.mark.timeout(900)
def test_a_training_that_is_killed_goes_on_to_the_same_weights(
    trainer: Trainer, undisturbed: Path, tmp_path: Path
) -> None:
    """Killed by the system wherever it is by then, some steps in."""
    folder = begun(tmp_path)
    child = trainer.start(folder)
    while not list((folder / PHASE).glob("checkpoints/checkpoint-*/complete")):
        assert psutil.pid_exists(child)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    assert trainer.wait() == -signal.SIGKILL
    assert json.loads((folder / PHASE / "progress.json").read_text())["state"] != "done"
    assert not (folder / PHASE / "model").exists()
    assert trainer.run(folder) == 0
    assert "goes on from" in (folder / "errors.log").read_text()
    assert_same(folder, undisturbed)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", ["adapter.part", "model.part"])
def test_a_training_that_is_killed_while_it_writes_weights_goes_on_to_the_same(
    trainer: Trainer, undisturbed: Path, tmp_path: Path, part: str
) -> None:
    """All steps are learned by then, and what they came to is written, but not in its place."""
    folder = begun(tmp_path)
    assert trainer.run(folder, killed_at=part) == -signal.SIGKILL
    assert (folder / PHASE / part).is_dir()
    assert not (folder / PHASE / "model").exists()
    assert trainer.run(folder) == 0
    assert not list((folder / PHASE).glob("*.part"))
    assert_same(folder, undisturbed)


@pytest.mark.timeout(900)
def test_grpo_draws_and_rewards_replies_and_goes_on_to_the_same_weights_after_a_kill(
    trainer: Trainer, tmp_path: Path
) -> None:
    """Rewarded by what the debates decided: the label of each prompt, and no gold."""
    text = spec_text(learns="roles: [actor]\n    samples: 3").replace("{rank", "{loss: grpo, rank")
    text = text.replace("{size: 6}", "{size: 6, gold: majority}").replace("1.0e6}", "1.0e6, max_tokens: 12}")
    folders = whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in folders:
        (folder / "specs").mkdir(parents=True)
        (folder / "specs" / "x.yaml").write_text(text)
        made(folder / "base")
    with contextlib.chdir(whole):
        ids = [question.id for question in _plan().training("acc").task.questions]
    rows = [
        {"prompt": pair(k)["prompt"], "label": "0", "question": each, "part": "train" if k < 6 else "validation"}
        for k, each in enumerate(ids)
    ]
    for folder in folders:
        written(folder / "results/x/train/acc/1-actor/prompts.jsonl", rows)
    assert trainer.run(whole, "1-actor") == 0
    child = trainer.start(killed, "1-actor")
    while not list(killed.glob("results/x/train/acc/1-actor/checkpoints/checkpoint-*/complete")):
        assert psutil.pid_exists(child)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    assert trainer.wait() == -signal.SIGKILL
    assert trainer.run(killed, "1-actor") == 0
    assert "goes on from" in (killed / "errors.log").read_text()
    for name in ("model/model.safetensors", "curve.csv"):
        one, other = ((folder / "results/x/train/acc/1-actor" / name).read_bytes() for folder in folders)
        assert one == other
    curve = (whole / "results/x/train/acc/1-actor/curve.csv").read_text()
    assert "validation" in curve
