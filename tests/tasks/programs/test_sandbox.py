"""What programs can and cannot do: values that come back to tests, and attacks on the machine and on the verdict."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from cortexdsl.errors import InputError
from cortexdsl.import_path import isolated_python
from cortexdsl.tasks.programs import sandbox

pytestmark = pytest.mark.sandboxed


def passes(program: str, tests: str) -> bool:
    return sandbox.run({"program": program, "tests": tests}).get("passed", False)


def failure(program: str, tests: str = "assert f(1) == 2") -> str:
    return str(sandbox.run({"program": program, "tests": tests})["failed"])


STACK = """
class Stack:
    def __init__(self): self.items = []
    def push(self, item): self.items.append(item)
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
    def __eq__(self, other): return self.items == other.items
"""


@pytest.mark.parametrize(
    ("program", "tests"),
    [
        ("def f(x):\n    return x + 1", "assert f(1) == 2"),
        ("def f(x):\n    return x", "assert f((1, [2.5, {'a': {1, 2}}, None, True, b'x', 1j])) == "
         "(1, [2.5, {'a': {1, 2}}, None, True, b'x', 1j])"),
        ("def f(x):\n    return x", "assert f(10 ** 400) == 10 ** 400 and f(float('inf')) == float('inf')"),
        ("def f():\n    from fractions import Fraction; return Fraction(1, 3)",
         "from fractions import Fraction\nassert f() == Fraction(1, 3)"),
        ("def f():\n    import datetime; return datetime.date(2024, 2, 29)",
         "import datetime\nassert f() == datetime.date(2024, 2, 29)"),
        ("def f():\n    from collections import Counter, deque; return Counter('aab'), deque([1])",
         "from collections import deque\nassert f() == ({'a': 2, 'b': 1}, deque([1]))"),
        ("def f(values):\n    values.sort()", "v = [3, 1]\nf(v)\nassert v == [1, 3]"),
        ("def f(d, s):\n    d['x'] = 1; s.add(2)", "d, s = {}, set()\nf(d, s)\nassert (d, s) == ({'x': 1}, {2})"),
        ("def f(g, values):\n    return list(map(g, values))", "assert f(lambda x: 2 * x, [1, 2]) == [2, 4]"),
        ("def f(n):\n    yield from range(n)", "assert list(f(3)) == [0, 1, 2]"),
        ("def f():\n    return range(3)", "assert f() == range(3)"),
        (STACK, "s = Stack()\ns.push(3)\nassert len(s) == 1 and s.pop() == 3 and s.items == [] and s == Stack()\n"
         "assert isinstance(s, Stack)"),
        ("def f(x):\n    raise KeyError(x)", "try:\n    f('a')\nexcept KeyError:\n    pass\nelse:\n    assert False"),
        ("class Odd(ValueError): pass\ndef f():\n    raise Odd('no')",
         "try:\n    f()\nexcept ValueError as error:\n    assert 'no' in str(error)"),
        ("def f(x):\n    return x", "def test_one():\n    assert f(1) == 1"),
        ("import numpy\ndef f():\n    return numpy.arange(3.0)", "import numpy\nassert numpy.allclose(f(), [0, 1, 2])"),
        ("open('mine.txt', 'w').write('x')\ndef f():\n    return open('mine.txt').read()", "assert f() == 'x'"),
        ("import threading\ndef f():\n    found = []\n    t = threading.Thread(target=found.append, args=(1,))\n"
         "    t.start(); t.join(); return found", "assert f() == [1]"),
    ],
)  # fmt: skip
def test_plain_values_objects_and_errors_reach_the_tests(program: str, tests: str) -> None:
    assert sandbox.run({"program": program, "tests": tests}) == {"passed": True}


def test_a_test_function_that_fails_is_run() -> None:
    assert "AssertionError" in failure("def f(x):\n    return x", "def test_one():\n    assert f(1) == 2")


ALWAYS = """
class Always:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __gt__ = __le__ = __ge__ = __lt__
    def __sub__(self, other): return self
    __rsub__ = __add__ = __radd__ = __mul__ = __abs__ = __sub__
    def __abs__(self): return 0.0
    def __float__(self): return 5.0
    __int__ = __index__ = __round__ = __float__
    def __array__(self, *given): import numpy; return numpy.array(5.0)
    def __contains__(self, item): return True
    def __hash__(self): return hash(5)
