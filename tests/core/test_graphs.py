"""Topologies declare what the language and its checks need to know of them."""

from __future__ import annotations

from typing import get_args

import pytest

from cortexdsl.core import Topology
from cortexdsl.core.graphs import BaseTopology

TOPOLOGIES: tuple[type[BaseTopology], ...] = get_args(Topology)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_topology_declares_its_word_and_whom_a_listener_can_hear(topology: type[BaseTopology]) -> None:
    assert topology.key
    assert topology.candidates in ("nobody", "itself", "debaters", "role", "named")


def test_no_two_topologies_have_the_same_word() -> None:
    assert len({topology.key for topology in TOPOLOGIES}) == len(TOPOLOGIES)
