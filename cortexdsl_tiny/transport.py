"""The declaration of the transport `tiny`: Llama folders that this machine computes.

Everything else of this package is imported when a model is opened, because every plan imports this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortexdsl.models.transports.interface import Transport, TransportType

if TYPE_CHECKING:
    from cortexdsl_tiny.folder import Folder


def _create() -> Transport:
    from cortexdsl_tiny.running import TinyTransport

    return TinyTransport()


def _find(model: str) -> Folder:
    from cortexdsl_tiny.folder import find

    return find(model)


TRANSPORT = TransportType(prefix="tiny", create=_create, is_in_process=True, weights=_find)
