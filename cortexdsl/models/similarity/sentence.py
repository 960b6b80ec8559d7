"""Models of sentence-transformers, which the extra `embeddings` brings: loaded, or told apart why not."""

from __future__ import annotations

import importlib
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

from cortexdsl.errors import InputError

HUB = "https://huggingface.co"
REACHED_WITHIN = 5.0
"""Seconds that the hub has to answer."""


def load_sentence_model(
    similarity: str, kind: Literal["SentenceTransformer", "CrossEncoder"], name: str, called: str
) -> Any:
    """Load a model by its name, or from a folder.

    Parameters
    ----------
    similarity : str
        The setting as the spec writes it, for messages.
    kind : str
        The class of the library.
    name : str
    called : str
        What such a model is called in messages: `sentence-transformers model`, `cross-encoder`.

    Raises
    ------
    InputError
        The extra is not installed, or the model cannot be loaded.
    """
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError:
        raise InputError(
            f"similarity {similarity} needs the extra `embeddings`, which is not installed\n"
            "    install it (pip install -e '.[embeddings]'), or use `similarity: ngram`"
        ) from None
    # Without a network the library tries for over a minute before it looks at what it has on this machine.
    local = {} if Path(name).is_dir() or is_hub_reachable() else {"local_files_only": True}
    try:
        return getattr(library, kind)(name, **local)
    except (OSError, ValueError) as error:
        offline = "the model hub cannot be reached, and this machine has no copy: " if local else ""
        raise InputError(
            f"similarity {similarity}: the model cannot be loaded: {offline}{' '.join(str(error).split())[:200]}\n"
            f"    give the name of a {called}, or the path of a folder that holds one"
        ) from None


def is_hub_reachable(seconds: float = REACHED_WITHIN) -> bool:
    """Say whether the model hub answers within a few seconds; not if `HF_HUB_OFFLINE` says to work without it.

    `HF_ENDPOINT` may name another hub. Behind a proxy it is taken for reachable.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON"):
        return False
    parts = urlsplit(os.environ.get("HF_ENDPOINT") or HUB)
    if parts.scheme in getproxies():
        return True
    reached = threading.Event()

    def connect() -> None:
        with suppress(OSError, ValueError):
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname or "", port), seconds).close()
            reached.set()

    # In a thread: a timeout of a connection does not bound how long its name is looked up.
    attempt = threading.Thread(target=connect, daemon=True)
    attempt.start()
    attempt.join(seconds)
    return reached.is_set()
