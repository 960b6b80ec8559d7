"""What a step reads from a reply, one thing or several; a choice is made among those whom its maker was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cortexdsl.terms import Reader, Reading, Step


def read(
    reader: Reader, step: Step, text: str, shown: Sequence[str], numbers: Mapping[str, int]
) -> tuple[Reading, dict[str, str | None]]:
    """Read a reply as its step does.

    Parameters
    ----------
    reader : Reader
    step : Step
    text : str
    shown : sequence of str
        Among whom a choice is made: whose words its prompt held, its maker's own among them.
    numbers : mapping of name to int
        What prompts call the agents.

    Returns
    -------
    (Reading, mapping)
        What the step reads first, and the values of what it reads beside that (None: unreadable).
    """
    named = {str(numbers[name]): name for name in shown if name in numbers}

    def one(what: str) -> Reading:
        reading = reader.read(what, text)  # type: ignore[arg-type]
        return _among(reading, named) if what == "choice" else reading

    return one(step.reads), {what: one(what).value for what in step.beside}


def _among(reading: Reading, named: Mapping[str, str]) -> Reading:
    """Turn the numbers of a choice into names; a number that was not there to choose makes it unreadable."""
    if reading.value is None:
        return reading
    numbers = [number.strip() for number in reading.value.split(",") if number.strip()]
    strange = [number for number in numbers if number not in named]
    if strange:
        return Reading(None, f"no agent {strange[0]} was there to choose")
    return Reading(", ".join(dict.fromkeys(named[number] for number in numbers)))
