"""Limits of an experiment hold over all its jobs and processes, and its ledger survives kills."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cortexdsl.core import Limits, Price, Reply, Usage
from cortexdsl.errors import BudgetError, RecordError
from cortexdsl.models.budget import Budget, is_too_many, spent_before
from cortexdsl.models.call_log.records import call_record, usage_of
from cortexdsl.models.client import open_client
from cortexdsl.models.spending import LEDGER_FILE, spent_so_far
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw, TokenCounts
from tests.models.kit import Fake, Time, call_of
from tests.models.stub import Stub, serving


def test_a_line_of_the_log_costs_its_attempts_tokens_and_dollars() -> None:
    """30 prompt and 12 completion tokens; where nothing was counted a quarter of the characters: 40/4 and 8/4."""
    call = call_of("x" * 40)
    raw = Raw("y" * 8, None, TokenCounts(30, 12))
    counted = usage_of(call_record("k", call, raw, seconds=1, attempts=3, dollars=0.5))
    assert (counted.attempts, counted.input_tokens, counted.output_tokens, counted.dollars) == (3, 30, 12, 0.5)
    guessed = usage_of(call_record("k", call, Raw("y" * 8, None), seconds=1, attempts=1))
    assert (guessed.input_tokens, guessed.output_tokens, guessed.dollars) == (10, 2, 0.0)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(calls=2), r"limit of 2 calls is reached \(2 spent\)"),
        (Limits(tokens=1000), r"limit of 1,000 tokens is reached \(1,000 spent\)"),
        (Limits(dollars=0.5), r"limit of 0.5 dollars is reached \(0.50 spent\)"),
        (Limits(seconds=60), r"limit of 60 seconds is reached \(60 spent\)"),
    ],
)
def test_each_limit_is_told_by_name(limits: Limits, said: str) -> None:
    budget = Budget(limits)
    for _ in range(2):
        budget.settle(budget.reserve(), Usage(attempts=1, input_tokens=500, dollars=0.25, seconds=30.0))
    with pytest.raises(BudgetError, match=said + r": nothing finished is lost; raise `limits: \w+`"):
        budget.reserve()


def test_calls_in_flight_are_reserved_at_the_mean_or_their_prompt_where_that_is_more() -> None:
    """One call of 100 tokens; of 400 allowed a prompt of 150 and the mean, (100 + 150) / 2, make 375: one more may
    be sent, then none until those in flight turn out to have cost 10 each (130)."""
    budget = Budget(Limits(tokens=400))
    budget.settle(budget.reserve(), Usage(attempts=1, input_tokens=100))
    reserved = [budget.reserve(tokens=150), budget.reserve()]
    assert [each.tokens for each in reserved] == [150, 125]
    reserved.append(budget.reserve())
    with pytest.raises(BudgetError, match="limit of 400 tokens"):
        budget.reserve()
    for each in reserved:
        budget.settle(each, Usage(attempts=1, input_tokens=10))
    assert budget.total == Usage(attempts=4, input_tokens=130)
    budget.reserve()


def test_two_budgets_of_one_folder_are_one(tmp_path: Path) -> None:
    a, b = Budget(Limits(calls=3), tmp_path / "spent"), Budget(Limits(calls=3), tmp_path / "spent")
    a.reserve()
    b.reserve()
    a.reserve()
    with pytest.raises(BudgetError, match="3 spent"):
        b.reserve()
    assert spent_so_far(tmp_path / "spent").attempts == 3
    again = Budget(Limits(calls=5), tmp_path / "spent")
    assert [again.reserve().attempts for _ in range(2)] == [1, 1]
    for budget in (a, b, again):
        budget.close()


SPENDER = """
import sys
from pathlib import Path
from cortexdsl.errors import BudgetError
from cortexdsl.models.budget import Budget
from cortexdsl.core import Limits
print("ready", flush=True)
for limit in sys.stdin:
    budget, sent = Budget(Limits(calls=int(limit)), Path(sys.argv[1])), 0
    try:
        while True:
            budget.reserve()
            sent += 1
    except BudgetError:
        budget.close()
        print(sent, flush=True)
