"""What is fuzzed: each target reads bytes of strangers, and may refuse them only with the project's own errors.

A target has seeds (valid input), which are mutated, and tokens, which are put into them. It may take at most
`SECONDS` of processor time for one input.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import math
import random
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

import numpy as np
from aiohttp import web

from cortexdsl.claims.parser import parse_claim
from cortexdsl.core import Call, Model
from cortexdsl.errors import CortexError, InputError
from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.explorer.server import Explorer
from cortexdsl.expressions.evaluation import evaluate, parse
from cortexdsl.logs.pairing import pair_logs
from cortexdsl.logs.plain import read_transcripts
from cortexdsl.logs.sources import read_logs
from cortexdsl.metrics.foreign import foreign_debates
from cortexdsl.models.call_log.folder import CallLogs
from cortexdsl.models.call_log.records import usage_of_line
from cortexdsl.models.transports.direct import DirectTransport
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw
from cortexdsl.models.transports.litellm import LitellmTransport
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.recording import record_files, seal_manifest
from cortexdsl.records.debates import record_from_json
from cortexdsl.stats.tables.score_table import read_table
from cortexdsl.tasks.reading.reader import AnswerReader
from cortexdsl.tasks.sources.files import rows_of
from tests.explorer.experiments import write_experiment
from tests.tasks.reading.test_hostile import KINDS, PIECES, STEPS
from tests.workflow.bench import TWO_ALONE

REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS = 5.0
"""Processor seconds that one input may take. The slowest target, a whole spec, takes 0.1."""
LARGEST = 20_000
COMMON = [
    *(b'"', b"'", b"{", b"}", b"[", b"]", b"(", b")", b",", b":", b"\n", b"\r\n", b"\t", b"\\", b"\0", b"\xff", b"\xef\xbb\xbf"),
    *(b"null", b"true", b"NaN", b"Infinity", b"-1", b"0", b"1e999", b"9" * 400, b"\xe2\x80\xae", b"\\ud800", b"[" * 2000),
]  # fmt: skip


@contextmanager
def quiet() -> Iterator[None]:
    """Log neither each corrupt line of a log nor each bad request."""
    levels = {"cortexdsl": logging.ERROR, "aiohttp.server": logging.CRITICAL}
    earlier = {name: logging.getLogger(name).level for name in levels}
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    try:
        yield
    finally:
        for name, level in earlier.items():
            logging.getLogger(name).setLevel(level)


class TooLongError(BaseException):
    """An input takes more processor time than any may."""


@dataclass(frozen=True)
class Target:
    """A reader of foreign bytes.

    Attributes
    ----------
    name : str
    read : callable
        Takes the bytes; raises an error of the project if it refuses them.
    seeds : callable
        Returns valid inputs.
    tokens : list of bytes
        What the reader knows, besides `COMMON`.
    cost : int
        How many inputs of the cheapest target take as long as one of this.
    """

    name: str
    read: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    tokens: list[bytes]
    cost: int = 1

    def run(self, data: bytes) -> None:
        """Read an input within the time that it may take.

        Raises
        ------
        TooLongError
        Exception
            Any that is not the project's: a defect.
        """
        with within(SECONDS), suppress(CortexError):
            self.read(data)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise after so many processor seconds of this process."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLongError(f"more than {seconds} processor seconds")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def mutated(target: Target, chance: random.Random) -> bytes:
    """Return a seed of a target with some changes, or rarely bytes without any sense."""
    if chance.random() < 0.02:
        return chance.randbytes(chance.randrange(300))
    seeds, tokens = target.seeds(), [*COMMON, *target.tokens]
    data = chance.choice(seeds)
    for _ in range(chance.choice((1, 1, 2, 2, 3, 5, 8))):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((0, 0, 1, 1, 2, 4, 8, 30, 200)))
        part = data[start:end]
        match chance.randrange(7):
            case 0:
                part = chance.choice(tokens)
            case 1:
                part += chance.choice(tokens)
            case 2:
                part *= chance.choice((0, 2, 3, 20))
            case 3:
                part = chance.randbytes(chance.randrange(1, 8))
            case 4 if part:
                part = bytes([part[0] ^ (1 << chance.randrange(8))]) + part[1:]
            case 5:
                part = str(chance.choice((0, 1, -1, 2**31, 2**63, 10**40, 0.1, 1e308))).encode()
            case _:
                other = chance.choice(seeds)
                begin = chance.randrange(len(other))
                part = other[begin : begin + chance.randrange(60)]
        data = (data[:start] + part + data[end:])[:LARGEST]
    return data


@cache
def folder() -> Path:
    """A folder of this process, for inputs that are files."""
    made = Path(tempfile.mkdtemp(prefix="cortexdsl-fuzz-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def file(name: str, data: bytes) -> Path:
    path = folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# ------------------------------------------------------------ specs, expressions, claims
def read_spec(data: bytes) -> None:
    compile_spec(file("specs/fuzzed.yaml", data).as_posix(), "fuzzed")


def spec_seeds() -> list[bytes]:
    own = TWO_ALONE.replace("size: 30", "size: 2")
    quickstart = (REPOSITORY / "specs" / "quickstart.yaml").read_text(encoding="utf-8").replace("size: 100", "size: 2")
    shutil.copytree(REPOSITORY / "specs" / "examples", folder() / "specs", dirs_exist_ok=True)
    more = (
        REPOSITORY / "specs" / "examples" / name for name in ("claims.yaml", "groups.yaml", "graphs.yaml", "six.yaml")
    )
    return [own.encode(), quickstart.encode(), *(path.read_bytes() for path in more)]


SPEC_TOKENS = [
    *(b"models:", b"agents:", b"methods:", b"grid:", b"protocols:", b"extends: ", b"budget: ", b"&a ", b"*a", b"<<: *a", b"!!python/object:os.system "),
    *(b"replicates: ", b"seed: ", b"size: ", b"rounds: ", b"keep: ", b"hears: ", b"schedule: ", b"budget: calls(full)", b"stopping: {batch: 50}"),
    *(b"99999999999", b"-7", b"0.5", b"1e400", b".inf", b".nan", b"? ", b"- ", b"  ", b"|\n", b">-\n", b"# ", b"---\n", b"$keep", b"env:HOME", b"../../x"),
]  # fmt: skip


def read_expression(data: bytes) -> None:
    parse.cache_clear()
    try:
        parsed = parse(text_of(data))
    except ValueError as error:
        raise InputError(str(error)) from None  # as the language reports it
    evaluate(parsed, {name: np.array([[0.5, np.nan], [np.inf, -2.0]]) for name in (*parsed.names, *parsed.keys)})


def expression_seeds() -> list[bytes]:
    return [
        b"credibility * (1 - similarity) ** 2",
        b"max(confidence, 0.5, round)",
        b"min(agreement, 1) >= 0.5 and not (round > 2)",
        b"mean(confidence) + abs(intimacy) / 3 % 2",
        b"chosen(vote) == 1 or any(confidence > 0.5)",
        b"sqrt(reliability) * exp(-participation) <= ceil(round / 2)",
        b"exp(9 ** 9 ** 9) - floor(log(0))",
    ]


EXPRESSION_TOKENS = [
    b"**",
    b"//",
    b"==",
    b"<=",
    b" and ",
    b" or ",
    b"not ",
    b"(",
    b")",
    b"sum(",
    b"max(",
    b"sqrt(",
    b"log(",
    b"lambda:",
    b"x.y",
    b"[0]",
    b":=",
    b"1j",
]


def read_claim(data: bytes) -> None:
    parse_claim(text_of(data))


def claim_seeds() -> list[bytes]:
    """The claims of the shipped examples."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "specs").glob("[!p]*/*.yaml")))
    sections = (text.partition("\nhypotheses:\n")[2] for text in texts)
    claims = (claim for text in sections for claim in re.findall(r"^  - ([^\"'#\n]+?) *(?:#.*)?$", text, re.MULTILINE))
    return [claim.encode() for claim in dict.fromkeys(claims)]


CLAIM_TOKENS = [
    b" > ",
    b" >= ",
    b" = ",
    b" +- ",
    b" and ",
    b" on ",
    b" over ",
    b"accuracy(",
    b"mean(",
    b"trend(",
    b"best(",
    b"round=",
    b"[",
    b"]",
    b"*",
    b"%",
]


# ------------------------------------------------------------ replies
def read_answer(data: bytes) -> None:
    reply = text_of(data)
    for kind in KINDS:
        reader = AnswerReader(kind)
        readings = (reader.strict(reply), reader.lenient(reply), *(reader.read(step, reply) for step in STEPS))
        assert all((reading.value is None) == (reading.unparsed is not None) for reading in readings)


def answer_seeds() -> list[bytes]:
    return [
        b"We add 17 and 25, so it is 42.\nAnswer: 42\nConfidence Score: 0.9",
        b"Therefore \\boxed{\\frac{1}{2}} \xe2\x80\x94 done. #### 0.5",
        b"(B) 12 is right, since x - 1 = 11. I choose B.\nScore: 7/10",
        b'{"answer": "SUPPORTS", "confidence": 85}',
        b"Verdict: yes\nSelected: [1] [3]\n**Answer:** No",
    ]


class Exchange:
    """A server that answers with given bytes, headers included, and both transports."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.ways = {"direct": DirectTransport(), "litellm": LitellmTransport()}
        self.answer = b""
        server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        atexit.register(self.close)

    def close(self) -> None:
        for transport in self.ways.values():
            self.loop.run_until_complete(transport.close())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            await reader.readexactly(int(lengths[0].split(b":")[1]))
            writer.write(self.answer)
            await writer.drain()
        writer.close()

    def send(self, way: str, answer: bytes) -> Raw:
        """Send one call, which is answered with these bytes."""
        self.answer = answer
        entry = Model("m", "direct/n" if way == "direct" else "openai/n")
        call = Call(entry, ({"role": "user", "content": "hi"},), 7)
        return self.loop.run_until_complete(self.ways[way].send(call, self.base, "key"))


@cache
def exchange() -> Exchange:
    return Exchange()


def read_replies(data: bytes) -> None:
    for way in ("direct", "litellm"):
        try:
            raw = exchange().send(way, data)
        except Failure:
            continue
        assert isinstance(raw.text, str)
        assert all(math.isfinite(logprob) for _, logprob in raw.tokens)


def reply_seeds() -> list[bytes]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Answer: 42"}}
    tokens = [{"token": "Answer", "logprob": -0.1, "bytes": [65]}, {"token": ": 42", "logprob": -2.5, "bytes": None}]
    bodies = [
        {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
         "usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}},
        {"choices": [{**choice, "logprobs": {"content": tokens}}], "usage": None},
        {"choices": [{**choice, "message": {"content": "<think>hm</think>7", "reasoning_content": "so"}}]},
        {"error": {"message": "overloaded", "type": "server_error", "code": 529}},
        {"choices": [{**choice, "message": {"content": None, "refusal": "no"}, "finish_reason": "content_filter"}]},
    ]  # fmt: skip
    return [
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        for status, body in (("200 OK", json.dumps(each)) for each in bodies)
    ] + [
        b"HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n<html>login</html>",
    ]


REPLY_TOKENS = [
    *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"Retry-After: -1\r\n"),
    *(b"Location: http://x\r\n", b"HTTP/1.1 301 Moved", b"HTTP/1.1 500 No", b"400", b"503", b'"choices":[]', b'"content":7', b'"error":"x"'),
    *(b'"prompt_tokens":1.5', b'"completion_tokens":-4', b'"logprob":1e999', b"<think>", b"</think>", b"seed", b"tool_calls"),
]  # fmt: skip


# ------------------------------------------------------------ files of results
def read_record(data: bytes) -> None:
    record_from_json(data)


@cache
def experiment() -> Path:
    """A small experiment made by hand."""
    return write_experiment(folder() / "results" / "made")


def record_seeds() -> list[bytes]:
    """Records as they are, and without checksum: nothing but the types of fields then detects a change."""
    files = sorted((experiment() / "debates").rglob("*.jsonl"))
    lines = [line for path in files for line in path.read_bytes().splitlines()]
    return lines[:2] + [unsealed(line) for line in lines[:6]]


def unsealed(line: bytes) -> bytes:
    """Return a line as version 1 had it."""
    record = json.loads(line)
    del record["checksum"]
    return json.dumps({**record, "schema_version": 1}).encode()


RECORD_TOKENS = [
    b'"turns":[]',
    b'"heard":[0]',
    b'"weight":null',
    b'"float64":"AAAA"',
    b'"shape":[2,-1]',
    b'"bits":"//8="',
    b'"complement":"x"',
    b'"schema_version":1',
    b'"schema_version":6',
]


def read_log(data: bytes) -> None:
    path = file("log/calls.jsonl", data)
    path.with_name(".calls.jsonl.index").unlink(missing_ok=True)
    with closing(CallLogs(path.parent)) as logs:
        for key in ("a" * 32, *re.findall(r'"key": ?"([^"]*)"', text_of(data))):
            logs.get(key)
            logs.failure(key)


def log_seeds() -> list[bytes]:
    files = [path.read_bytes() for path in sorted((experiment() / "calls").rglob("*.jsonl"))]
    lines = [line for content in files for line in content.splitlines()]
    bare = [unsealed(line) for line in lines[:3]]
    assert all(map(usage_of_line, [*lines, *bare]))
    return [b"".join(line + b"\n" for line in part) for part in (lines[:3], bare, [lines[0], lines[0]], bare[:1])]


LOG_TOKENS = [
    b'"key":"x"',
    b'"error":"x"',
    b'"usage":{}',
    b'"attempts":-1',
    b'"dollars":1e999',
    b'"schema_version":1',
    b'"schema_version":99',
    b'"reply":null',
]


def read_sealed(data: bytes) -> None:
    """Read bytes as a ledger, and as a manifest."""
    root = folder() / "sealed"
    layout = Layout(root.as_posix())
    file("sealed/manifest.jsonl", data)
    file("sealed/ledger.jsonl", data)
    journal = read_journal(layout)
    assert journal.files.keys() <= {**journal.manifest.sealed, **journal.manifest.later}.keys()


def sealed_seeds() -> list[bytes]:
    root = folder() / "manifest"
    layout = Layout(root.as_posix())
    file("manifest/debates/a.jsonl", b"x")
    file("manifest/scores.csv", b"a,b\n")
    Path(layout.manifest).unlink(missing_ok=True)
    Path(layout.ledger).unlink(missing_ok=True)
    record_files(layout, [root / "debates" / "a.jsonl"])
    seal_manifest(layout)
    record_files(layout, [root / "scores.csv"])
    return [Path(layout.manifest).read_bytes(), Path(layout.ledger).read_bytes()]


SEALED_TOKENS = [
    b'"seal":7',
    b'"path":[]',
    b'"size":"x"',
    b'"sha256":null',
    b'"modified":1e99',
    b'"kind":"declared"',
    b'"declaration":{}',
    b'"tables":[1]',
    b'"before":""',
]


# ------------------------------------------------------------ files of other programs
def read_foreign(data: bytes) -> None:
    path = file("foreign/old.jsonl", data)
    with suppress(CortexError):
        pair_logs(read_logs([str(path)]))
    foreign_debates(read_transcripts(path, dataset="old", cell="imported"), "fuzzed")


def foreign_seeds() -> list[bytes]:
    lines = [
        {"id": "q1", "dataset": "sums", "question": "3 + 4?", "answer": "7", "agents": {"ann": ["I say 7.", "7."], "bob": ["8!", None]}},
        {"id": 2, "agents": [["a", "b"], ["(A)", "(B)"]], "choices": ["x", "y"], "answer": "A", "heard": [[["agent 1", "agent 2"]]]},
        {"agents": {"ann": ["7"]}, "confidence": {"ann": [0.5]}, "prompt_tokens": {"ann": [9]}, "final": "7", "replicate": 2, "models": "m"},
    ]  # fmt: skip
    sample = {
        "evaluation_id": "e", "evaluation_name": "sums", "model_id": "x/m", "sample_id": "q1", "evaluation": {"score": 1.0},
        "input": {"raw": "3 + 4?", "reference": ["7"]}, "answer_attribution": [{"extracted_value": "7", "is_terminal": True}],
        "messages": [{"role": "assistant", "content": "Answer: 7", "speaker": "ann", "round": 0, "turn": 0, "heard": []}],
    }  # fmt: skip
    mallm = {
        "dataset": "sums", "exampleId": "q1", "paradigm": "memory", "input": ["3 + 4?"], "references": ["7"], "finalAnswer": "7",
        "personas": [{"agentId": "a", "model": "m", "personaDescription": "x"}], "scores": {"correct": True},
        "globalMemory": [{"message_id": 0, "turn": 1, "agent_id": "a", "message": "Answer: 7", "memory_ids": []}],
    }  # fmt: skip
    return [(json.dumps(line) + "\n").encode() for line in [*lines, sample, [mallm]]]


FOREIGN_TOKENS = [
    b'"agents":',
    b'"heard":',
    b'"names":[]',
    b'"choices":{}',
    b'"answer":["a"]',
    b'"replicate":-1',
    b'"cell":"../x"',
    b'"dataset":"a/b/c"',
    b'"final":3',
]


def read_tables(data: bytes) -> None:
    """Read bytes as a table of scores, and as the rows of a dataset in each format."""
    readers: list[Callable[[], object]] = [lambda: read_table(file("tables/scores.csv", data))]
    readers += [lambda name=name: list(rows_of(file(f"tables/rows.{name}", data))) for name in ("csv", "json", "jsonl")]
    for read in readers:
        with suppress(CortexError):
            read()


def table_seeds() -> list[bytes]:
    scores = b"dataset,cell,replicate,question_id,score,cluster\nsums,a,1,q1,1,\nsums,b,1,q1,0,\nsums,a,1,q2,0.5,c\nsums,b,1,q2,,c\n"
    return [
        scores,
        scores.replace(b",", b";").replace(b"\n", b"\r\n"),
        '\ufeffquestion\tanswer\n1 + 1?\t2\n"a\tb"\tc\n'.encode("utf-16"),
        b'{"question": "1 + 1?", "answer": 2}\n{"question": "x", "answer": null}\n',
        b'[{"question": "1 + 1?", "rows": [{"answer": "2"}]}]',
    ]


TABLE_TOKENS = [
    b",",
    b";",
    b"\t",
    b'""',
    b"\r",
    b"score",
    b"nan",
    b"1e999",
    b"dataset",
    b"=1+1",
    b"question_id",
    b"\xff\xfe",
    b"|",
]


# ------------------------------------------------------------ the explorer
class Browser:
    """The explorer's server, and a client that sends whole requests as bytes."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        explorer = Explorer([ResultsFolder("made", experiment())])
        for one in explorer.experiments:
            one.catch_up()
        self.port = self.loop.run_until_complete(self._start(explorer))

    async def _start(self, explorer: Explorer) -> int:
        port = [0]
        runner = web.AppRunner(explorer.app("127.0.0.1", lambda: port[0]), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port[0] = runner.addresses[0][1]
        return port[0]

    async def exchange(self, request: bytes) -> bytes:
        """Send a request, and return the response, or what comes until the server closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            if b"\n\n" not in request.replace(b"\r", b""):
                writer.write_eof()  # the server would wait for the rest
            answered = b""
            async with asyncio.timeout(2):
                while not _is_whole(answered) and (more := await reader.read(65_536)):
                    answered += more
            return answered
        except (OSError, TimeoutError):  # it waits for a body that never comes
            return b""
        finally:
            writer.close()


def _is_whole(response: bytes) -> bool:
    """Return whether a response has as many bytes as it says; one that does not say ends with its connection."""
    head, found, body = response.partition(b"\r\n\r\n")
    length = re.search(rb"^content-length: (\d+)\r?$", head, re.MULTILINE | re.IGNORECASE)
    return bool(found) and length is not None and len(body) >= int(length[1])


@cache
def browser() -> Browser:
    return Browser()


def read_request(data: bytes) -> None:
    answered = browser().loop.run_until_complete(
        browser().exchange(data.replace(b"PORT", str(browser().port).encode()))
    )
    assert not re.search(rb"^HTTP/1\.[01] 5\d\d", answered, re.MULTILINE), answered[:300]


def request_seeds() -> list[bytes]:
    paths = [
        "/", "/app.js", "/data/experiments.json", "/data/x/0/experiment.json", "/data/x/0/progress.json",
        "/data/x/0/table.json", "/data/x/0/search.json?text=7", "/data/x/0/question.json?dataset=sums&question=q-1",
        "/data/x/0/debates/1.json", "/data/x/0/calls/1.json", "/report/made/report.html", "/report/made/figures/a.svg",
    ]  # fmt: skip
    head = "Host: 127.0.0.1:PORT\r\nConnection: close\r\nAccept-Encoding: identity\r\n"
    return [f"GET {path} HTTP/1.1\r\n{head}\r\n".encode() for path in paths]


REQUEST_TOKENS = [
    b"../",
    b"%2e%2e%2f",
    b"%00",
    b"%ff",
    b"?text=",
    b"&",
    b"=",
    b"999999",
    b"Host: x\r\n",
    b"Range: bytes=0-\r\n",
    b"POST ",
    b"HEAD ",
    b"OPTIONS * ",
    b"Origin: http://evil\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\r\n",
    b"*",
    b'"',
    b"NEAR",
    b"Cookie: token=x\r\n",
]


TARGETS = {
    target.name: target
    for target in (
        Target("specs", read_spec, cache(spec_seeds), SPEC_TOKENS, cost=40),
        Target("expressions", read_expression, cache(expression_seeds), EXPRESSION_TOKENS),
        Target("claims", read_claim, cache(claim_seeds), CLAIM_TOKENS, cost=8),
        Target("answers", read_answer, cache(answer_seeds), [piece.encode("utf-8", "surrogatepass") for piece in PIECES], cost=5),
        Target("replies", read_replies, cache(reply_seeds), REPLY_TOKENS, cost=10),
        Target("records", read_record, cache(record_seeds), RECORD_TOKENS),
        Target("logs", read_log, cache(log_seeds), LOG_TOKENS, cost=2),
        Target("sealed", read_sealed, cache(sealed_seeds), SEALED_TOKENS, cost=2),
        Target("foreign", read_foreign, cache(foreign_seeds), FOREIGN_TOKENS, cost=4),
        Target("tables", read_tables, cache(table_seeds), TABLE_TOKENS, cost=10),
        Target("requests", read_request, cache(request_seeds), REQUEST_TOKENS, cost=20),
    )
}  # fmt: skip
