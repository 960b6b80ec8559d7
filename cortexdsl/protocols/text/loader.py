"""Protocols by name: built in, written in a spec, or in a file beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cortexdsl.errors import SpecError
from cortexdsl.protocols.text.soundness import unsound
from cortexdsl.spec.check.mending import mend
from cortexdsl.spec.check.problems import in_order
from cortexdsl.spec.check.stand_ins import of_protocol
from cortexdsl.spec.grammar.protocols.protocol import INHERITING, ProtocolText
from cortexdsl.spec.text.messages import dotted, nearest
from cortexdsl.spec.text.nodes import Mark, Node, refuse
from cortexdsl.spec.text.reader import read

FOLDER = Path(__file__).resolve().parents[1]
SHIPPED = FOLDER / "shipped"
"""The built-in protocols, by family: alone, everyone, sparse, roles, chosen."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol that is sound for some settings, its settings still open.

    Attributes
    ----------
    name : str
    text : ProtocolText
        As written, checked.
    node : Node
        With positions; the words that inherit a setting name it (`recalibration: $recalibration`).
    """

    name: str
    text: ProtocolText
    node: Node

    @property
    def settings(self) -> Mapping[str, Node]:
        """The settings and their defaults."""
        written = self.node.find(("settings",))
        return written.mapping() if written is not None else {}


def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in protocols."""
    return tuple(sorted(_files()))


@cache
def _files() -> Mapping[str, Path]:
    return {path.stem: path for path in SHIPPED.glob("*/*.yaml")}


def load_protocol(
    name: str, inline: Mapping[str, Node] | None = None, folder: Path = Path(), mark: Mark | None = None
) -> Protocol:
    """Find and check a protocol.

    Parameters
    ----------
    name : str
        A name of `inline`, else a built-in one; or a path that ends in .yaml.
    inline : mapping of str to Node, optional
        The protocols that a spec holds; they win over built-in ones.
    folder : Path
        Where a path begins.
    mark : Mark, optional
        Where the name was written, for the message that there is none.

    Raises
    ------
    SpecError
        There is no such protocol, or it is wrong: every problem at once.
    """
    if inline and name in inline:
        return protocol_of(name, inline[name], ("protocols", name))
    if name.endswith((".yaml", ".yml")):
        path = folder / name
        if not path.is_file() and mark is not None:
            refuse(mark, f"there is no file {path}", "a protocol's path begins beside the spec")
        return protocol_of(path.stem, read(path))
    if name not in builtin_names():
        known = (*(inline or ()), *builtin_names())
        remedy = nearest(name, known, say="protocols")
        refuse(mark or name, f"there is no protocol {name}", f"{remedy}; or ./FILE.yaml beside the spec")
    return _builtin(name)


@cache
def _builtin(name: str) -> Protocol:
    return protocol_of(name, read(_files()[name]))


def protocol_of(name: str, node: Node, above: tuple[str, ...] = ()) -> Protocol:
    """Check a protocol that was read.

    Parameters
    ----------
    name : str
    node : Node
    above : tuple of str
        The route that leads to it in its file, for messages.

    Raises
    ------
    SpecError
        Everything that is wrong with it, in the order of the text.
    """
    mended = mend(ProtocolText, node, of_protocol(node), lambda route: dotted((*above, *route)))
    problems = list(mended.problems)
    if mended.text is None:
        raise SpecError(in_order(problems))
    inherited = _inheriting(mended.node)
    problems += unsound(inherited, mended.text, above, mended.doubtful)
    if problems:
        raise SpecError(in_order(problems))
    return Protocol(name, mended.text, inherited)


def _inheriting(node: Node) -> Node:
    """Let the words that are not written name the setting that is called so."""
    entries = node.mapping()
    settings = entries["settings"].mapping() if "settings" in entries else {}
    named = {
        word: Node(f"${word}", settings[word].mark) for word in INHERITING if word in settings and word not in entries
    }
    return Node({**entries, **named}, node.mark, node.keys, node.size + len(named))
