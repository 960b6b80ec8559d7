"""Debates of one loop take turns, so that the loop looks for replies between any two of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

from cortexdsl.core import Everyone
from cortexdsl.engine.concurrency import yield_to_others
from cortexdsl.engine.run import run_debate
from tests.engine.stage import QUESTION, Stage, method

COUNT = 40


class Loops:
    """Counts the passes of the loop that it is started in."""

    def __init__(self) -> None:
        self.passes = 0
        self._go_on()

    def _go_on(self) -> None:
        self.passes += 1
        self.handle = asyncio.get_running_loop().call_soon(self._go_on)


def test_one_piece_of_work_is_let_go_a_pass_of_the_loop_in_order() -> None:
    """However many wait: whatever arrives meanwhile is looked at before the next of them goes on."""

    async def all_pieces() -> list[tuple[int, int]]:
        loops, done = Loops(), list[tuple[int, int]]()

        async def piece(number: int) -> None:
            await yield_to_others()
            done.append((loops.passes, number))

        await asyncio.gather(*map(piece, range(50)))
        loops.handle.cancel()
        return done

    done = asyncio.run(all_pieces())
    assert [number for _, number in done] == list(range(50))
    assert len({passes for passes, _ in done}) == 50


def test_who_is_cancelled_keeps_nobody_waiting() -> None:
    """A job that is stopped leaves those of other jobs to go on."""

    async def some() -> list[int]:
        done = list[int]()

        async def piece(number: int) -> None:
            await yield_to_others()
            done.append(number)

        tasks = [asyncio.create_task(piece(number)) for number in range(10)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
        return done

    assert asyncio.run(some()) == [1, 3, 5, 7, 9]


def test_a_loop_that_ended_with_some_waiting_is_nothing_to_the_next() -> None:
    """Each loop has a queue of its own."""

    async def stopped() -> None:
        tasks = [asyncio.create_task(yield_to_others()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in tasks)

    for _ in range(2):
        asyncio.run(stopped())
    assert asyncio.run(asyncio.wait_for(yield_to_others(), 5)) is None  # type: ignore[func-returns-value]


def test_debates_that_are_woken_at_once_go_on_one_by_one() -> None:
    """All openings come back in one pass; in no pass do two debates make their next prompts."""

    async def all_debates() -> Counter[int]:
        loops, made = Loops(), Counter[int]()
        opened = asyncio.Event()
        waiting = COUNT * 3

        async def one(number: int) -> None:
            stage = Stage()
            prompted: set[int] = set()

            async def ask(call: object) -> object:
                nonlocal waiting
                waiting -= 1
                if not waiting:
                    opened.set()
                await opened.wait()
                return await stage.ask(call)  # type: ignore[arg-type]

            def render(prompt: str, seen: object) -> object:
                if prompt == "revise" and number not in prompted:
                    prompted.add(number)
                    made[loops.passes] += 1
                return stage.render(prompt, seen)  # type: ignore[arg-type]

            ports = replace(stage.ports(), ask=ask, render=render)  # type: ignore[arg-type]
            await run_debate(told, QUESTION, ports, seed=1, replicate=number)

        told = method({"open": {}, "revise": {"hears": Everyone()}}, ["open", "revise"])
        await asyncio.gather(*map(one, range(COUNT)))
        loops.handle.cancel()
        return made

    made = asyncio.run(all_debates())
    assert made.total() == COUNT
    assert max(made.values()) == 1
