"""Fitted functions in expressions: `learned(NAME)`, and the expression that takes its place."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from cortexdsl.expressions.evaluation import parse, split_key
from cortexdsl.expressions.names import LEARNED


def learned_in(text: str) -> tuple[str, ...]:
    """Return the names of the fitted functions in an expression, in alphabetical order."""
    keys = parse(text).keys if LEARNED in text else ()
    return tuple(sorted({split_key(key)[1][0] for key in keys if split_key(key)[0] == LEARNED}))


def with_fitted(text: str, fitted: Mapping[str, str]) -> str:
    """Return an expression in which other expressions stand for `learned(NAME)`; others stay, to the byte."""
    if not learned_in(text):
        return text
    bodies = {name: ast.parse(body.strip(), mode="eval").body for name, body in fitted.items()}

    class ToFitted(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=which)]) if name == LEARNED:
                    return bodies[which]
            return self.generic_visit(node)

    return ast.unparse(ToFitted().visit(ast.parse(text.strip(), mode="eval")))


def with_columns(text: str, columns: Mapping[str, str]) -> str:
    """Return an expression in which other expressions stand for some of its names."""
    bodies = {name: ast.parse(body.strip(), mode="eval").body for name, body in columns.items()}

    class ToNames(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return bodies.get(node.id, node)

    return ast.unparse(ToNames().visit(ast.parse(text.strip(), mode="eval")))
