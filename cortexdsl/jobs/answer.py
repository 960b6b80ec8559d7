"""Rule `answer`: an engine answers one file of requests (docs/files.md).

The file of replies has one line for each request, in the same order: the reply, or that there is none. What an engine
that was killed has written is kept in a hidden file, and is not asked again.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from cortexdsl.core import Engine
from cortexdsl.errors import InputError, ModelError
from cortexdsl.files import write_file
from cortexdsl.jobs.arguments import add_spec, plan_of_job
from cortexdsl.models.rounds.engines import program_of
from cortexdsl.models.rounds.lines import BatchResponse, custom_id_in, reply_line
from cortexdsl.models.rounds.replies import missing_line, read_replies, reply_in
from cortexdsl.models.servers.processes import launch, stop, why
from cortexdsl.models.transports.failures import from_status
from cortexdsl.numbers import counted
from cortexdsl.plan.jobs.consent import check_consent

_REFUSED = 400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    parser.add_argument("--engine", required=True, help="the entry of engines")
    parser.add_argument("--requests", required=True, type=Path, help="the file to answer")
    parser.add_argument("--out", required=True, type=Path, help="the file of replies to write")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.requests.stat().st_size == 0:  # the debates had ended before
        write_file(args.out, ())
        return 0
    plan = plan_of_job(args.spec, args.experiment)
    check_consent(plan)
    print(answer(args.engine, plan.engines[args.engine], args.requests, args.out), file=sys.stderr)
    return 0


def answer(name: str, engine: Engine, requests: Path, out: Path) -> str:
    """Have an engine answer a file of requests, and return a message.

    Raises
    ------
    InputError
        There is no such program, or it writes another format.
    ModelError
        It has answered no request.
    """
    with requests.open("rb") as file:
        lines = {custom_id_in(line) or "": line for line in file}
    kept, asked, told = (out.with_name(f".{out.name}.{part}") for part in ("kept", "asked", "new"))
    number, part = out.parent.name, out.name.removesuffix(".replies.jsonl")
    log = out.parents[2] / "logs" / "rounds" / f"{number}-{part}.engine.log"
    earlier = read_replies(kept, lines) | read_replies(told, lines)
    if not any(reply.status < _REFUSED for reply in earlier.values()):
        earlier = {}  # what every request was refused for may be corrected since
    if earlier:
        write_file(kept, (reply_line(key, reply) + b"\n" for key, reply in earlier.items()))
    told.unlink(missing_ok=True)
    open_lines = [line for key, line in lines.items() if key not in earlier]
    new: dict[str, BatchResponse] = {}
    reason = ""
    if open_lines:
        write_file(asked, open_lines)
        reason = _run(name, engine, asked, told, log)
        new = read_replies(told, lines)
    replies = earlier | new
    if not any(reply.status < _REFUSED for reply in replies.values()):
        _refuse(name, replies, told, reason)
    lacking = f"the engine {name} has not answered" + (f": {reason}" if reason else "")
    made = (reply_line(key, replies[key]) if key in replies else missing_line(key, lacking) for key in lines)
    write_file(out, (line + b"\n" for line in made))
    for path in (kept, asked, told):
        path.unlink(missing_ok=True)
    message = f"{name}: {counted(len(replies), 'reply', 'replies')} to {counted(len(lines), 'request')}"
    return message if len(replies) == len(lines) else f"{message}, {lacking}"


def _run(name: str, engine: Engine, requests: Path, replies: Path, log: Path) -> str:
    """Run the command, and return how it ended if not well."""
    program_of(name, engine)
    paths = {"{requests}": str(requests), "{replies}": str(replies)}
    words = [
        re.sub("{requests}|{replies}", lambda place: paths[place[0]], word) for word in shlex.split(engine.command)
    ]
    log.unlink(missing_ok=True)
    process = launch(words, log=log)
    try:
        status = process.wait()
    except BaseException:
        stop(process)
        raise
    if status == 0:
        return ""
    words_of_engine = why(log.read_text(encoding="utf-8", errors="replace"), status)
    return f"it ended with status {status}{words_of_engine}\n    its log: {log}"


def _refuse(name: str, replies: Mapping[str, BatchResponse], told: Path, reason: str) -> None:
    """Raise the error of an engine that has answered nothing."""
    if not replies and not reason:
        if not told.exists():
            raise InputError(
                f"engine {name}: it ended well, and wrote no file of replies\n    let it write to {{replies}}"
            )
        lines = told.read_bytes().splitlines()
        if not any(map(reply_in, lines)):
            first = lines[0][:200].decode("utf-8", "replace").strip() if lines else ""
            raise InputError(
                f"engine {name}: the file of replies is not in OpenAI's batch format, whose lines have custom_id and "
                f"response\n    its first line: {first or '(empty)'}"
            )
    if replies:
        refused = next(iter(replies.values()))
        failure = from_status(refused.status, refused.body.decode("utf-8", "replace"), {}, 0.0)
        if failure.kind.is_data or failure.kind.is_retried:
            return
        reason = f"{failure}\n    {failure.kind.remedy}" + (f"\n    {reason}" if reason else "")
    raise ModelError(f"engine {name}: it answered no request: {reason or 'its file of replies has none of them'}")
