"""What runs inside the sandboxes: one process has the program, another one its tests.

The two share no memory, files or process numbers. The tests call the program through a pipe, and only data come back:
plain values are copied, and everything else stays with the program and is represented by a `Remote`. So a program
cannot change its tests, and its objects cannot decide a comparison: an operator between an object of the program and
a value of the tests is refused, because it would let the program see the expected value and choose the result.

This file is run without the package: it imports the values that pass, and nothing else of it.
"""

from __future__ import annotations

import builtins
import operator
import os
import resource
import sys
from itertools import islice

from cortexdsl.tasks.programs.plain_values import EXACT, ValueCodec, dumps, loads

TYPE_CHECKING = False  # what typing and collections.abc import takes longer than most programs
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeAlias

    Values: TypeAlias = Iterable[Any]


MOST_ITEMS = 1_000
"""Items of an iterator that count as what it gives."""
LONGEST_TEXT = 300


def same_value(value: Any) -> Any:
    """Return a form of a plain value that is equal for values that Python and a test would call equal.

    Fractions are rounded to 9 significant digits, so that the order of additions makes no difference.
    """
    if isinstance(value, (bool, int, float)):
        is_whole = isinstance(value, int) or (value.is_integer() and abs(value) < EXACT)
        return hex(int(value)) if is_whole else f"{value:.9g}"
    if isinstance(value, Remote):
        try:
            return ["iterator", [same_value(each) for each in islice(iter(value), MOST_ITEMS)]]
        except TypeError:
            return ["object"]
    if isinstance(value, dict):
        return ["dict", sorted(([same_value(key), same_value(each)] for key, each in value.items()), key=repr)]
    if isinstance(value, (set, frozenset)):
        return ["set", sorted(map(same_value, value), key=repr)]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [same_value(each) for each in value]]
    return [type(value).__name__, str(value)]


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "__len__": len, "__iter__": iter, "__next__": next, "__bool__": bool, "__str__": str, "__repr__": repr,
    "__getitem__": operator.getitem, "__setitem__": operator.setitem, "__delitem__": operator.delitem,
    "__instancecheck__": lambda kind, value: isinstance(value, kind),
}  # fmt: skip
_BETWEEN: Mapping[str, Callable[..., Any]] = {
    f"__{name}__": getattr(operator, name)
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "floordiv", "mod", "matmul")
} | {"__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor}
"""Operators: only between two objects of the program."""


class Program:
    """The process with the program: it runs it, and then does what the tests ask for."""

    def __init__(self, receive: Any, send: Any) -> None:
        self._receive, self._send = receive, send
        self._objects: list[Any] = []
        self._names: dict[str, Any] = {"__name__": "program", "__builtins__": builtins}
        self._codec = ValueCodec(self._refer, self._resolve)

    def serve(self) -> None:
        """Answer until the tests end."""
        for line in self._receive:
            self._send.write(dumps(self._answer(*loads(line))) + "\n")
            self._send.flush()

    def _refer(self, value: Any) -> Any:
        self._objects.append(value)
        return {"r": len(self._objects) - 1}

    def _resolve(self, letter: str, content: Any) -> Any:
        if letter == "r":
            return self._objects[content]

        def callback(*values: Any) -> Any:
            self._send.write(dumps(["back", content, [self._codec.encode(each) for each in values]]) + "\n")
            self._send.flush()
            is_fine, value = loads(self._receive.readline())
            if not is_fine:
                raise RuntimeError(value)
            return self._codec.decode(value)

        return callback

    def _answer(self, what: str, *given: Any) -> list[Any]:
        try:
            value, changed = getattr(self, f"_{what}")(*given)
            return ["ok", self._encoded(value), changed]
        except BaseException as error:  # a program may raise anything, SystemExit included
            names = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
            return ["raised", names, type(error).__name__, str(error)[:LONGEST_TEXT]]

    def _encoded(self, value: Any) -> Any:
        try:
            return self._codec.encode(value)
        except RecursionError:  # it contains itself, or is very deep
            return self._refer(value)

    def _run(self, source: str) -> tuple[Any, Any]:
        exec(compile(source, "program.py", "exec"), self._names)
        return None, None

    def _name(self, name: str) -> tuple[Any, Any]:
        return self._names[name], None

    def _get(self, number: int, name: str) -> tuple[Any, Any]:
        return getattr(self._objects[number], name), None

    def _set(self, number: int, name: str, value: Any) -> tuple[Any, Any]:
        setattr(self._objects[number], name, self._codec.decode(value))
        return None, None

    def _operate(self, name: str, *values: Any) -> tuple[Any, Any]:
        return {**_OPERATIONS, **_BETWEEN}[name](*map(self._codec.decode, values)), None

    def _call(self, number: int, values: list[Any], named: dict[str, Any]) -> tuple[Any, Any]:
        """Call an object, and return which of its arguments it has changed."""
        given = [self._codec.decode(each) for each in values]
        keywords = {name: self._codec.decode(each) for name, each in named.items()}
        value = self._objects[number](*given, **keywords)
        after = [self._encoded(each) if isinstance(each, (list, dict, set)) else None for each in given]
        return value, [[k, new] for k, new in enumerate(after) if new is not None and new != values[k]]


class Ended(BaseException):
    """The process of the program is gone."""


class Tests:
    """The process with the tests, or with example inputs."""

    def __init__(self, receive: Any, send: Any) -> None:
        self._receive, self._send = receive, send
        self._functions: list[Any] = []
        self._codec = ValueCodec(self._refer, self._resolve)
        self.names = Names(self)

    def ask(self, what: str, *given: Any) -> tuple[Any, Any]:
        """Have the process of the program do something; return its value, and what it changed."""
        try:
            self._tell([what, *given])
            while True:
                line = self._receive.readline()
                if not line:
                    raise Ended("the program ended its process")
                answer = loads(line)
                if answer[0] != "back":
                    break
                self._tell(self._call_back(*answer[1:]))
        except (BrokenPipeError, ConnectionError, ValueError, LookupError, TypeError):
            raise Ended("the program ended its process, or wrote into its pipe") from None
        if answer[0] == "ok":
            return self._decoded(answer[1]), answer[2]
        raise _raised(*answer[1:])

    def send_values(self, values: Values) -> list[Any]:
        """Return values as they are sent."""
        return [self._codec.encode(each) for each in values]

    def call(self, remote: int, values: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Call an object of the program; lists, dicts and sets that it changes are changed here, too."""
        value, changed = self.ask(
            "call", remote, self.send_values(values), {name: self._codec.encode(each) for name, each in named.items()}
        )
        for number, new in changed or ():
            old, now = values[number], self._decoded(new)
            if isinstance(old, list) and isinstance(now, list):
                old[:] = now
            elif isinstance(old, (dict, set)) and type(old) is type(now):
                old.clear()
                old.update(now)
        return value

    def _decoded(self, value: Any) -> Any:
        try:
            return self._codec.decode(value)
        except Exception:  # the program wrote it itself
            raise Ended("the program wrote into its pipe") from None

    def _tell(self, message: list[Any]) -> None:
        self._send.write(dumps(message) + "\n")
        self._send.flush()

    def _refer(self, value: Any) -> Any:
        if isinstance(value, Remote):
            return {"r": object.__getattribute__(value, "_number")}
        if not callable(value):
            raise TypeError(f"a program cannot be given {type(value).__name__}: only plain values and functions")
        self._functions.append(value)
        return {"k": len(self._functions) - 1}

    def _resolve(self, letter: str, content: Any) -> Any:
        if letter != "r":
            raise ValueError(letter)
        return Remote(self, int(content))

    def _call_back(self, number: int, values: list[Any]) -> list[Any]:
        try:
            return [True, self._codec.encode(self._functions[number](*map(self._codec.decode, values)))]
        except Exception as error:  # a function of the tests, with values of the program
            return [False, str(error)[:LONGEST_TEXT]]


def _raised(names: list[Any], name: Any, text: Any) -> Exception:
    """Return an error like the one of the program: of the nearest class that Python has."""
    kinds = (getattr(builtins, str(each), None) for each in names)
    kind = next((each for each in kinds if isinstance(each, type) and issubclass(each, Exception)), Exception)
    try:
        return kind(str(text) if kind.__name__ == name else f"{name}: {text}")
    except TypeError:  # UnicodeDecodeError takes five arguments
        return RuntimeError(f"{name}: {text}")


class Remote:
    """An object of the program, as the tests see it."""

    __slots__ = ("_number", "_tests")

    def __init__(self, tests: Tests, number: int) -> None:
        object.__setattr__(self, "_tests", tests)
        object.__setattr__(self, "_number", number)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a protocol such as __array__ or __float__ would give any value
            raise AttributeError(name)
        return self._tests.ask("get", self._number, name)[0]

    def __setattr__(self, name: str, value: Any) -> None:
        self._tests.ask("set", self._number, name, *self._tests.send_values((value,)))

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Call it."""
        return self._tests.call(self._number, values, named)

    def __hash__(self) -> int:
        return hash(self._number)


def _delegate(name: str, is_between: bool) -> None:
    def operate(self: Any, *others: Any) -> Any:
        if is_between and not all(isinstance(other, Remote) for other in others):
            return NotImplemented
        tests = object.__getattribute__(self, "_tests")
        return tests.ask("operate", name, *tests.send_values((self, *others)))[0]

    setattr(Remote, name, operate)


for _name in (*_OPERATIONS, *_BETWEEN):
    _delegate(_name, _name in _BETWEEN)


class Names(dict):  # type: ignore[type-arg]
    """The names of tests: those that they define, and otherwise those of the program."""

    def __init__(self, tests: Tests) -> None:
        super().__init__(__name__="tests", __builtins__=builtins)
        self._tests = tests

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        return self._tests.ask("name", name)[0]


def passes(tests: Tests, job: Mapping[str, Any]) -> dict[str, Any]:
    """Run tests: their statements, and then their functions `test_...`."""
    exec(compile(job["tests"], "tests.py", "exec"), tests.names)
    for name, value in list(tests.names.items()):
        if name.startswith("test_") and type(value) is type(main):
            value()
    return {"passed": True}


def behaves(tests: Tests, job: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the program gives for each example input."""
    given = []
    for example in job["examples"]:
        try:
            given.append(same_value(eval(compile(example, "example", "eval"), tests.names)))
        except Exception as error:  # of the program
            return {"failed": f"fails on {example[:80]}: {error}"[:LONGEST_TEXT]}
    return {"outputs": given}


def prints(job: Mapping[str, Any]) -> None:
    """Run a program that has no tests; what it prints, and an error that ends it, go to the channel."""
    os.dup2(1, 2)
    try:
        exec(compile(job["program"], "program.py", "exec"), {"__name__": "__main__", "__builtins__": builtins})
    except SystemExit as stop:
        print("" if stop.code in (None, 0) else f"SystemExit: {stop.code}", end="")
    except BaseException as error:
        line = _line_of(error)
        print(f"{type(error).__name__}{f' in line {line}' if line else ''}: {error}")
    sys.stdout.flush()


def _line_of(error: BaseException) -> int | None:
    """Return the line of the program at which an error was raised."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "program.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def limit(seconds: int, memory: int, size: int) -> None:
    """Set the limits of this process: processor time, memory, size of files, number of open files."""
    limits = {"CPU": seconds, "AS": memory, "FSIZE": size, "CORE": 0, "NOFILE": 64}
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard - 1)
        resource.setrlimit(kind, (least, least + (name == "CPU")))  # first a signal that has a name


def main() -> None:
    """Be one of the two processes, or a program `alone`.

    Arguments: which, two descriptors, three limits, further folders of modules.
    """
    which, receive, send, seconds, memory, size, *folders = sys.argv[1:]
    limit(int(seconds), int(memory), int(size))
    sys.path += folders
    sys.argv[1:] = []
    if which == "alone":
        prints(loads(sys.stdin.read()))
        return
    pipes = os.fdopen(int(receive), "r", encoding="ascii"), os.fdopen(int(send), "w", encoding="ascii")
    if which == "program":
        Program(*pipes).serve()
        return
    job = loads(sys.stdin.read())
    verdict = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what tests print is not the verdict
    tests = Tests(*pipes)
    try:
        tests.ask("run", job["program"])
        outcome = (behaves if "examples" in job else passes)(tests, job)
    except BaseException as error:  # of the program or its tests
        outcome = {"failed": f"{type(error).__name__}: {error}".rstrip(": ")[:LONGEST_TEXT]}
    verdict.write(dumps(outcome))
    verdict.flush()
    os._exit(0)
