"""Find the logs among files, folders and patterns, recognise each by its content, and read it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.logs.formats import FORMATS, INSPECT, PROMPTFOO, Format
from cortexdsl.logs.samples import Log
from cortexdsl.records.inspect_logs import is_archive, is_json_log
from cortexdsl.typed_json import parse_json

_MOST_BYTES = 4 << 30
"""Of a file of JSON, which is read whole."""
_COMPANIONS = ("run_spec.json", "scenario_state.json", "scenario.json", "stats.json", "per_instance_stats_slim.json",
           "manifest.json", "logs.json", "ledger.jsonl")  # fmt: skip
"""Files that tools write next to their logs, and that hold no samples."""
KNOWN = (
    "Inspect (.eval, .json), lm-evaluation-harness (samples_*.jsonl), Every Eval Ever (*_samples.jsonl), promptfoo, "
    "HELM (per_instance_stats.json), MALLM, MASLab"
)


def read_logs(paths: Sequence[str]) -> list[Log]:
    """Read all logs of some files, folders and patterns such as `logs/*.eval`.

    Raises
    ------
    DataError
        A file is not a log, cannot be read, or holds no sample; a folder holds no log; a pattern finds nothing.
    """
    logs = []
    for path in (path for text in paths for path in _files(text)):
        found = list(_read(path))
        if not any(log.samples for log in found):
            raise DataError(f"{path}: no samples in it\n    was the run written with its samples?")
        logs += found
    for log in logs:
        if not any(value is not None for sample in log.samples for value in sample.scores.values()):
            raise DataError(
                f"{log.source}: its samples have no scores that are numbers\n    score them first with {log.tool}, or"
                " grade the replies: cortexdsl grade"
            )
    return logs


def is_log(path: Path) -> bool:
    """Return whether a file is a log, and not a table."""
    return path.suffix in (".eval", ".json", ".jsonl") or zipfile.is_zipfile(path)


def _files(text: str) -> Sequence[Path]:
    """Return the files that an argument means, in the order of their names."""
    path = Path(text)
    if path.is_dir():
        found = sorted(each for each in path.rglob("*") if each.is_file() and is_log(each) and not _is_companion(each))
        if not found:
            raise DataError(f"{path}: no log in this folder\n    known are logs of {KNOWN}")
        return found
    if path.is_file():
        return [path]
    matches = sorted(Path(path.anchor).glob(text.removeprefix(path.anchor)))
    if not matches:
        raise DataError(f"{text}: there is no such file or folder")
    return [file for match in matches for file in _files(str(match)) if not _is_companion(file)]


def _is_companion(path: Path) -> bool:
    """Return whether a file only says more about the log next to it."""
    time = path.stem.removeprefix("results_")  # of lm-evaluation-harness
    is_summary = time != path.stem and any(path.parent.glob(f"samples_*{time}.jsonl"))
    return path.name in _COMPANIONS or is_summary or path.with_name(f"{path.stem}_samples.jsonl").is_file()


def _read(path: Path) -> Iterator[Log]:
    """Recognise a file, and read it."""
    if zipfile.is_zipfile(path):
        if not is_archive(path):
            raise DataError(f"{path}: this archive does not hold a log of Inspect\n    known are logs of {KNOWN}")
        yield from INSPECT.read(path, ())
        return
    with path.open("rb") as stream:
        first = stream.read(2)
    if first[:1] not in (b"{", b"["):
        what = "it begins like a pickle, which is not opened" if first[:1] == b"\x80" else "it is no JSON"
        what = "it is an archive without its end; is the file cut?" if first == b"PK" else what
        raise DataError(f"{path}: {what}\n    known are logs of {KNOWN}, and tables of scores (CSV)")
    try:
        form, rows = _recognised(path)
        yield from form.read(path, rows)
    except (KeyError, TypeError, AttributeError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path}: it does not have the form of its tool: {what}\n    is it whole?") from None


def _recognised(path: Path) -> tuple[Format, Iterable[dict[str, Any]]]:
    """Return the format of a file and its rows: its lines, or what it is as one value of JSON."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        line = parse_json(stream.readline(16 << 20))
    if (form := _format_of(line)) is not None:
        return form, _rows(path)
    if path.stat().st_size > _MOST_BYTES:
        raise DataError(f"{path}: {path.stat().st_size >> 30} GiB of JSON is more than is read\n    split it by model")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: this is no JSON: {error}\n    is the file cut?") from None
    if is_json_log(found):
        return INSPECT, ()
    if isinstance(found, dict):
        results = found.get("results")
        if isinstance(results, dict) and isinstance(results.get("results"), list):
            return PROMPTFOO, results["results"]
        is_harness = {"results", "configs"} <= found.keys()
        if is_harness or "evaluation_results" in found:
            their = "samples_*.jsonl (lm_eval --log_samples writes them)" if is_harness else "*_samples.jsonl"
            raise DataError(f"{path}: this file holds means alone\n    give the file of its samples, {their}")
    elif isinstance(found, list) and found and (form := _format_of(found[0])) is not None:
        return form, found
    raise DataError(f"{path}: the log of no tool that is known here\n    known are logs of {KNOWN}")


def _format_of(row: Any) -> Format | None:
    return next((form for form in FORMATS if isinstance(row, dict) and form.keys <= row.keys()), None)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError:
                    raise DataError(f"{path}:{number}: this line is no JSON\n    is the file cut?") from None
