"""The declaration of the transport `tiny`: Llama folders that this machine computes.

Everything else of this package is imported when a model is opened, because every plan imports this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortexdsl.models.transports.interface import Tokenizer, Transport, TransportType

if TYPE_CHECKING:
    from cortexdsl_tiny.folder import Folder


def _create() -> Transport:
    from cortexdsl_tiny.running import TinyTransport

    return TinyTransport()


def _find(model: str) -> Folder:
    from cortexdsl_tiny.folder import find

    return find(model)


def _window(model: str) -> int | None:
    return _find(model).config.window


def _tokenizer(model: str) -> Tokenizer:
    from cortexdsl_tiny.chat import Chat

    return Chat(_find(model))


TRANSPORT = TransportType(
    prefix="tiny", create=_create, is_in_process=True, window=_window, tokenizer=_tokenizer, weights=_find
)
