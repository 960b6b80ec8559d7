"""Expressions as digests and records write them: with the names of version 0.2.0.

So a name of the language can change, and finished experiments stay finished.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from cortexdsl.expressions.names import LEARNED, OF_STEPS, STATED, VARS

FORMER: Mapping[str, str] = {
    "abandoned": "dropped", "approved": "agreed", "mean_score": "peer_score", "position": "place", "random": "chance",
    "stability": "constancy", "vars": "given",
}  # fmt: skip
"""Names, each with the name that it had in version 0.2.0."""
FORMER_PARTS: Mapping[str, str] = {"answer != before(answer)": "changed", "before(weight)": "previous"}
"""Parts of expressions, each with the name that it had in version 0.2.0."""

_CURRENT = {
    **{former: name for name, former in FORMER.items()},
    **{former: f"({part})" if " " in part else part for part, former in FORMER_PARTS.items()},
}
_NAMES_OF_PARTS = {ast.dump(ast.parse(part, mode="eval").body): name for part, name in FORMER_PARTS.items()}
_WITH_ARGUMENTS = {*OF_STEPS, *(FORMER.get(name, name) for name in (*OF_STEPS, VARS)), VARS, LEARNED, STATED}
_WORD = re.compile(rf"\b(?:{'|'.join(sorted(_WITH_ARGUMENTS))})\s*\([^()]*\)|[A-Za-z_]\w*")


class _ToRecorded(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> ast.AST:
        name = _NAMES_OF_PARTS.get(ast.dump(node))
        return self.generic_visit(node) if name is None else ast.Name(name, ast.Load())


def as_recorded(text: str) -> str:
    """Return a valid expression, or a key of one, with the names of version 0.2.0; the rest stays, to the byte."""
    if "before" in text:
        tree = ast.parse(text.strip(), mode="eval")
        before, named = ast.dump(tree), _ToRecorded().visit(tree)
        text = text if ast.dump(named) == before else ast.unparse(named)
    return _renamed(text, FORMER)


def from_record(text: str) -> str:
    """Return an expression, or a key of one, with the names of today."""
    return next((part for part, name in FORMER_PARTS.items() if name == text), None) or _renamed(text, _CURRENT)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Return an expression with other names; the names of steps and numbers in parentheses stay."""

    def renamed(match: re.Match[str]) -> str:
        head = match[0].partition("(")[0].rstrip()
        return names.get(head, head) + match[0][len(head) :]

    return _WORD.sub(renamed, text)
