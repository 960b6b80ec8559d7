"""The sandbox that prompts are rendered in: no access to Python, and limits on time and memory.

A template may come from anywhere, and a slip in one (a power, a loop in a loop, a template that includes itself) must
be an error, not a machine that hangs.

Includes are written into their template, because each include costs a context. A part is equal to its include if it has
only text, loops, branches, and settings, if the template sets none of its names afterwards, and if it does not use the
`loop` around it. Other templates are rendered as written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from itertools import islice, repeat
from types import CodeType
from typing import Any

from jinja2 import (
    BytecodeCache,
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateSyntaxError,
    nodes,
)
from jinja2.bccache import Bucket
from jinja2.exceptions import SecurityError
from jinja2.meta import find_referenced_templates, find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cortexdsl.core import Question
from cortexdsl.language.prompts.bounds import (
    CHARACTERS,
    INCLUDE,
    NOT_REPEATABLE,
    TESTS_OF_TYPE,
    WITHOUT_FILTERS,
    WITHOUT_METHODS,
    bounded,
    check_method,
    check_operation,
    counted,
    joined,
    read_through,
    shown,
    size,
    spend,
)

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
    if set_later and set_later & find_undeclared_variables(tree):  # not set yet at the include
        return None
    return nodes.Scope(tree.body, lineno=include.lineno, environment=tree.environment)


def _is_plain(template: nodes.Template) -> bool:
    return all(isinstance(node, _PLAIN) for node in template.find_all(nodes.Stmt))


def _uses_outer_loop(part: nodes.Template) -> bool:
    """Return whether a part uses a loop that is not its own, or sets a variable of that name."""
    named = [name for name in part.find_all(nodes.Name) if name.name == LOOP]
    is_set = any(name.ctx == "store" for name in named)
    return is_set or (bool(named) and LOOP in find_undeclared_variables(part))


_METHODS = frozenset(dir(dict))
_OF_QUESTION = frozenset(field.name for field in fields(Question))


class _ReadOnce(FileSystemLoader):
    """Reads each template once, so that checks and renderings use the same text."""

    def __init__(self, folders: Sequence[str]) -> None:
        super().__init__(folders)
        self._read: dict[str, tuple[str, str, Callable[[], bool]]] = {}

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        if template not in self._read:
            self._read[template] = super().get_source(environment, template)
        return self._read[template]


class _CodeInMemory(BytecodeCache):
    """Keeps the code of compiled templates by name, file and text, for all sandboxes of the process.

    Compiling a template costs a hundred times what reading it does, and every spec uses the shipped ones.
    """

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        assert bucket.code is not None
        if len(self._code) >= MOST_TEMPLATES:
            self._code.clear()
        self._code[bucket.key, bucket.checksum] = bucket.code


MOST_TEMPLATES = 1000
"""Templates whose code and facts are kept in memory."""

_CODE = _CodeInMemory()


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
            finalize=shown,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            auto_reload=False,
            bytecode_cache=_CODE,
        )
        self._loaded: dict[str, Template] = {}
        self._flat: dict[str, Template | None] = {}
        for name, function in list(self.filters.items()):
            self.filters[name] = bounded(name, function)
        for name, function in list(self.tests.items()):
            if name not in TESTS_OF_TYPE:
                self.tests[name] = bounded(f"is {name}", function)
        for name in WITHOUT_FILTERS:
            del self.filters[name]
        del self.globals["lipsum"]
        self.filters |= {"_counted": counted, "_joined": joined, "_read": read_through}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse a template, and make its loops, comparisons, slices and joined texts count as work."""
        template = super()._parse(source, name, filename)
        for loop in template.find_all(nodes.For):
            loop.iter = _filtered(loop.iter, "_counted")
        for used in template.find_all(nodes.Filter):
            if used.name == "random":
                raise TemplateSyntaxError(f"random: {NOT_REPEATABLE}", used.lineno, name, filename)
        for comparison in template.find_all(nodes.Compare):
            if _is_with_constant(comparison):
                continue
            comparison.expr = _read(comparison.expr)
            for operand in comparison.ops:
                operand.expr = _read(operand.expr)
        for item in template.find_all(nodes.Getitem):
            if isinstance(item.arg, nodes.Slice):
                item.node = _read(item.node)
        whole: nodes.Template = _with_joins_counted(template)
        return whole

    def _compile(self, source: str, filename: str) -> CodeType:
        """Compile the code of a template; a syntax error of Python is an error of the template."""
        try:
            return super()._compile(source, filename)
        except SyntaxError as error:  # more than 20 nested loops, a repeated argument
            raise TemplateSyntaxError(f"it has {error.msg}", 1, filename=filename) from None

    def get_template(
        self, name: str | Template, parent: str | None = None, globals: MutableMapping[str, Any] | None = None
    ) -> Template:
        """Return a template, and count an include; each is loaded once, because many prompts include it."""
        spend(INCLUDE)
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
        assert self.loader is not None
        try:
            if not template_facts(self.loader.get_source(self, name)[0]).templates:
                return None
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
        check_operation(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a method or macro; each call counts as work."""
        spend(1)
        method = getattr(obj, "__wrapped__", obj)  # str.format comes wrapped
        owner, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
        if name in WITHOUT_METHODS:
            raise SecurityError(f"{name}: this method is not for prompts")
        if isinstance(owner, str | list | tuple | dict):
            check_method(owner, name, args, kwargs)
        result = super().call(context, obj, *args, **kwargs)
        spend(size(result) // CHARACTERS)
        return result


@dataclass(frozen=True)
class TemplateFacts:
    """What a template needs to be rendered.

    Attributes
    ----------
    variables : frozenset of str
        Names that it reads and does not set, without the global ones.
    templates : tuple of str
        Templates that it includes, extends or imports, in order.
    is_dynamic : bool
        Whether it computes the name of a template.
    """

    variables: frozenset[str]
    templates: tuple[str, ...]
    is_dynamic: bool


@lru_cache(MOST_TEMPLATES)
def template_facts(source: str) -> TemplateFacts:
    """Return what the text of a template needs.

    Raises
    ------
    jinja2.TemplateSyntaxError
    """
    tree = _sandbox_for_parsing().parse(source)
    referenced = tuple(find_referenced_templates(tree))
    templates = tuple(name for name in referenced if name)
    return TemplateFacts(frozenset(find_undeclared_variables(tree)), templates, None in referenced)


@cache
def _sandbox_for_parsing() -> Sandbox:
    return Sandbox([])


def _filtered(expression: Any, name: str) -> Any:
    filtered = nodes.Filter(expression, name, [], [], None, None, lineno=expression.lineno)
    return filtered.set_environment(expression.environment) if expression.environment else filtered


def _is_with_constant(comparison: nodes.Compare) -> bool:
    """Return whether a comparison reads no more than a constant, which is as long as the template at most."""
    if len(comparison.ops) != 1:
        return False
    [operand] = comparison.ops
    if operand.op in ("in", "notin"):  # a constant in a text reads the text
        return _is_constant(operand.expr)
    return _is_constant(comparison.expr) or _is_constant(operand.expr)


def _is_constant(node: Any) -> bool:
    is_list = isinstance(node, nodes.Tuple | nodes.List)
    return isinstance(node, nodes.Const) or (is_list and all(isinstance(item, nodes.Const) for item in node.items))


def _read(operand: Any) -> Any:
    """Return an operand that counts as read; a constant is as long as the template at most."""
    return operand if isinstance(operand, nodes.Const) else _filtered(operand, "_read")


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
