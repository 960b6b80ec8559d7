"""Logs of Inspect (UK AI Security Institute), read by its own library: their scores, and the debates in them.

The calls of models in a sample's transcript are the debate. The speaker is the innermost agent that made the call, else
the role of its model, else the model if there are several. The calls of scorers are left out. A call heard an earlier
reply if its input holds it: as a message, or word for word in a message, which short replies may do by chance.
Logs that `cortexdsl export` wrote have no such transcript; their messages say speaker, round and turn.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from cortexdsl.errors import CortexError, DataError, InputError
from cortexdsl.logs.transcripts import WHERE, Message, own_message

_MOST_BYTES = 4 << 30
"""Of the summaries of a log, and of each of its samples, unpacked; a zip bomb is larger."""
_FEWEST_LETTERS = 20
"""Of a reply that counts as heard where its text stands in a prompt: a `7` stands in many."""


def is_archive(path: Path) -> bool:
    """Return whether a ZIP archive has the form of a log.

    Raises
    ------
    DataError
        It unpacks to more than a log holds.
    """
    with zipfile.ZipFile(path) as archive:
        sizes = {one.filename: one.file_size for one in archive.infolist()}
    samples = [size for name, size in sizes.items() if name.startswith("samples/")]
    size = max(sum(sizes.values()) - sum(samples), *samples, 0)
    if size > _MOST_BYTES:
        raise DataError(
            f"{path}: it unpacks to {size >> 30} GiB at once: more than a log of Inspect holds\n"
            "    ask for the log again, and do not unpack this one"
        )
    return not sizes.keys().isdisjoint(("header.json", "_journal/start.json"))


def is_json_log(value: Any) -> bool:
    """Return whether a parsed file is a log in JSON."""
    return isinstance(value, dict) and {"eval", "version", "status"} <= set(value)


def read_summaries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield what a log says of each sample without its messages; a score of several values is one score for each.

    Raises
    ------
    InputError
        inspect_ai is not installed.
    DataError
        The log is damaged, or its run did not finish.
    """
    with _opened(path) as (reader, head):
        summaries = reader.read_eval_log_sample_summaries(str(path))
    for row in (summary.model_dump() for summary in summaries):
        scores: dict[str, Any] = {}
        for name, score in (row["scores"] or {}).items():
            parts = score["value"] if isinstance(score["value"], dict) else {"": score["value"]}
            scores |= {f"{name}/{part}" if part else name: value for part, value in parts.items()}
        dataset = head.eval.dataset.name if _own_cell(head) else head.eval.task  # a task of ours is one cell
        yield row | {"dataset": dataset, "model": _model_of(head), "scores": scores}


def read_samples(path: Path) -> Iterator[dict[str, Any]]:
    """Yield each sample with its messages; raises the errors of `read_summaries`."""
    with _opened(path) as (reader, head):
        dataset = head.eval.dataset.name or head.eval.task
        cell = _own_cell(head) or _model_of(head).rpartition("/")[2]
        for sample in reader.read_eval_log_samples(str(path), resolve_attachments="core"):
            where = f"{path}: sample {sample.id}, epoch {sample.epoch}"
            yield {WHERE: where, "id": sample.id, "epoch": sample.epoch, "dataset": dataset, "cell": cell,
                   "sample": sample}  # fmt: skip


def words_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the debate of a sample in the words of a transcript."""
    sample = row["sample"]
    target = sample.target if isinstance(sample.target, str) else next(iter(sample.target), "")
    return {
        "messages": _told(sample.messages) or _called(sample.events),
        "question": sample.input if isinstance(sample.input, str) else "\n\n".join(one.text for one in sample.input),
        "choices": sample.choices,
        "answer": target or None,
        "final": sample.output.completion or None,
    }


@contextmanager
def _opened(path: Path) -> Iterator[tuple[ModuleType, Any]]:
    """Yield Inspect's module of logs and the head of a log; its errors while it reads become one sentence."""
    try:
        reader = import_module("inspect_ai.log")
    except ImportError:
        raise InputError(
            f"{path}: a log of Inspect is read by its own library\n    install it: pip install 'cortexdsl[logs]'"
        ) from None
    try:
        head = reader.read_eval_log(str(path), header_only=True)
        if head.status != "success":
            raise DataError(
                f"{path}: this run did not finish ({head.status})\n    finish it: inspect eval-retry {path}"
            )
        yield reader, head
    except CortexError:
        raise
    except Exception as error:  # its readers raise what they like
        first = str(error.__cause__ or error).strip().splitlines() or [type(error).__name__]
        raise DataError(
            f"{path}: Inspect cannot read it: {first[0][:200]}\n"
            "    is it whole, and of no newer Inspect than the one that is installed here?"
        ) from None


def _own_cell(head: Any) -> str | None:
    """Return the cell that `cortexdsl export` names."""
    return (head.eval.metadata or {}).get("cell")


def _model_of(head: Any) -> str:
    """Return what ran: the cell of a log of ours, else the model, with the solver if the run names one."""
    solver = f", {head.eval.solver}" if head.eval.solver else ""
    return _own_cell(head) or f"{head.eval.model}{solver}"


def _told(messages: Sequence[Any]) -> list[Message]:
    """Return the messages of a log of ours, which say who spoke."""
    own = [(one, one.metadata) for one in messages if one.role == "assistant" and "heard" in (one.metadata or {})]
    # Their text follows a line that says who spoke.
    return [own_message(said, said.get("text", one.text.partition("\n\n")[2]), one.model) for one, said in own]


def _called(events: Sequence[Any]) -> list[Message]:
    """Return the replies of models that have text, in the order of the transcript."""
    spans = {event.id: event for event in events if event.event == "span_begin"}
    calls = [(event, [*_around(event.span_id, spans)]) for event in events if event.event == "model"]
    calls = [
        (event, around)
        for event, around in calls
        if event.output.completion.strip() and not any(span.type in ("scorer", "scorers") for span in around)
    ]
    several = len({event.model for event, _ in calls}) > 1
    replies: list[Message] = []
    for event, around in calls:
        agent = next((span.name for span in around if span.type == "agent"), None)
        usage = event.output.usage
        replies.append(
            Message(
                speaker=agent or event.role or (event.model if several else "agent"),
                text=event.output.completion,
                id=event.output.choices[0].message.id,
                heard=[reply.id for reply in replies if _holds(event.input, reply)],
                model=event.model,
                tokens=(usage.input_tokens, usage.output_tokens) if usage else (None, None),
            )
        )
    return replies


def _around(span: str | None, spans: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the spans around an event, the innermost first."""
    while begun := spans.get(span or ""):
        yield begun
        span = begun.parent_id


def _holds(prompt: Sequence[Any], reply: Message) -> bool:
    text = reply.text.strip()
    return any(one.id == reply.id or (len(text) >= _FEWEST_LETTERS and text in one.text) for one in prompt)
