"""A made-up experiment, open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cortexdsl.explorer.experiment import OpenExperiment
from cortexdsl.explorer.folders import ResultsFolder
from tests.explorer.experiments import write_experiment


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return write_experiment(tmp_path / "results" / "made")


@pytest.fixture
def opened(made: Path) -> Iterator[OpenExperiment]:
    """An experiment of the test's own, with its index up to date."""
    yield from _opened(made)


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenExperiment]:
    """The same, shared by all tests that only read it."""
    yield from _opened(write_experiment(tmp_path_factory.mktemp("indexed") / "results" / "made"))


def _opened(root: Path) -> Iterator[OpenExperiment]:
    experiment = OpenExperiment(ResultsFolder("made", root))
    experiment.catch_up()
    yield experiment
    experiment.close()
