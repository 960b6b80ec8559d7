"""Load protocols by name: built in, written in a spec, or in a file next to the spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cortexdsl.errors import nearest
from cortexdsl.language.grammar.old_words import value_remedy
from cortexdsl.language.grammar.protocol import ProtocolText
from cortexdsl.language.nodes import Mark, Node, dotted, refuse
from cortexdsl.language.problems import validate
from cortexdsl.language.protocol.soundness import check_soundness
from cortexdsl.language.reader import read

BUILTIN_FOLDER = Path(__file__).resolve().parents[2] / "protocols"
"""The built-in protocols, by family: alone, everyone, sparse, roles, chosen."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A valid protocol whose settings may still change.

    Attributes
    ----------
    name : str
    text : ProtocolText
        As written, validated.
    node : Node
        The same with positions.
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
    return {path.stem: path for path in BUILTIN_FOLDER.glob("*/*.yaml")}


def load_protocol(
    name: str, inline: Mapping[str, Node] | None = None, folder: Path = Path(), mark: Mark | None = None
) -> Protocol:
    """Return a validated protocol.

    Parameters
    ----------
    name : str
        A name of `inline`, else of a built-in protocol; or a path that ends in .yaml.
    inline : mapping of str to Node, optional
        The protocols of a spec; they override built-in ones.
    folder : Path
        The folder that a path is relative to.
    mark : Mark, optional
        Position of the name, for messages.

    Raises
    ------
    SpecError
        There is no such protocol, or it is invalid: all problems.
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
        remedy = value_remedy(("protocol",), name) or nearest(name, known, say="protocols")
        refuse(mark or name, f"there is no protocol {name}", f"{remedy}; or ./FILE.yaml beside the spec")
    return _builtin(name)


@cache
def _builtin(name: str) -> Protocol:
    return protocol_of(name, read(_files()[name]))


def protocol_of(name: str, node: Node, above: tuple[str, ...] = ()) -> Protocol:
    """Validate a protocol.

    Parameters
    ----------
    name : str
    node : Node
    above : tuple of str
        The route that leads to it in its file, for messages.

    Raises
    ------
    SpecError
        All problems of the first stage that has some, in the order of the text.
    """
    text = validate(ProtocolText, node, lambda route: dotted((*above, *route)))
    check_soundness(node, text, above)
    return Protocol(name, text, node)
