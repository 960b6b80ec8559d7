"""Wakes the thread that handles Snakemake's messages, so that Ctrl-C cannot leave a run hanging.

Messages pass a queue to that thread. If Ctrl-C interrupts `Condition.notify` after it has woken the thread, and before
it has forgotten that it did, then the next message is announced to a waiter that is no longer there (CPython up to
3.13; gh-92530 mends another case). If this next message is the last one, Snakemake waits for the thread for ever.
"""

from __future__ import annotations

import logging
import threading
import time
from logging.handlers import QueueHandler
from queue import Queue

EVERY = 1.0
"""Seconds between two wake-ups; a thread that is woken for nothing waits again."""


def keep_awake(logger: logging.Logger) -> None:
    """Wake those who wait for messages of a logger from now on, until the process ends."""
    threading.Thread(target=_wake, args=(logger,), name="wake-ups", daemon=True).start()


def _wake(logger: logging.Logger) -> None:
    while True:
        time.sleep(EVERY)
        for queue in (each.queue for each in logger.handlers if isinstance(each, QueueHandler)):
            if isinstance(queue, Queue):
                with queue.not_empty:
                    queue.not_empty.notify_all()