def f(x): return Always()
"""


@pytest.mark.parametrize(
    "tests",
    [
        "assert f(1) == 5", "assert 5 == f(1)", "assert not f(1) != 5", "assert f(1) in [5]",
        "assert abs(f(1) - 5) < 1e-6",
        "assert abs(5 - f(1)) < 1e-6", "assert f(1) < 5", "assert 5 > f(1)", "assert 5 in f(1)",
        "import math\nassert math.isclose(f(1), 5)", "assert round(f(1)) == 5", "assert {5: 1}[f(1)] == 1",
        "import numpy\nassert numpy.allclose(f(1), 5)", "assert [f(1)] == [5]", "assert sum([f(1)]) == 5",
    ],
)  # fmt: skip
def test_an_object_of_a_program_never_decides_a_comparison(tests: str) -> None:
    assert not passes(ALWAYS, tests)
    assert passes("def f(x):\n    return 5", tests) is (
        tests not in ("assert f(1) < 5", "assert 5 > f(1)", "assert 5 in f(1)")
    )


@pytest.mark.parametrize(
    "program",
    [
        "import os\nwhile True:\n    os.fork()",  # a fork bomb
        "import multiprocessing\nmultiprocessing.Process(target=print).start()",
        "import subprocess\nsubprocess.run(['/bin/true'], check=True)",
        "import os\nos.posix_spawn('/bin/sh', ['sh', '-c', 'sleep 60 &'], {})",
        "import threading\nwhile True:\n    threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "x = bytearray(10 * 2 ** 30)",  # 10 GB
        "x = []\nwhile True:\n    x.append(' ' * 2 ** 20)",
        "import sys\nsys.exit(0)",
        "import os\nos._exit(0)",
        "def f(x):\n    import os; os._exit(0)",  # in the middle of a test
        "def f(x):\n    import sys; sys.exit(0)",
        "def f(x):\n    raise SystemExit",
        "import os\nos.kill(os.getppid(), 9)\nos.kill(1, 9)\nos.kill(-1, 9)",  # its parent, and all that it can
        "import ctypes\nctypes.string_at(0)",  # a crash
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(x): return f(x)",
        "while True:\n    print('x' * 10 ** 6)",  # endless output
        "open('big', 'w').write('x' * 2 ** 26)",
        "n = 0\nwhile True:\n    open(str(n), 'w').write('x' * 2 ** 20); n += 1",  # many files
    ],
)
def test_programs_that_use_up_the_machine_or_end_are_failures(program: str) -> None:
    start = time.monotonic()
    assert failure(program)
    assert time.monotonic() - start < sandbox.WALL_SECONDS + 10


def test_a_program_that_sleeps_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "WALL_SECONDS", 2)
    assert failure("import time\ntime.sleep(1000)") == "took more than 2 s, or its tests did"


def test_a_program_that_computes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 1)
    assert failure("while True:\n    pass") == "took more than 1 s"
    assert failure("import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass")


def test_nothing_of_a_program_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ended while it sleeps, after it tried to leave a process and to become a session of its own."""
    monkeypatch.setattr(sandbox, "WALL_SECONDS", 2)
    monkeypatch.setattr(sandbox, "MEMORY", sandbox.MEMORY + os.getpid())  # found by it among all processes
    assert failure("import os, time\ntry:\n    os.fork()\nexcept OSError:\n    pass\ntime.sleep(99)")
    time.sleep(0.5)
    listed = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert not [line for line in listed if str(sandbox.MEMORY).encode() in line]


