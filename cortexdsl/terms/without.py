"""What a counterfactual debate leaves out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Without:
    """One change to a debate: everything named here is left out at once, and all else stays as it was.

    Attributes
    ----------
    agents : tuple of str
        They say nothing, hear nothing and have no vote. The others keep their numbers and their groups.
    edges : tuple of (str, str)
        The listener (second) is never shown words of the speaker (first). Nobody else takes the place of the speaker.
    rounds : tuple of int
        From 1: the steps that would lead to that round are not spoken, nor is what would end a loop after them
        looked at. Later rounds go on from the state before it, and count on.
    steps : tuple of str
        They are never spoken.
    """

    agents: tuple[str, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()
    rounds: tuple[int, ...] = ()
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = {
            "agent": self.agents,
            "edge": [":".join(edge) for edge in self.edges],
            "round": [str(number) for number in self.rounds],
            "step": self.steps,
        }
        return " ".join(f"{kind}={','.join(names)}" for kind, names in named.items() if names)


NOTHING = Without()
