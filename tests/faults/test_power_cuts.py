"""Power cuts: from every state that one may leave, the same command goes on, and what was promised holds."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from cortexdsl.errors import BudgetError
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.journal import read_journal
from tests.faults.disk import Operation, RecordingDisk, on_disk
from tests.faults.small_run import JOBS, REQUESTS, Server, record_of, replay, results, run
from tests.faults.states import CutState, states

LIMIT = REQUESTS + 1


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Operation], dict[str, bytes]]:
    """The operations of one undisturbed run, and its results."""
    root = tmp_path_factory.mktemp("recorded")
    disk = RecordingDisk(root)
    with on_disk(disk):
        server = Server(disk.event)
        run(root, server, LIMIT, disk.event)
    assert server.requests == REQUESTS
    return disk.operations, results(root)


def events(operations: list[Operation], at: int) -> list[str]:
    return [each.path for each in operations[:at] if each.kind == "event"]


def check(cut: CutState, operations: list[Operation], expected: dict[str, bytes], root: Path) -> None:
    """Go on from a state after a restart of the computer, and hold the outcome against what is promised."""
    before = events(operations, cut.at)
    acknowledged = {what for what in before if what != "sent"}
    cut.write(root)

    # What was acknowledged is there.
    for job in JOBS:
        record = record_of(root, job)
        if f"record {job}" in acknowledged:
            assert record.exists(), f"the record of {job} was lost"
        if record.exists():  # a record is whole, and never on disk before the calls that it came from
            assert record.read_bytes() == expected[f"debates/sums/{job}/r1-s1.jsonl"]
            replay(root, job)
    assert "plan" not in acknowledged or (root / "plan.json").exists()
    ledger = read_journal(Layout(str(root)))
    assert "declared" not in acknowledged or len(ledger.entries) == 1

    # Calls whose replies are on disk count for the limit.
    server, kept = Server(), sum(what.startswith("reply ") for what in acknowledged)
    with suppress(BudgetError):
        run(root, server, LIMIT)
    assert kept + server.requests <= LIMIT, f"{kept} + {server.requests} requests"

    # With a raised limit the run ends, and nothing that was acknowledged was sent again.
    run(root, server)
    repeated = [key for key in server.delivered if f"reply {key}" in acknowledged]
    assert not repeated
    assert results(root) == expected
    assert read_journal(Layout(str(root))).faults == ()

    # There is nothing left to do.
    requests = server.requests
    for job in JOBS:
        record_of(root, job).unlink()
    run(root, server)
    assert server.requests == requests
    assert results(root) == expected


@pytest.mark.timeout(3600)
def test_from_every_state_of_a_power_cut_the_same_command_goes_on(
    recorded: tuple[list[Operation], dict[str, bytes]],
    fast_folder: Path,
    request: pytest.FixtureRequest,
) -> None:
    """A run of 7 requests and 2 records; all states with --thorough, else a sample."""
    operations, expected = recorded
    chance = random.Random(1)
    found = list(states(operations, chance))
    is_thorough = request.config.getoption("--thorough")
    chosen = found if is_thorough else chance.sample(found, 120)
    for number, cut in enumerate(chosen):
        root = fast_folder / str(number)
        root.mkdir()
        try:
            check(cut, operations, expected, root)
        except BaseException as error:
            error.add_note(f"state {number} of {len(chosen)}: a cut after operation {cut.at} of {len(operations)}")
            raise
        shutil.rmtree(root)
    changes = sum(each.kind != "event" for each in operations)
    print(f"{changes} operations, {len(found)} states, {len(chosen)} of them replayed")
