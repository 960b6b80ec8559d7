"""The kind `code`: programs in replies, and what a question says about them.

A program is read from the fenced blocks of a reply, or from the lines that look like Python. The last piece counts that
defines the function that the question asks for, also if it is only the body of the function whose beginning the
question shows. Names that it lacks are taken from the other pieces and from the question.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Protocol

from cortexdsl.core import separated
from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.text import Unparsed

LONGEST_PROGRAM = 50_000
MOST_EXAMPLES = 20
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n`]*\n(.*?)(?:^[ \t]*\2[`~]*[ \t]*$|\Z)", re.M | re.S)
_PYTHON = ("", "python", "python3", "py", "py3")
_BEGINS = re.compile(r"^(?:import |from [\w.]+ import|def |async def |class |@)", re.M)
_MOST_PIECES = 50
_CHECK = "check"
_PARSED_AS_WRONG = (SyntaxError, ValueError, RecursionError, MemoryError)  # a null byte, deep nesting


@dataclass(frozen=True, slots=True)
class ProgramFrame:
    """What a question says about the programs that answer it; nothing in it is a right answer.

    Attributes
    ----------
    entry : str
        The function or class that tests call; empty if no single one is.
    prompt : str
        The code that the question begins with: imports, helper functions, and the function's signature.
    examples : tuple of str
        Example inputs, as calls: `add(1, 2)`. Programs that give the same for all of them are one answer.
    """

    entry: str = ""
    prompt: str = ""
    examples: tuple[str, ...] = ()

    @property
    def before(self) -> str:
        """Return the statements of the prompt except the function itself."""
        tree = _tree(self.prompt)
        kept = [node for node in tree.body if _name(node) != self.entry] if tree else []
        return "\n".join(map(ast.unparse, kept))


class Behaviours(Protocol):
    """What programs give for example inputs."""

    def failure(self, program: str, frame: ProgramFrame) -> str:
        """Return why a program fails on an example input; empty if it does not."""
        ...

    def is_same(self, program: str, other: str, frame: ProgramFrame) -> bool:
        """Return whether two programs give the same for all example inputs."""
        ...


@dataclass(frozen=True, slots=True)
class CodeKind:
    """The kind `code`: a program in Python.

    Attributes
    ----------
    frame : ProgramFrame
    behaviours : Behaviours or None
        None: no program is run. Then programs with the same text, apart from comments and layout, are one answer.
    """

    frame: ProgramFrame = ProgramFrame()
    behaviours: Behaviours | None = None
    name: str = "code"
    want: str = "the whole program in Python, with its imports"

    def canonical(self, gold: str) -> str | None:
        """Keep the tests of a gold as they are."""
        return gold.strip() or None

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the last fenced block, as a prompt asks for it."""
        blocks = _blocks(fragment)
        program = _assembled(blocks[-1:], [], self.frame)
        return self._tried(program) if program else Unparsed("no program in the last block" if blocks else "no block")

    def within(self, fragment: str) -> str | Unparsed | None:
        """No statement of a sentence is a program."""
        return None

    def search(self, text: str) -> str | Unparsed:
        """Read a program in any form."""
        text = separated(text)[0]
        blocks = _blocks(text)
        pieces = blocks or list(_chunks(text))
        program = _assembled(pieces, pieces, self.frame) or _assembled([text], [], self.frame)
        if program:
            return self._tried(program)
        entry = f" that defines {self.frame.entry}" if self.frame.entry else ""
        return Unparsed(f"no program{entry}" if text.strip() else "empty reply")

    def same(self, program: str, other: str) -> bool:
        """Return whether two programs are one answer."""
        if program == other or plain_program(program) == plain_program(other):
            return True
        return self.behaviours is not None and self.behaviours.is_same(program, other, self.frame)

    def _tried(self, program: str) -> str | Unparsed:
        if len(program) > LONGEST_PROGRAM:
            return Unparsed(f"the program has {len(program):,} characters")
        failure = self.behaviours.failure(program, self.frame) if self.behaviours else ""
        return Unparsed(failure) if failure else program


