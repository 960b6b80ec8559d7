"""The sandbox that prompts are rendered in: no access to Python, and limits on time and memory.

A template may come from anywhere, and a slip in one (a power, a loop in a loop, a template that includes itself) must
be an error, not a machine that hangs.

Includes are written into their template, because each include costs a context. A part is equal to its include if it has
only text, loops, branches, and settings, if the template sets none of its names afterwards, and if it does not use the
`loop` around it. Other templates are rendered as written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from dataclasses import fields
from itertools import islice, repeat
from types import CodeType
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cortexdsl.core import Question

Parse = Callable[[str], nodes.Template]
"""Returns a new syntax tree of a template."""

MOST_PARTS = 200
"""Includes written into one template: nested parts that include parts twice grow exponentially."""

LOOP = "loop"
_PLAIN = (nodes.Output, nodes.If, nodes.For, nodes.Assign, nodes.Include, nodes.Scope)


def include_parts(name: str, part: Parse) -> nodes.Template | None:
    """Return the syntax tree of a template with its includes written into it.

    Parameters
    ----------
    name : str
    part : Parse

    Returns
    -------
    nodes.Template or None
        None if it has no includes, or if its meaning could change.

    Raises
    ------
    jinja2.TemplateError
        A part is missing or malformed.
    """
    template = part(name)
    has_parts = template.find(nodes.Include) is not None
    left = islice(repeat(part), MOST_PARTS)
    return template if has_parts and _is_plain(template) and _write_parts(template, template, (name,), left) else None


def _write_parts(node: nodes.Node, whole: nodes.Template, by: tuple[str, ...], left: Iterator[Parse]) -> bool:
    """Write includes into a node of a template, and return whether all of them could be written."""
    for listed in (getattr(node, name, None) or [] for name in ("body", "elif_", "else_")):
        for place, inner in enumerate(listed):
            if isinstance(inner, nodes.Include):
                part = _part(inner, whole, by, left)
                if part is None:
                    return False
                listed[place] = part
            elif not _write_parts(inner, whole, by, left):
                return False
    return True


def _part(
    include: nodes.Include, whole: nodes.Template, by: tuple[str, ...], left: Iterator[Parse]
) -> nodes.Node | None:
    name = include.template.value if isinstance(include.template, nodes.Const) else None
    if not isinstance(name, str) or name in by or not include.with_context or include.ignore_missing:
        return None
    parse = next(left, None)
    if parse is None:
        return None
    tree = parse(name)
    if not _is_plain(tree) or _uses_outer_loop(tree) or not _write_parts(tree, tree, (*by, name), left):
        return None
    set_later = {
        stored.name
        for setting in whole.find_all(nodes.Assign)
        for stored in setting.find_all(nodes.Name)
        if setting.lineno >= include.lineno and stored.ctx == "store"
    }
    if set_later & find_undeclared_variables(tree):  # not set yet at the include
        return None
    return nodes.Scope(tree.body, lineno=include.lineno, environment=tree.environment)


def _is_plain(template: nodes.Template) -> bool:
    return all(isinstance(node, _PLAIN) for node in template.find_all(nodes.Stmt))


def _uses_outer_loop(part: nodes.Template) -> bool:
    """Return whether a part uses a loop that is not its own, or sets a variable of that name."""
    is_set = any(name.ctx == "store" and name.name == LOOP for name in part.find_all(nodes.Name))
    return is_set or LOOP in find_undeclared_variables(part)


MOST_CHARACTERS = 10_000_000
"""Limit of a rendered prompt, and of any intermediate text."""

MOST_WORK = 2_000_000
"""Limit of loop passes, calls, and kilobytes of text, in sum: a second or two."""

MOST_BITS = 4_096
"""Limit of a whole number."""

MOST_PADDING = 100_000
"""Limit of the numeric arguments of filters."""

_PADDING = frozenset({"batch", "center", "indent", "slice", "truncate", "wordwrap"})
_WIDTH = re.compile(r"%[^%a-zA-Z]*\d{6,}|\{[^{}]*\d{6,}[^{}]*\}")

_METHODS = frozenset(dir(dict))
_OF_QUESTION = frozenset(field.name for field in fields(Question))

_work: ContextVar[list[int] | None] = ContextVar("work of the rendering under way", default=None)


class WorkBudget:
    """The work that one rendering may do: `with WorkBudget(): template.render(...)`."""

    def __enter__(self) -> None:
        self._token = _work.set([MOST_WORK])

    def __exit__(self, *_: object) -> None:
        _work.reset(self._token)


def _spend(amount: int) -> None:
    left = _work.get()
    if left is None:
        return
    left[0] -= amount
    if left[0] < 0:
        raise SecurityError("it does too much: a loop that is too long, or a text that grows without end")


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | tuple) else 0


class _ReadOnce(FileSystemLoader):
    """Reads each template once, so that checks and renderings use the same text."""

    def __init__(self, folders: Sequence[str]) -> None:
        super().__init__(folders)
        self._read: dict[str, tuple[str, str, Callable[[], bool]]] = {}

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        if template not in self._read:
            self._read[template] = super().get_source(environment, template)
        return self._read[template]


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with strict variables, and with bounds.

    Parameters
    ----------
    folders : sequence of str
        Where templates are looked for, in order.
    """

    intercepted_binops = frozenset({"**", "*", "+", "%", "//", "/"})

    def __init__(self, folders: Sequence[str]) -> None:
        # Text goes to a model, not to a browser: escaping would change it. Pages escape where they show it.
        super().__init__(
            loader=_ReadOnce(list(folders)),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            auto_reload=False,
        )
        self._loaded: dict[str, Template] = {}
        self._flat: dict[str, Template | None] = {}
        for name, function in list(self.filters.items()):
            self.filters[name] = _bounded(function, pads=name in _PADDING, formats=name == "format")
        del self.globals["lipsum"]
        self.filters["_counted"] = _counted
        self.filters["_joined"] = _joined

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse a template, and make its loops and joined texts count as work."""
        template = super()._parse(source, name, filename)
        for loop in template.find_all(nodes.For):
            loop.iter = _filtered(loop.iter, "_counted")
        counted: nodes.Template = _with_joins_counted(template)
        return counted

    def _compile(self, source: str, filename: str) -> CodeType:
        """Compile the code of a template; a syntax error of Python is an error of the template."""
        try:
            return super()._compile(source, filename)
        except SyntaxError as error:  # more than 20 nested loops, a repeated argument
            raise TemplateSyntaxError(f"it has {error.msg}", 1, filename=filename) from None

    def get_template(
        self, name: str | Template, parent: str | None = None, globals: MutableMapping[str, Any] | None = None
    ) -> Template:
        """Return a template; each is loaded once, because every prompt that includes it needs it."""
        if not isinstance(name, str) or globals is not None:
            return super().get_template(name, parent, globals)
        template = self._loaded.get(name)
        if template is None:
            template = self._loaded[name] = super().get_template(name, parent)
            # A dictionary is faster than Jinja's chain of mappings, and globals never change.
            template.globals = dict(template.globals)
        return template

    def flat(self, name: str) -> Template | None:
        """Return a template with its includes written into it; None if it has none, or if its meaning could change."""
        if name not in self._flat:
            self._flat[name] = self._flattened(name)
        return self._flat[name]

    def _flattened(self, name: str) -> Template | None:
        try:
            tree = include_parts(name, self._parsed)
            code = None if tree is None else self.compile(tree, name, str(self.get_template(name).filename))
        except (TemplateError, RecursionError, MemoryError):
            # Rendering the template as written reports the error.
            return None
        return None if code is None else Template.from_code(self, code, self.get_template(name).globals)

    def _parsed(self, name: str) -> nodes.Template:
        assert self.loader is not None
        source, path, _ = self.loader.get_source(self, name)
        return self._parse(source, name, path)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return `obj.attribute`, with a short cut for items of mappings and attributes of questions."""
        if type(obj) is dict and attribute in obj and attribute not in _METHODS:
            return obj[attribute]
        if type(obj) is Question and attribute in _OF_QUESTION:
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute `left operator right` if the result is not too large."""
        if operator == "**":
            _check_power(left, right)
        elif operator == "*":
            _check_product(left, right)
        elif operator == "+":
            _spend((_size(left) + _size(right)) // 1000)
            _check_length(_size(left) + _size(right))
        elif operator == "%" and isinstance(left, str) and _WIDTH.search(left):
            raise SecurityError("a text is padded to more characters than a prompt may have")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a method or macro; each call counts as work."""
        _spend(1)
        owner = getattr(getattr(obj, "__wrapped__", obj), "__self__", None)  # str.format comes wrapped
        if isinstance(owner, str):
            _check_numbers(args, kwargs)
            if _WIDTH.search(owner):
                raise SecurityError("a text is padded to more characters than a prompt may have")
        result = super().call(context, obj, *args, **kwargs)
        _spend(_size(result) // 1000)
        return result


def _check_power(base: Any, exponent: Any) -> None:
    if not (isinstance(base, int | float) and isinstance(exponent, int | float)):
        return
    bits = max(abs(base), 2).bit_length() if isinstance(base, int) else 0
    if bits * abs(exponent) > MOST_BITS:
        raise SecurityError(f"{base} ** {exponent} is too large a number")


def _check_product(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > MOST_BITS:
            raise SecurityError("a product is too large a number")
        return
    size, times = (_size(left), right) if isinstance(right, int) else (_size(right), left)
    if isinstance(times, int):
        _check_length(size * times)
        _spend(size * times // 1000)


def _check_length(length: int) -> None:
    if length > MOST_CHARACTERS:
        raise SecurityError(f"a text or list of more than {MOST_CHARACTERS:,} characters or items")


def _check_numbers(args: Iterable[Any], kwargs: Mapping[str, Any]) -> None:
    for value in (*args, *kwargs.values()):
        if isinstance(value, int | float) and abs(value) > MOST_PADDING:
            raise SecurityError(f"{value} is more than {MOST_PADDING:,}")


def _bounded(function: Any, *, pads: bool, formats: bool) -> Any:
    """Return a filter that counts as work, whose results are limited, and whose padding is limited."""

    def filtered(*args: Any, **kwargs: Any) -> Any:
        if pads:
            _check_numbers(args[1:], kwargs)
        if formats and _WIDTH.search(str(args[0])):
            raise SecurityError("a text is padded to more characters than a prompt may have")
        result = function(*args, **kwargs)
        _check_length(_size(result))
        _spend(1 + _size(result) // 1000)
        return result

    filtered.__dict__.update(getattr(function, "__dict__", {}))  # such as whether Jinja passes the context
    return filtered


def _counted(values: Any) -> Any:
    """Return the values of a loop, and count its passes."""
    if isinstance(values, Undefined):
        return values
    if hasattr(values, "__len__"):
        _spend(len(values))
        return values
    return _passes(values)


def _passes(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _spend(1)
        yield value


def _joined(parts: Sequence[Any]) -> str:
    """Join texts, as `~` does."""
    texts = [str(part) for part in parts]
    length = sum(map(len, texts))
    _check_length(length)
    _spend(length // 1000)
    return "".join(texts)


def _filtered(expression: Any, name: str) -> Any:
    filtered = nodes.Filter(expression, name, [], [], None, None, lineno=expression.lineno)
    return filtered.set_environment(expression.environment) if expression.environment else filtered


def _with_joins_counted(node: Any) -> Any:
    """Replace every `a ~ b` below a node by a filter that counts its result."""
    for name, value in node.iter_fields():
        if isinstance(value, list):
            setattr(node, name, [_with_joins_counted(item) if isinstance(item, nodes.Node) else item for item in value])
        elif isinstance(value, nodes.Node):
            setattr(node, name, _with_joins_counted(value))
    if isinstance(node, nodes.Concat):
        listed = nodes.List(node.nodes, lineno=node.lineno)
        if node.environment:
            listed.set_environment(node.environment)
        listed.environment = node.environment
        return _filtered(listed, "_joined")
    return node
