"""Every word of the language is used by a shipped protocol or spec, or by an example that a test checks."""

from __future__ import annotations

from benchmarks.house.language_size import fixed_values, places, places_of_protocols, unused

NOT_YET_USED: set[str] = set()
"""Places that nothing uses. Give a new word an example in specs/examples/, and take out of here what has one."""
MOST = {"places": 223, "places of a protocol": 62, "keys": 183, "fixed values": 63}
"""A new word makes the language harder to learn, so it replaces another one, or is worth a larger number here."""


def test_every_place_is_used() -> None:
    assert {f"{form}.{key}" for form, key in unused()} - NOT_YET_USED == set()


def test_the_language_does_not_grow_by_itself() -> None:
    counts = {
        "places": len(places()),
        "places of a protocol": len(places_of_protocols()),
        "keys": len({key for _, key in places()}),
        "fixed values": len(fixed_values()),
    }
    assert {what: count for what, count in counts.items() if count > MOST[what]} == {}