def solution_program(solution: str, frame: ProgramFrame) -> str:
    """Return the program of a solution, read like a reply's only block; empty if it is none."""
    return _assembled([solution], [solution], frame)


@lru_cache(maxsize=4096)
def _tree(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except _PARSED_AS_WRONG:
        return None


@lru_cache(maxsize=4096)
def plain_program(program: str) -> str:
    """Return a program without comments and layout."""
    tree = _tree(program)
    return ast.unparse(tree) if tree else program


def _name(node: ast.stmt) -> str | None:
    """Return the name that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else None


def _defined(node: ast.stmt) -> list[str | None]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return [_name(node)]


def _blocks(text: str) -> list[str]:
    """Return the fenced blocks that may be Python, without common indentation; the last one may be unclosed."""
    return [textwrap.dedent(match[4]) for match in _FENCE.finditer(text) if match[3].lower() in _PYTHON]


def _chunks(text: str) -> Iterator[str]:
    """Yield the parts of a text without fences that parse: each from a line that begins a statement."""
    at = 0
    for _ in range(_MOST_PIECES):
        begin = _BEGINS.search(text, at)
        if begin is None:
            return
        piece = _cut(text[begin.start() :])
        at = begin.start() + max(len(piece), 1)
        if piece:
            yield piece


def _cut(text: str) -> str:
    """Return the longest beginning of a text, in whole lines, that parses."""
    lines = text.split("\n")
    while lines:
        try:
            ast.parse("\n".join(lines))
            break
        except SyntaxError as error:
            lines = lines[: min(len(lines), error.lineno or 1) - 1]
        except (ValueError, RecursionError, MemoryError):
            return ""
    return "\n".join(lines)


def _assembled(pieces: Sequence[str], others: Sequence[str], frame: ProgramFrame) -> str:
    """Return the program of the last piece that has one, with what it lacks; empty if no piece has one."""
    wholes = (piece for piece in reversed(pieces) if _is_program(_tree(piece), frame.entry))
    bodies = (_completed(piece, frame) for piece in reversed(pieces))
    piece = next(chain(wholes, filter(None, bodies)), "")
    tree = _tree(piece)
    if not piece or tree is None:
        return ""
    program = "\n".join(_source(piece, node) for node in tree.body if not _is_trial(node, frame.entry))
    return _with_needed(program, [*reversed(others), frame.prompt])


def _is_program(tree: ast.Module | None, entry: str) -> bool:
    if tree is None:
        return False
    if entry:
        return any(entry in _defined(node) for node in tree.body)
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in tree.body)


def _completed(body: str, frame: ProgramFrame) -> str:
    """Return the function of a question with a body that a reply gives without the signature; empty if it is none."""
    stub = _tree(frame.prompt)
    if stub is None or not body.strip() or _compiles(body):
        return ""
    own = body if body.lstrip("\n")[:1].isspace() else textwrap.indent(body, "    ")
    whole = _cut(f"{frame.prompt.rstrip()}\n{own.rstrip()}\n")
    tree = _tree(whole)
    return whole if tree is not None and ast.dump(tree) != ast.dump(stub) else ""


def _compiles(source: str) -> bool:
    try:
        compile(source, "program", "exec")
    except _PARSED_AS_WRONG:
        return False
    return True


def _source(piece: str, node: ast.stmt) -> str:
    """Return the lines of a statement, with its decorators and the comments above it left out."""
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return "\n".join(piece.split("\n")[first - 1 : node.end_lineno])


def _is_trial(node: ast.stmt, entry: str) -> bool:
    """Return whether a statement only tries the program: an assertion, a call of it, print or input, or a lone word."""
    if isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Name)):
        return True
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return isinstance(node, ast.Expr) and bool(names & {entry, "print", "input"})


def _with_needed(program: str, sources: Sequence[str]) -> str:
    """Return a program with the definitions that it lacks, from other sources."""
    for _ in range(_MOST_PIECES):
        definition = next(filter(None, (_definition(name, sources) for name in _lacking(program))), "")
        if not definition:
            break
        program = f"{definition}\n{program}"
    return program


def _lacking(program: str) -> list[str]:
    """Return the names that a program uses and nothing binds."""
    tree = _tree(program)
    nodes = list(ast.walk(tree)) if tree else []
    bound = {name for node in nodes if isinstance(node, ast.stmt) for name in _defined(node)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    used = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return [name for name in used if name not in bound and not hasattr(builtins, name)]


def _definition(name: str, sources: Sequence[str]) -> str:
    for source in sources:
        tree = _tree(source)
        for node in tree.body if tree else ():
            if name in _defined(node):
                return _source(source, node)
    return ""


def examples_in(text: str, entry: str) -> tuple[str, ...]:
    """Return the calls of a function with plain values in a text, such as its doctests or assertions, each once."""
    found: dict[str, None] = {}
    for begin in re.finditer(rf"(?<![\w.]){re.escape(entry)}\(", text) if entry else ():
        for end in (match.end() for match in re.finditer(r"\)", text[begin.end() : begin.end() + 2_000])):
            call = text[begin.start() : begin.end() + end]
            if call.count("(") <= call.count(")") and _is_plain_call(call):
                found[call] = None
                break
    return tuple(found)[:MOST_EXAMPLES]


def _is_plain_call(text: str) -> bool:
    try:
        call = ast.parse(text, mode="eval").body
        values = [*call.args, *(each.value for each in call.keywords)] if isinstance(call, ast.Call) else []
        for value in values:
            ast.literal_eval(value)
    except _PARSED_AS_WRONG:
        return False
    return bool(values)


def is_expression(text: str) -> bool:
    """Return whether a text is one expression of Python."""
    return _compiles(f"({text}\n)")


def signature_of(text: str, entry: str) -> str:
    """Return the text of a question if it is the beginning of the program: code that defines the function."""
    return text if entry and _is_program(_tree(text), entry) else ""


def function_under_test(tests: str) -> str:
    """Return the first function that tests call and do not define themselves."""
    tree = _tree(tests)
    nodes = list(ast.walk(tree)) if tree else []
    own = {name for node in nodes if isinstance(node, ast.stmt) for name in _defined(node)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    calls = sorted(
        (node.lineno, node.col_offset, node.func.id)
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    return next((name for *_, name in calls if name not in own and not hasattr(builtins, name)), "")


def checked_tests(tests: str, frame: ProgramFrame) -> str:
    """Return tests as one program, after the helper functions of their question.

    If they define a function `check` and do not call it, they end with its call. Modules of the standard library that
    they use without an import are imported, because any other name that they lack is taken from the program.

    Raises
    ------
    DataError
        They do not compile, or it is unknown what to check.
    """
    try:
        tree = ast.parse(tests, "tests")
        compile(tests, "tests", "exec")
    except _PARSED_AS_WRONG as error:
        raise DataError(f"its tests do not compile: {error}\n    correct them, or remove the row") from None
    entry = frame.entry
    defines = any(_CHECK in _defined(node) for node in tree.body)
    calls = any(isinstance(n, ast.Name) and n.id == _CHECK for each in tree.body for n in ast.walk(each))
    if hasattr(builtins, entry):
        raise DataError(f"its tests call {entry}, which Python has itself\n    give the function another name")
    if defines and not calls and not entry:
        raise DataError(f"its tests define {_CHECK}, and no function is named\n    name its column: entry: COLUMN")
    call = f"{_CHECK}({entry})" if defines and not calls else ""
    return "\n\n".join(filter(None, (_missing_imports(tree), frame.before, tests.strip("\n"), call)))


def _missing_imports(tree: ast.Module) -> str:
    """Return imports of the standard modules that tests use by attribute (`math.pi`) and do not define."""
    nodes = list(ast.walk(tree))
    own = {name for node in nodes if isinstance(node, ast.stmt) for name in _defined(node)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    used = {node.value.id for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
    return "\n".join(f"import {name}" for name in sorted((used & sys.stdlib_module_names) - own - called))
