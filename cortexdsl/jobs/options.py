"""The parser of a verb, and settings that many options share. It imports nothing that takes time."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

FLAG: Mapping[str, Any] = {"action": "store_true"}
REPEATABLE: Mapping[str, Any] = {"action": "append", "default": []}
"""Settings of options."""


class VerbParser(argparse.ArgumentParser):
    """The parser of a verb."""

    def add(self, name: str, line: str, **settings: Any) -> None:
        """Add an argument: its name, its line of the help, and settings as argparse takes them."""
        self.add_argument(name, help=line, **settings)
