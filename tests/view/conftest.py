"""A made experiment, open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cortexdsl.view.opened import Opened
from cortexdsl.view.places import Place
from tests.view.made import write_experiment


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return write_experiment(tmp_path / "results" / "made")


@pytest.fixture
def opened(made: Path) -> Iterator[Opened]:
    """The experiment, with its index up to date."""
    experiment = Opened(Place("made", made))
    experiment.catch_up()
    yield experiment
    experiment.close()