@pytest.mark.parametrize(
    "attempt",
    [
        "import socket; socket.create_connection(('127.0.0.1', PORT), 2)",
        "import socket; socket.create_connection(('8.8.8.8', 53), 2)",
        "import socket; socket.getaddrinfo('example.org', 80)",
        "open('SECRET').read()",
        "open('/etc/passwd').read()",
        "import os; assert os.listdir('/proc')",
        "import os; assert 'SECRET_KEY' in os.environ",
        "open('/usr/new', 'w')",
        "open('/new', 'w')",
        "open('/code/new', 'w')",
        "open('/dev/new', 'w')",
        "open('/dev/shm/new', 'w')",
        "import os; os.mkdir('/usr/lib/new')",
        "import os; os.setuid(0)",
        "import os; os.chroot('/own')",
        "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
        "import ctypes; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0",
        "import ctypes; assert ctypes.CDLL(None).mount(b'a', b'/own', b'tmpfs', 0, 0) == 0",
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))",
    ],
)
def test_the_machine_cannot_be_read_or_changed(attempt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt raises an error in the program: were it to succeed, the test of the program would pass."""
    import socket

    monkeypatch.setenv("SECRET_KEY", "1")
    (tmp_path / "scores.csv").write_text("secret", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = attempt.replace("PORT", str(server.getsockname()[1])).replace("SECRET'", f"{tmp_path / 'scores.csv'}'")
        program = f"def f():\n    {text}\n    return 'done'"
        assert not passes(program, "assert f() == 'done'")
        assert passes("def f():\n    return 'done'", "assert f() == 'done'")


WRITES = "import os\nfor n in range(3, 64):\n    try:\n        os.write(n, {})\n    except OSError:\n        pass\n"
EQUAL = "class Evil({0}):\n    def __eq__(self, other): return True\n    __hash__ = {0}.__hash__\n"


@pytest.mark.parametrize(
    "program",
    [
        "import sys\nsys.modules['tests'] = sys\nimport builtins\nbuiltins.AssertionError = ValueError",
        "import builtins\nbuiltins.abs = lambda x: 0\nbuiltins.len = lambda x: 2",
        "import gc\nfor o in gc.get_objects():\n    if isinstance(o, dict):\n        o['passed'] = True",
        "import sys\nframe = sys._getframe()\nwhile frame:\n    frame.f_globals['passes'] = print\n"
        "    frame = frame.f_back",
        "print('{\"passed\": true}')\nimport os\nos._exit(0)",
        WRITES.format("b'{\"passed\": true}\\n'") + "os._exit(0)",
        WRITES.format("b'[\"ok\", null, null]\\n' * 9") + "os._exit(0)",
        WRITES.format("b'[\"ok\", true, null]\\n' * 9"),
        WRITES.format('b\'["ok", {"k": 0}, null]\\n\' * 9'),
        WRITES.format("b'[\"back\", 0, []]\\n'"),
        WRITES.format("b'[' * 10 ** 6 + b'\\n'"),
        EQUAL.format("int") + "def f(x): return Evil(3)",
        EQUAL.format("str") + "def f(x): return Evil('a')",
        EQUAL.format("tuple") + "def f(x): return Evil([3])",
    ],
)
def test_a_program_cannot_change_its_tests_or_forge_their_verdict(program: str) -> None:
    wrong = "def f(x): return 3\n"
    assert not passes(f"{wrong}{program}", "assert f(1) == 2\nassert abs(f(1) - 2) == 0\nassert len([f(1)]) == 1")


def test_a_program_gets_only_the_functions_that_tests_hand_it() -> None:
    """A callback gives no way into the process of the tests: it can be called, and has no attributes there."""
    program = "def f(g):\n    g.__globals__['f'] = None\n    return g.__code__.co_consts"
    assert passes(program, "def right(x):\n    return x == 12345\nassert 12345 not in f(right)\nassert f != None")
    assert "can" in failure("def f(g): return 1", "class A: pass\nf(A())")


def test_outputs_on_examples_are_compared_as_python_compares_them() -> None:
    def outputs(program: str) -> object:
        return sandbox.run({"program": program, "examples": ["f(3)"]})["outputs"]

    assert outputs("def f(x): return 0.1 + 0.2") == outputs("def f(x): return 0.3")
    assert outputs("def f(x): return 2.0") == outputs("def f(x): return 2")
    assert outputs("def f(x): return 1234567890") != outputs("def f(x): return 1234567891")
    assert outputs("def f(x): return {1, 2, 3}") == outputs("def f(x): return {3, 2, 1}")
    assert outputs("def f(x): return {'a': 1, 'b': 2}") == outputs("def f(x): return {'b': 2, 'a': 1}")
    assert outputs("def f(x): return [1]") != outputs("def f(x): return (1,)")
    assert outputs("def f(x): return '1'") != outputs("def f(x): return 1")
    assert outputs("def f(x): return float('nan')") == outputs("def f(x): return float('nan')")
    assert outputs("def f(x): yield x") == outputs("def f(x): return iter([x])")


def test_the_limits_are_those_of_the_processes() -> None:
    program = "import resource\ndef f():\n    return resource.getrlimit(resource.RLIMIT_AS)[1]"
    assert passes(program, f"assert f() == {sandbox.MEMORY}")


def test_a_machine_without_bubblewrap_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="there is no bwrap\n    install it: apt install bubblewrap"):
        sandbox.check()


def test_a_bubblewrap_that_starts_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bwrap"
    path.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.9.0 && exit 0\necho no permission >&2\nexit 1\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(InputError, match="starts no sandbox here: no permission"):
        sandbox.check()


def test_the_code_inside_needs_nothing_else_of_the_package() -> None:
    """What it imports takes its time before each run."""
    script = "import sys, cortexdsl.tasks.programs.inside as inside; print(*sorted(sys.modules))"
    folder = sandbox._driver()
    command = [*isolated_python(), "-c", f"import sys; sys.path.insert(0, {folder!r}); {script}"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    own = [name for name in loaded if name.startswith("cortexdsl.tasks.programs.")]
    assert own == ["cortexdsl.tasks.programs.inside", "cortexdsl.tasks.programs.plain_values"]
    assert not {"json", "re", "typing", "collections"} & set(loaded)


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("print(6 * 7)", "42"),
        ("x = 1", "(the program printed nothing)"),
        ("print('a')\n1 / 0", "a\nZeroDivisionError in line 2: division by zero"),
        ("def f(:", "SyntaxError in line 1: invalid syntax (program.py, line 1)"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import sys; print('to stderr', file=sys.stderr)", "to stderr"),
        ("print(__name__)", "__main__"),
        ("import os; print(sorted(os.listdir('/own')), os.environ.get('USER'))", "[] None"),
        ("import subprocess; subprocess.run(['ls'])", "PermissionError in line 1: [Errno 1] Operation not permitted"),
        ("import os\nprint('before', flush=True)\nos._exit(0)\nprint('after')", "before"),
        ("open('/own/x', 'w').write('y'); print(open('/own/x').read())", "y"),
    ],
)
def test_a_program_alone_shows_what_it_prints(program: str, shown: str) -> None:
    assert sandbox.output_of(program) == shown


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import socket; socket.create_connection(('1.1.1.1', 80))", "Network is unreachable"),
        (f"print(open({str(Path(__file__))!r}).read())", "FileNotFoundError"),
        ("open('/usr/x', 'w')", "Read-only file system"),
        ("x = bytearray(2 << 30)", "MemoryError"),
    ],
)
def test_a_program_alone_reaches_nothing(program: str, words: str) -> None:
    assert words in sandbox.output_of(program)


def test_endless_output_is_cut() -> None:
    shown = sandbox.output_of("while True: print('x' * 1000)")
    assert shown.endswith(f"(only the first {sandbox.LONGEST_OUTPUT:,} bytes)")
    assert len(shown) < sandbox.LONGEST_OUTPUT + 100


def test_a_program_alone_ends_at_its_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 1)
    assert sandbox.output_of("while True: pass") == "(ended: it took more than 1 s)"
    monkeypatch.setattr(sandbox, "WALL_SECONDS", 1)
    assert sandbox.output_of("import time; time.sleep(60)") == "(ended: it took more than 1 s)"
