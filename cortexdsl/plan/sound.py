"""Which of the specs that are asked for can run: one that is broken does not keep the others from it."""

from __future__ import annotations

from cortexdsl.errors import InputError
from cortexdsl.plan.asked import asked_experiments
from cortexdsl.plan.compiler import Compiled, compile_spec


def sound_experiments(asked: str | None, compiled: Compiled = compile_spec) -> tuple[dict[str, str], dict[str, str]]:
    """Return the specs that a workflow runs, and those in specs/ that it cannot run.

    Parameters
    ----------
    asked : str or None
        As for `asked_experiments`. A spec that is named is never left out: what is wrong with it ends the run.
    compiled : callable of (spec, experiment)
        Compiles one; whoever needs the plans afterwards gives one that remembers.

    Returns
    -------
    (dict, dict) of experiment to the path of its spec

    Raises
    ------
    InputError
        There is no spec, a spec that was named cannot run, or none of those in specs/ can.
    """
    found = asked_experiments(asked)
    if asked is not None:
        return found, {}
    sound: dict[str, str] = {}
    broken: dict[str, str] = {}
    first: InputError | None = None
    for experiment, path in found.items():
        try:
            compiled(path, experiment)
            sound[experiment] = path
        except InputError as error:
            broken[experiment], first = path, first or error
    if first is not None and not sound:
        raise first
    return sound, broken