"""


def test_six_processes_never_send_more_than_the_limit_nor_less_also_after_it_was_raised(
    tmp_path: Path, repository: Path
) -> None:
    """Of 200, and then 350, each call is sent once by somebody: a sum that each job kept for itself let 472 through."""
    spent = tmp_path / "spent"
    command = [sys.executable, "-c", SPENDER, str(spent)]
    jobs = [
        subprocess.Popen(command, cwd=repository, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]

    def answers() -> list[str]:
        return [job.stdout.readline().strip() for job in jobs if job.stdout is not None]

    assert answers() == ["ready"] * 6
    for limit, left in ((200, 200), (350, 150)):
        for job in jobs:
            assert job.stdin is not None
            job.stdin.write(f"{limit}\n")
            job.stdin.flush()
        assert sum(map(int, answers())) == left
    for job in jobs:
        job.communicate()
    assert spent_so_far(spent).attempts == 350


def test_without_a_ledger_the_logs_say_what_was_spent(tmp_path: Path) -> None:
    """A finished run of 3 calls, one of them tried twice, of 15 tokens each; then `spent/` is lost, or unreadable."""

    async def scene() -> None:
        fake = Fake(Failure(FailureKind.TRANSIENT, "500"))
        log, spent = tmp_path / "calls" / "d" / "own.jsonl", tmp_path / "spent"
        async with open_client(log, transports=fake.transports, ledgers=spent, runtime=Time().runtime()) as client:
            await asyncio.gather(*(client(call_of(seed=k)) for k in range(3)))
        whole = spent_so_far(spent)
        assert (whole.attempts, whole.tokens, whole.calls, whole.failed) == (4, 45, 3, 0)
        before = spent_before(spent)
        assert (before.attempts, before.tokens, before.calls) == (4, 45, 3)
        (spent / LEDGER_FILE).write_bytes((spent / LEDGER_FILE).read_bytes().replace(b"\x04", b"\x00"))
        budget = Budget(Limits(calls=5), spent)
        budget.reserve()
        with pytest.raises(BudgetError, match=r"\(5 spent\)"):
            budget.reserve()
        budget.close()

    asyncio.run(scene())


def test_failed_and_retried_attempts_are_calls_and_cost_what_the_server_counted(tmp_path: Path) -> None:
    """Four attempts: 500 costs a call and no token, an empty reply 10 + 5 as counted, the reply 10 + 5."""

    async def scene() -> None:
        empty = Raw("", "stop", TokenCounts(10, 5))
        fake = Fake(Failure(FailureKind.TRANSIENT, "500"), empty, Failure(FailureKind.RATE_LIMIT, "429"))
        spent = tmp_path / "spent"
        log = tmp_path / "calls" / "own.jsonl"
        async with open_client(log, transports=fake.transports, ledgers=spent, runtime=Time().runtime()) as client:
            await client(call_of("x"))
        whole = spent_so_far(spent)
        assert (whole.attempts, whole.tokens, whole.calls) == (4, 30, 1)
        refused = Fake(*[Failure(FailureKind.BAD_REQUEST, "no")] * 2)
        async with open_client(log, transports=refused.transports, ledgers=spent, runtime=Time().runtime()) as client:
            results = await asyncio.gather(*(client(call_of(seed=k)) for k in (7, 8)), return_exceptions=True)
        assert not any(isinstance(each, Reply) for each in results)
        assert spent_so_far(spent).attempts == 6

    asyncio.run(scene())


def test_a_limit_counts_attempts_and_ends_a_call_that_is_tried_again(tmp_path: Path) -> None:
    async def scene() -> None:
        fake = Fake(*[Failure(FailureKind.TRANSIENT, "500")] * 5)
        limits = Limits(calls=3)
        log, spent, runtime = tmp_path / "own.jsonl", tmp_path / "spent", Time().runtime()
        async with open_client(
            log, transports=fake.transports, limits=limits, runtime=runtime, ledgers=spent
        ) as client:
            with pytest.raises(BudgetError, match="limit of 3 calls"):
                await client(call_of())
        assert len(fake.asked) == 3

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("failed", "calls", "share", "stops"),
    [
        (4, 4, 0.05, False),  # fewer than five
        (5, 29, 0.05, True),  # 1.45 + 3 * 1.174 = 4.97
        (5, 30, 0.05, False),  # 1.5 + 3 * 1.194 = 5.08
        (11, 100, 0.05, False),  # 5 + 3 * 2.179 = 11.54
        (12, 100, 0.05, True),
        (70, 1000, 0.05, False),  # 50 + 3 * 6.892 = 70.68
        (71, 1000, 0.05, True),
        (1, 1000, 0.0, True),
        (1000, 1000, 1.0, False),
    ],
)
def test_too_many_is_more_than_a_share_makes_by_chance(failed: int, calls: int, share: float, stops: bool) -> None:
    """Three standard deviations of a binomial above the share, worked out by hand, and five at least."""
    assert is_too_many(failed, calls, share) is stops


def test_at_the_end_of_a_job_the_share_is_what_it_is() -> None:
    """6 of 100 are more than 5 %, 5 of 100 are not; 4 of 10 are too few to be an outage."""
    found = [is_too_many(failed, calls, 0.05, is_end=True) for failed, calls in ((6, 100), (5, 100), (4, 10))]
    assert found == [True, False, False]


def test_limits_of_different_runs_share_one_sum(tmp_path: Path) -> None:
    first = Budget(Limits(calls=2), tmp_path / "spent")
    first.reserve()
    first.close()
    second = Budget(Limits(calls=1), tmp_path / "spent")
    with pytest.raises(BudgetError, match=r"limit of 1 calls is reached \(1 spent\)"):
        second.reserve()
    second.close()


def test_a_ledger_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "spent").write_text("a file where a folder should be")
    with pytest.raises(RecordError, match=r"spent.*\.ledger: the ledger of what is spent cannot be written"):
        Budget(Limits(), tmp_path / "spent")


def test_a_failed_attempt_costs_by_whichever_price_there_is(tmp_path: Path) -> None:
    """An empty reply of 10 and 5 tokens, then a reply: by the spec's price 2 * (0.01 + 0.01), by the list's price of
    gpt-4o-mini 2 * (10 * 0.15 + 5 * 0.6) millionths."""

    async def spent(name: str, price: Price | None) -> float:
        fake = Fake(Raw("", "stop", TokenCounts(10, 5)), Raw("fine", "stop", TokenCounts(10, 5)))
        root = tmp_path / name
        async with open_client(root / "calls" / "own.jsonl", transports={"openai": fake}, ledgers=root / "spent",
                             runtime=Time().runtime()) as client:  # fmt: skip
            await client(call_of(model="openai/gpt-4o-mini", price=price))
        return spent_so_far(root / "spent").dollars

    assert asyncio.run(spent("spec", Price(1e-3, 2e-3))) == pytest.approx(0.04)
    assert asyncio.run(spent("list", None)) == pytest.approx(2 * 4.5e-6)


@pytest.mark.parametrize(
    ("model", "price"),
    [("direct/name", Price(0.15e-6, 0.6e-6)), ("openai/name", Price(0.15e-6, 0.6e-6)), ("openai/gpt-4o-mini", None)],
    ids=["direct", "spec", "list"],
)
def test_dollars_are_limited_where_a_server_counts_no_tokens(tmp_path: Path, model: str, price: Price | None) -> None:
    """Prompts of 4,000 characters are 1,000 tokens, which at 0.15 dollars a million are 0.00015: with the replies (over
    4,000 characters, 0.0006) a limit of 0.0016 takes three calls; what each cost is not known."""

    async def scene() -> None:
        stub = Stub(["nousage"] * 9)
        log = tmp_path / "calls" / "own.jsonl"
        async with serving(stub) as base:
            runtime = Time().runtime(BASE=base)
            client = open_client(log, limits=Limits(dollars=0.0016), ledgers=tmp_path / "spent", runtime=runtime)
            async with client:
                for seed in range(9):
                    call = call_of("x" * 4000, seed, model, api_base="env:BASE", price=price)
                    try:
                        await client(call)
                    except BudgetError:
                        break
        assert stub.calls == 3
        assert spent_so_far(tmp_path / "spent").dollars == pytest.approx(3 * (0.00015 + 0.0006), rel=0.01)
        assert {json.loads(line)["dollars"] for line in log.read_text().splitlines()} == {None}

    asyncio.run(scene())


def test_an_attempt_that_may_have_worked_costs_its_prompt_by_the_list_too(tmp_path: Path) -> None:
    """No reply in time: 1,000 tokens of prompt at 0.15 dollars a million; then a reply, by the list's price."""

    async def scene() -> None:
        late = Failure(FailureKind.TRANSIENT, "no reply in time", may_have_cost=True)
        fake = Fake(late, Raw("fine", "stop", TokenCounts(10, 5)))
        call = call_of("x" * 4000, model="openai/gpt-4o-mini")
        log, spent = tmp_path / "calls" / "own.jsonl", tmp_path / "spent"
        async with open_client(log, transports={"openai": fake}, ledgers=spent, runtime=Time().runtime()) as client:
            await client(call)
        assert spent_so_far(tmp_path / "spent").dollars == pytest.approx(0.00015 + 4.5e-6)

    asyncio.run(scene())


