"""Fixtures that every test folder shares."""

from __future__ import annotations

import compileall
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from cortexdsl.worker.process import collect_garbage_rarely

settings.register_profile("untimed", deadline=None)  # no test is timed: the machine may have other work
settings.load_profile("untimed")

REPOSITORY = Path(__file__).resolve().parent.parent

# No test asks a hub: without a network, its library would try again for half a minute before it says so.
os.environ["HF_HUB_OFFLINE"] = "1"

_IS_CODE_KEPT = not sys.dont_write_bytecode
sys.dont_write_bytecode = False  # test modules are compiled once, not by each worker of each run


def pytest_configure(config: pytest.Config) -> None:
    """Compile the project if Python keeps no compiled code (PYTHONDONTWRITEBYTECODE): tests start many processes.

    What is imported and collected stays, so that no garbage is looked for meanwhile.
    """
    gc.disable()
    if not _IS_CODE_KEPT and not hasattr(config, "workerinput"):
        for package in REPOSITORY.glob("*/__init__.py"):
            compileall.compile_dir(package.parent, quiet=2)


def pytest_collection_finish() -> None:
    """Set up the process in which tests run.

    Modules that tests write are not kept compiled, unless Python is asked to: they may change within a second.
    The garbage collector leaves out what was imported and collected: looking it through again and again takes a tenth
    of the time of a test.
    """
    sys.dont_write_bytecode = not _IS_CODE_KEPT
    gc.enable()
    gc.collect()
    collect_garbage_rarely()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Golden files change on request alone: `pytest --update-golden`, then read what `git diff` shows."""
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing with them")
    parser.addoption(
        "--thorough", action="store_true", help="all states of power cuts, many random histories (minutes)"
    )


LONG = (
    "workflow/sites/test_slurm.py", "specs/test_examples.py", "workflow/", "train/", "jobs/test_train.py", "zoo/",
    "fuzz/", "histories/", "faults/", "browser/", "report/",
)  # fmt: skip
"""Files and folders of tests that take long, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each worker of a run begin with long tests: otherwise it ends with one worker alone at a long one.

    Workers begin with equal parts of the list, and take tests from the ends of each other's parts when they have none.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    modules: dict[tuple[int, str], list[pytest.Item]] = {}
    for item in items:
        path = item.path.relative_to(REPOSITORY / "tests").as_posix()
        rank = next((k for k, long in enumerate(LONG) if path.startswith(long)), len(LONG))
        modules.setdefault((rank, path), []).append(item)
    ordered = [modules[key] for key in sorted(modules)]
    short = [item for (rank, _), tests in sorted(modules.items()) if rank == len(LONG) for item in tests]
    long = ordered[: sum(rank < len(LONG) for rank, _ in modules)]
    dealt = [[item for tests in long[k::workers] for item in tests] for k in range(workers)]
    size = -(-len(items) // workers)
    items[:] = []
    for part in dealt:
        room = max(0, size - len(part))
        items += [*part, *short[:room]]
        del short[:room]
    items += short


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """`cortexdsl run` blocks signals before it becomes Snakemake; in a test it stays, and later ones need Ctrl-C."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a golden file; with --update-golden writes the file."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path.name} is missing: run pytest with --update-golden, and read it"
        assert text == path.read_text(encoding="utf-8"), "if this is meant: pytest --update-golden, and read git diff"

    return compare


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real benchmark samples next to the checkout; the test is skipped if they are absent."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real benchmark samples (../shared/data) are not on this machine")
    return folder


@pytest.fixture(scope="session")
def with_inspect(repository: Path) -> Path:
    """Python of `make logs`; the test is skipped without it."""
    python = repository / "build" / "logs" / "bin" / "python"
    if not python.is_file():
        pytest.skip("inspect-ai is not installed: `make logs` puts it into build/logs")
    return python
