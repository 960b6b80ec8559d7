"""The formats of logs: where each tool has the fields of a sample.

Each is read as its tool writes it, in these files of its repository:

- lm-evaluation-harness 0.4: `samples_TASK_TIME.jsonl` (next to `results_TIME.json`), EleutherAI/lm-evaluation-harness,
  lm_eval/loggers/evaluation_tracker.py
- promptfoo, version 3 of `eval -o FILE.json`: `EvaluateResult` in promptfoo/promptfoo, src/types/index.ts
- HELM 0.5, `per_instance_stats.json`: `PerInstanceStats` in stanford-crfm/helm, src/helm/benchmark/metrics/metric.py
- Every Eval Ever, samples of schema 0.3: evaleval/every_eval_ever
- MALLM, `-eval.json`: Multi-Agent-LLMs/mallm, mallm/scheduler.py and mallm/evaluation/evaluator.py
- MASLab, `METHOD_infer.jsonl`: MASWorks/MASLab, inference.py
- Inspect, `.eval` and JSON: by its own reader

A path leads through the keys of a sample, from left to right; `*` adds up numbers of all keys. What no path can say,
such as the model of a log that stands in another file, a function adds to the samples as keys of their own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from cortexdsl.core import EMPTY, by_key
from cortexdsl.errors import DataError
from cortexdsl.logs.samples import Log, LoggedSample, digest_of, facts_of, score_of
from cortexdsl.records.inspect_logs import model_of, opened
from cortexdsl.tasks.replies import grade_rows

Row: TypeAlias = dict[str, Any]
OWN_MODELS = "cortexdsl/"
"""Begins the model of our own records of Every Eval Ever, which is a cell."""


def _as_they_are(path: Path, rows: Iterable[Row]) -> Iterable[Row]:
    return rows


@dataclass(frozen=True, slots=True)
class Format:
    """A format of logs.

    Attributes
    ----------
    tool : str
    keys : set of str
        The keys by which a sample is recognised.
    id, dataset, model, scores : str
        Paths to what every sample has; `scores` leads to values by the names of scores.
    asked : tuple of str
        Paths to what the model was asked; samples with the same are paired.
    epoch, facts : str
        Paths to which of several answers it is, by default the first, and to facts of the question.
    costs : mapping of str to str
        Paths to `input_tokens, output_tokens, seconds, milliseconds, dollars`.
    samples : callable
        Returns the samples of a file, from what was read of it.
    """

    tool: str
    keys: frozenset[str]
    id: str
    dataset: str
    model: str
    asked: tuple[str, ...]
    scores: str = "scores"
    epoch: str = "epoch"
    facts: str = "metadata"
    costs: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    samples: Callable[[Path, Iterable[Row]], Iterable[Row]] = _as_they_are

    def read(self, path: Path, rows: Iterable[Row]) -> Iterator[Log]:
        """Yield a log for each dataset and model, in order of appearance."""
        logs = by_key(
            ((str(_at(row, self.dataset)), str(_at(row, self.model)).removeprefix(OWN_MODELS)), self._sample(path, row))
            for row in self.samples(path, rows)
        )
        for (dataset, model), samples in logs.items():
            yield Log(str(path), self.tool, dataset, model, tuple(samples))

    def _sample(self, path: Path, row: Row) -> LoggedSample:
        identity, epoch = str(_needed(row, self.id)), str(_at(row, self.epoch) or 1)
        asked = [_at(row, one) for one in self.asked]
        scores = {
            str(name): score_of(value, f"{path}: sample {identity}: score {name}")
            for name, value in (_at(row, self.scores) or {}).items()
        }
        costs = {name: _at(row, one) for name, one in self.costs.items()}
        if (milliseconds := costs.pop("milliseconds", None)) is not None:
            costs["seconds"] = milliseconds / 1000
        return LoggedSample(
            identity, int(epoch) if epoch.isdecimal() else 1,
            digest_of(asked[0] if len(asked) == 1 else asked if any(asked) else None), scores,
            {name: float(cost) for name, cost in costs.items() if isinstance(cost, int | float)},
            facts_of(_at(row, self.facts)),
        )  # fmt: skip


def _at(value: Any, path: str) -> Any:
    """Return what a path leads to; None if it leads to nothing."""
    if not path or value is None:
        return value
    key, _, rest = path.partition(".")
    if key != "*":
        return _at(value.get(key), rest)
    found = [_at(each, rest) for each in value.values()]
    return sum(each or 0 for each in found) if found else None


def _needed(row: Row, key: str) -> Any:
    if (value := row[key]) is None:
        raise KeyError(key)
    return value


def _harness(path: Path, rows: Iterable[Row]) -> Iterable[Row]:
    """Join the rows of a sample, one for each filter; a score is called `METRIC,FILTER`, as the tool calls it."""
    task, _, time = path.stem.removeprefix("samples_").rpartition("_")
    found = _next_to(path, f"results_{time}.json")
    kind, name = found.get("model_source"), found.get("model_name")  # a model without settings has a digest as its name
    model = name if name and (_at(found, "config.model_args") or not kind) else kind or path.parent.name
    samples: dict[Any, dict[str, Any]] = {}
    for row in rows:
        own = row | {"task": task, "model": model, "asked": row.get("doc_hash") or row.get("doc"), "scores": {}}
        scores = samples.setdefault(row["doc_id"], own)["scores"]
        values = {name: row.get(name) for name in row.get("metrics") or ()}
        suffix = f",{row['filter']}" if row.get("filter") else ""
        # Other values are parts of a statistic of all samples.
        scores |= {f"{name}{suffix}": one for name, one in values.items() if isinstance(one, bool | int | float)}
    return samples.values()


def _promptfoo(path: Path, rows: Iterable[Row]) -> Iterable[Row]:
    """Name each provider a model, with several prompts each pair of them, and number the repetitions of tests."""

    def name(value: Any, *keys: str) -> str:
        return value if isinstance(value, str) else str(next(filter(None, map((value or {}).get, keys)), ""))

    rows = list(rows)
    prompts = [name(row.get("prompt"), "label", "raw") or str(row.get("promptIdx", "")) for row in rows]
    seen: Counter[tuple[str, str]] = Counter()
    for row, prompt in zip(rows, prompts, strict=True):
        provider, variables = name(row.get("provider"), "label", "id"), row.get("vars") or {}
        place = (
            provider if len(set(prompts)) == 1 else f"{provider}, {prompt}",
            str(row.get("testIdx", digest_of(variables))),
        )
        seen[place] += 1
        scores = {"pass": row.get("success"), "score": row.get("score")} | (row.get("namedScores") or {})
        usage = row.get("tokenUsage") or (row.get("response") or {}).get("tokenUsage")
        yield row | {"id": place[1], "dataset": "tests", "model": place[0], "epoch": seen[place], "scores": scores,
                     "usage": usage}  # fmt: skip


def _helm(path: Path, rows: Iterable[Row]) -> Iterable[Row]:
    """Add the model and what was asked, which stand in other files of the folder."""
    spec = _next_to(path, "run_spec.json")
    states = _next_to(path, "scenario_state.json").get("request_states") or ()
    asked = {state["instance"]["id"]: state["instance"]["input"] for state in states}
    name = str(spec.get("name") or path.parent.name)
    model = _at(spec, "adapter_spec.model") or name
    dataset = ",".join(part for part in name.split(",") if not part.startswith("model="))
    for row in rows:
        identity = str(row["instance_id"]) + (f" {row['perturbation'].get('name')}" if row.get("perturbation") else "")
        yield {"id": identity, "dataset": dataset, "model": model, "asked": asked.get(row["instance_id"]),
               "epoch": int(row.get("train_trial_index") or 0) + 1,
               "scores": {each["name"]["name"]: each.get("mean") for each in row["stats"]}}  # fmt: skip


def _every_eval_ever(path: Path, rows: Iterable[Row]) -> Iterable[Row]:
    for row in rows:
        yield row | {"scores": {row.get("evaluation_result_id") or "score": row["evaluation"].get("score")}}


def _mallm(path: Path, rows: Iterable[Row]) -> Iterable[Row]:
    rows = list(rows)
    if not any(row.get("scores") for row in rows):
        raise DataError(f"{path}: these debates have no scores\n    let MALLM add them: mallm-evaluate")
    for row in rows:
        yield row | {"dataset": row.get("dataset") or "data", "paradigm": row.get("paradigm") or path.stem}


def _maslab(path: Path, rows: Iterable[Row]) -> Iterable[Row]:
    """Grade the answers as `cortexdsl grade` does: the files themselves have no scores."""
    rows = list(rows)
    if not any("response" in row or "error" in row for row in rows):
        raise KeyError("response")
    graded = grade_rows([
        {"task": row.get("source", ""), "question": row["query"], "gold": row["gt"],
         "output": row.get("response") or ""} for row in rows
    ])  # fmt: skip
    dataset, method = path.parent.parent.name, path.stem.removesuffix("_infer")
    for row, each in zip(rows, graded, strict=True):
        yield row | {"id": digest_of([row["query"], row["gt"]]), "dataset": row.get("source") or dataset,
                     "method": method, "scores": {"graded": each.score}}  # fmt: skip


def _inspect(path: Path, rows: Iterable[Row]) -> Iterable[Row]:
    """Read a log by Inspect's own reader (the extra `logs`); a score of several values is one score for each."""
    with opened(path) as (reader, head):
        summaries = reader.read_eval_log_sample_summaries(str(path))
    for row in (summary.model_dump() for summary in summaries):
        scores: dict[str, Any] = {}
        for name, score in (row["scores"] or {}).items():
            parts = score["value"] if isinstance(score["value"], dict) else {"": score["value"]}
            scores |= {f"{name}/{part}" if part else name: value for part, value in parts.items()}
        yield row | {"dataset": head.eval.task, "model": model_of(head), "scores": scores}


