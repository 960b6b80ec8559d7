"""Find the logs among files, folders and patterns, recognise each by its content, and read it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.logs.formats import FORMATS, INSPECT, PROMPTFOO, Format, Row
from cortexdsl.logs.inspect_logs import is_archive, is_json_log
from cortexdsl.logs.samples import Log
from cortexdsl.logs.transcripts import WHERE
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
        form, rows = open_log(path)
        if form is None:
            raise DataError(f"{path}: the log of no tool that is known here\n    known are logs of {KNOWN}")
        found = list(form.logs(path, rows))
        if not any(log.samples for log in found):
            raise DataError(f"{path}: no samples in it\n    was the run written with its samples?")
        for log in found:
            if not any(value is not None for sample in log.samples for value in sample.scores.values()):
                remedy = form.remedy.format(tool=form.tool)
                raise DataError(f"{path}: its samples have no scores that are numbers\n    {remedy}")
        logs += found
    return logs


def is_log(path: Path) -> bool:
    """Return whether a file is a log, and not a table."""
    return path.suffix in (".eval", ".json", ".jsonl") or zipfile.is_zipfile(path)


def open_log(path: Path) -> tuple[Format | None, Iterable[Row]]:
    """Return the format of a file and its rows: its lines, or the list in it. The format is None if it is not known.

    Raises
    ------
    DataError
        It is not JSON, or it is a log without samples.
    """
    if zipfile.is_zipfile(path):
        if not is_archive(path):
            raise DataError(f"{path}: this archive does not hold a log of Inspect\n    known are logs of {KNOWN}")
        return INSPECT, ()
    with path.open("rb") as stream:
        start = stream.readline(16 << 20)
    if start[:1] not in (b"{", b"["):
        what = "it begins like a pickle, which is not opened" if start[:1] == b"\x80" else "it is no JSON"
        what = what if start else "it is empty"
        what = "it is an archive without its end; is the file cut?" if start[:2] == b"PK" else what
        raise DataError(f"{path}: {what}\n    known are logs of {KNOWN}, and tables of scores (CSV)")
    line = parse_json(start)
    if (form := _format_of(line)) is not None:
        return form, _lines(path)
    if path.stat().st_size > _MOST_BYTES:
        raise DataError(f"{path}: {path.stat().st_size >> 30} GiB of JSON is more than is read\n    split it by model")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        if line is None:
            raise DataError(f"{path}: this is no JSON: {error}\n    is the file cut?") from None
        return None, _lines(path)
    if isinstance(found, list) and found and (form := _format_of(found[0])) is not None:
        return form, (row | {WHERE: f"{path}: debate {number}"} for number, row in enumerate(found, 1))
    return _of_object(path, found) or (None, _lines(path))


def _of_object(path: Path, found: Any) -> tuple[Format, Sequence[Row]] | None:
    """Return the format and rows of a tool that writes one object; None if it is of no tool."""
    if not isinstance(found, dict):
        return None
    if is_json_log(found):
        return INSPECT, ()
    results = found.get("results")
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        return PROMPTFOO, results["results"]
    is_harness = {"results", "configs"} <= found.keys()
    if is_harness or "evaluation_results" in found:
        their = "samples_*.jsonl (lm_eval --log_samples writes them)" if is_harness else "*_samples.jsonl"
        raise DataError(f"{path}: this file holds means alone\n    give the file of its samples, {their}")
    return None


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


def _format_of(row: Any) -> Format | None:
    return next((form for form in FORMATS if isinstance(row, dict) and form.keys <= row.keys()), None)


def _lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                where = f"{path}:{number}"
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    raise DataError(f"{where}: this line is no JSON\n    is the file cut?") from None
                if not isinstance(row, dict):
                    raise DataError(f"{where}: this line is not an object of JSON\n    is it of another file?")
                yield row | {WHERE: where}
