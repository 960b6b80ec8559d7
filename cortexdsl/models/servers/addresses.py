"""Addresses of the model servers of a run, which jobs read from a file.

They are not variables of the environment, because a spec names them: a variable that a spec chooses could be one that
a shell, Python or a client library obeys (`BASH_ENV`, `PYTHONPATH`, `OPENAI_BASE_URL`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from cortexdsl.errors import RecordError
from cortexdsl.files import write_file


def write_addresses(path: Path, addresses: Mapping[str, str]) -> None:
    """Write the address of each server, by the name that models use: `api_base: env:NAME`."""
    write_file(path, (json.dumps(dict(addresses), indent=1, sort_keys=True).encode("ascii"), b"\n"), durable=False)


def read_addresses(path: Path) -> Mapping[str, str]:
    """Return the addresses of the servers of this run; empty if it started none.

    Raises
    ------
    RecordError
        The file is not what `write_addresses` wrote.
    """
    try:
        addresses = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError:
        addresses = None
    if not isinstance(addresses, dict) or not all(isinstance(value, str) for value in addresses.values()):
        raise RecordError(f"{path}: this is not a list of addresses\n    remove it and start the run again")
    return addresses