def _next_to(path: Path, name: str) -> Row:
    file = path.with_name(name)
    try:
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: this is no JSON: {error}") from None
    return found if isinstance(found, dict) else {}


def _tokens(sent: str, replied: str, **others: str) -> Mapping[str, str]:
    return {"input_tokens": sent, "output_tokens": replied, **others}


INSPECT = Format(
    "Inspect", frozenset(), "id", "dataset", "model", ("input", "target"), samples=_inspect,
    costs=_tokens("model_usage.*.input_tokens", "model_usage.*.output_tokens", seconds="total_time"),
)  # fmt: skip
PROMPTFOO = Format(
    "promptfoo", frozenset(), "id", "dataset", "model", ("vars",), facts="vars", samples=_promptfoo,
    costs=_tokens("usage.prompt", "usage.completion", milliseconds="latencyMs", dollars="cost"),
)  # fmt: skip
FORMATS: Sequence[Format] = (
    Format(
        "lm-evaluation-harness", frozenset(("doc_id", "filtered_resps")), "doc_id", "task", "model", ("asked",),
        facts="doc", samples=_harness,
    ),
    Format(
        "Every Eval Ever", frozenset(("sample_id", "evaluation_id", "model_id")), "sample_id", "evaluation_name",
        "model_id", ("input.raw", "input.reference"), epoch="metadata.epoch", samples=_every_eval_ever,
        costs=_tokens("token_usage.input_tokens", "token_usage.output_tokens", milliseconds="performance.latency_ms"),
    ),
    Format(
        "MASLab", frozenset(("query", "gt")), "id", "dataset", "method", ("query", "gt"), facts="", samples=_maslab,
        costs=_tokens("token_stats.*.prompt_tokens", "token_stats.*.completion_tokens"),
    ),
    Format(
        "HELM", frozenset(("instance_id", "stats")), "id", "dataset", "model", ("asked",), samples=_helm,
        costs=_tokens("scores.num_prompt_tokens", "scores.num_output_tokens", seconds="scores.inference_runtime"),
    ),
    Format(
        "MALLM", frozenset(("exampleId", "finalAnswer")), "exampleId", "dataset", "paradigm",
        ("input", "context", "references"), costs={"seconds": "clockSeconds"}, samples=_mallm,
    ),
)  # fmt: skip
