"""A message that Ctrl-C left unannounced is handled all the same."""

from __future__ import annotations

import logging
import threading
from logging.handlers import QueueHandler, QueueListener
from queue import Queue

import pytest

from cortexdsl.display import wakeups


def test_a_listener_that_was_not_woken_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A waiter that is gone stands first in the list, locked, as an interrupted `notify` leaves it."""
    monkeypatch.setattr(wakeups, "EVERY", 0.01)
    queue: Queue[logging.LogRecord | None] = Queue()
    logger = logging.Logger("own")
    logger.addHandler(QueueHandler(queue))
    listener = QueueListener(queue)
    listener.start()
    thread = listener._thread
    assert isinstance(thread, threading.Thread)
    while not queue.not_empty._waiters:  # type: ignore[attr-defined]
        pass
    gone = threading.Lock()
    gone.acquire()
    with queue.mutex:
        queue.not_empty._waiters.appendleft(gone)  # type: ignore[attr-defined]
    queue.put(None)  # what `stop` puts there before it waits for the thread
    assert thread.is_alive()
    wakeups.keep_awake(logger)
    thread.join(10)
    assert not thread.is_alive()
