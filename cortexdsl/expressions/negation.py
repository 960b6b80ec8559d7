"""The negation of a condition, as people write it."""

from __future__ import annotations

import ast

_OPPOSITE: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.GtE(), ast.GtE: ast.Lt(), ast.Gt: ast.LtE(), ast.LtE: ast.Gt(),
    ast.Eq: ast.NotEq(), ast.NotEq: ast.Eq(),
}  # fmt: skip


def negated(text: str) -> str:
    """Return a condition that holds if a valid one does not: without `not`, or with the opposite comparison."""
    text = text.strip()
    match ast.parse(text, mode="eval").body:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = text.removeprefix("not").strip()
            bare = inner[1:-1] if inner.startswith("(") and inner.endswith(")") else inner
            return next((part for part in (bare, inner) if _is(part, operand)), ast.unparse(operand))
        case ast.Compare(left=left, ops=[op], comparators=others) if type(op) in _OPPOSITE:
            return ast.unparse(ast.Compare(left, [_OPPOSITE[type(op)]], others))
        case ast.Name() | ast.Call():
            return f"not {text}"
    return f"not ({text})"


def _is(text: str, node: ast.expr) -> bool:
    try:
        return ast.dump(ast.parse(text, mode="eval").body) == ast.dump(node)
    except SyntaxError:
        return False
