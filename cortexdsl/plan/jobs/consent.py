"""The user's consent to what a spec does beyond asking models: checked before each run and by each job, asked once.

It is stored by user, under the XDG state folder, as one file for each spec and digest of its permissions: another
spec, another command or other code is asked about again. A run passes it on to its jobs by an environment variable,
because jobs of a cluster may have another home folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.parts import Permission, digest_of

VARIABLE = "CORTEXDSL_TRUST"
"""The environment variable with digests that are permitted, separated by commas."""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """What one file needs permission for.

    Attributes
    ----------
    file : str
        The spec.
    permissions : sequence of Permission
    name : str
        Its name for `cortexdsl trust`; empty if it is not a spec.
    """

    file: str
    permissions: Sequence[Permission]
    name: str

    @property
    def digest(self) -> str:
        """Digest of the permissions, the same on every machine."""
        return digest_of(self.permissions)

    def lines(self) -> list[str]:
        """Return what is needed in words, a line each, with its place."""
        return [f"    {one.what}   ({one.where})" for one in self.permissions]


def request_of(plan: Plan) -> PermissionRequest:
    """Return what a plan needs permission for."""
    return PermissionRequest(plan.spec_path, plan.permissions, plan.spec_name)


def is_permitted(
    request: PermissionRequest, trusted: Iterable[str] = (), environment: MutableMapping[str, str] = os.environ
) -> bool:
    """Return whether nothing needs permission, or its user has given it.

    `trusted` are functions that the command line names: it suffices to name all if nothing else needs permission.
    """
    functions = {name.strip() for words in trusted for name in words.split(",")} - {""}
    if all(one.function in functions for one in request.permissions):
        return True
    return request.digest in environment.get(VARIABLE, "").split(",") or _file(request, environment).is_file()


def permit(requests: Iterable[PermissionRequest], environment: MutableMapping[str, str] = os.environ) -> None:
    """Permit requests for this process and all jobs that it starts."""
    known = [digest for digest in environment.get(VARIABLE, "").split(",") if digest]
    digests = dict.fromkeys([*known, *(request.digest for request in requests if request.permissions)])
    if digests:
        environment[VARIABLE] = ",".join(digests)


def remember(request: PermissionRequest, environment: MutableMapping[str, str] = os.environ) -> Path:
    """Store a permission for later runs of this user, and return its file."""
    file = _file(request, environment)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = "\n".join([str(Path(request.file).resolve()), *request.lines(), ""])
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    return file


def forget(request: PermissionRequest, environment: MutableMapping[str, str] = os.environ) -> bool:
    """Remove a stored permission, and return whether there was one."""
    file = _file(request, environment)
    is_there = file.exists()
    file.unlink(missing_ok=True)
    return is_there


def check_consent(plan: Plan, trusted: Collection[str] = ()) -> None:
    """Refuse a plan whose spec needs permission that its user has not given.

    Parameters
    ----------
    plan : Plan
    trusted : collection of str
        Functions that the command line names.

    Raises
    ------
    InputError
    """
    request = request_of(plan)
    if not is_permitted(request, trusted):
        raise refusal(request)


def refusal(request: PermissionRequest) -> InputError:
    """Return the error for a request that is not permitted, with the ways to permit it."""
    functions = [one.function for one in request.permissions if one.function]
    only = f"\n    or name the code on the command line: --trust {' --trust '.join(functions)}"
    stored = f"cortexdsl trust {request.name}\n    (once on this machine; in CI: cortexdsl run --yes, or export "
    ways = (
        f"{stored}{VARIABLE}={request.digest})" if request.name else "run it on a terminal, which asks, or with --yes"
    )
    return InputError(
        f"{request.file}: this needs your permission, since it is more than to ask models of known providers:\n"
        + "\n".join(request.lines())
        + f"\n    read it; if you agree: {ways}"
        + (only if functions and len(functions) == len(request.permissions) else "")
    )


def _file(request: PermissionRequest, environment: MutableMapping[str, str]) -> Path:
    named = Path(environment.get("XDG_STATE_HOME") or "")
    state = named if named.is_absolute() else Path("~/.local/state").expanduser()
    whole = f"{Path(request.file).resolve()}\0{request.digest}"
    name = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return state / "cortexdsl" / "trusted" / name