def test_cached_tokens_count_for_a_limit_by_what_they_cost(tmp_path: Path) -> None:
    """40 tokens at 3, 60 cached ones at 0.3 and 20 of a reply at 15 millionths are 0.000438 dollars, of two calls
    0.000876: a limit of 0.0008 stops then, one of 0.00088 does not. At the full price two calls would be 0.0012."""

    async def scene(name: str, limit: float) -> int:
        fake = Fake()
        fake.answer = lambda call: Raw("fine", "stop", TokenCounts(100, 20, 60))
        root = tmp_path / name
        client = open_client(root / "calls" / "own.jsonl", limits=Limits(dollars=limit), transports=fake.transports,
                         ledgers=root / "spent", runtime=Time().runtime())  # fmt: skip
        async with client:
            for seed in range(9):
                try:
                    await client(call_of(seed=seed, price=Price(3e-6, 15e-6, 0.3e-6)))
                except BudgetError:
                    break
        assert spent_so_far(root / "spent").dollars == pytest.approx(len(fake.asked) * 438e-6)
        usages = [json.loads(line)["usage"] for line in (root / "calls" / "own.jsonl").read_text().splitlines()]
        assert usages == [{"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 60}] * len(fake.asked)
        return len(fake.asked)

    assert asyncio.run(scene("less", 0.0008)) == 2
    assert asyncio.run(scene("more", 0.00088)) == 3
