"""Logs that are plain JSON: promptfoo, HELM, Every Eval Ever, MALLM and MASLab.

Each reader takes a parsed file and yields its logs. The formats are those of promptfoo's `eval -o FILE.json` (version
3), HELM's `per_instance_stats.json` (0.5), Every Eval Ever's samples (schema 0.3), MALLM's `-eval.json`, and MASLab's
`METHOD_infer.jsonl`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.logs.samples import Log, LoggedSample, costs_of, digest_of, facts_of, score_of
from cortexdsl.tasks.replies import grade_rows

Row = Mapping[str, Any]
OWN_MODELS = "cortexdsl/"
"""Begins the model of our own records of Every Eval Ever, which is a cell."""


def _grouped(path: Path, tool: str, rows: Iterable[tuple[str, str, LoggedSample]]) -> Iterator[Log]:
    """Yield a log for each dataset and model, in order of appearance."""
    logs: dict[tuple[str, str], list[LoggedSample]] = {}
    for dataset, model, sample in rows:
        logs.setdefault((dataset, model), []).append(sample)
    for (dataset, model), samples in logs.items():
        yield Log(str(path), tool, dataset, model, tuple(samples))


def read_promptfoo(path: Path, log: Row) -> Iterator[Log]:
    """Read the output of promptfoo: each provider is a model, and with several prompts each pair of them."""
    rows: Sequence[Row] = log["results"]["results"]
    prompts = {_prompt(row) for row in rows}
    epochs: dict[tuple[object, ...], int] = {}

    def sampled(number: int, row: Row) -> tuple[str, str, LoggedSample]:
        provider = row.get("provider") or {}
        name = provider if isinstance(provider, str) else str(provider.get("label") or provider.get("id"))
        model = name if len(prompts) == 1 else f"{name}, {_prompt(row)}"
        variables = row.get("vars") or {}
        identity = str(row.get("testIdx", digest_of(variables)))
        epochs[model, identity] = epochs.get((model, identity), 0) + 1
        place = f"{path}: result {number}"
        scores = {"pass": score_of(row.get("success"), f"{place}: success")}
        scores["score"] = score_of(row.get("score"), f"{place}: score")
        for metric, value in (row.get("namedScores") or {}).items():
            scores[metric] = score_of(value, f"{place}: {metric}")
        usage = row.get("tokenUsage") or (row.get("response") or {}).get("tokenUsage") or {}
        seconds = row["latencyMs"] / 1000 if row.get("latencyMs") is not None else None
        numbers = costs_of(input_tokens=usage.get("prompt"), output_tokens=usage.get("completion"), seconds=seconds,
                           dollars=row.get("cost"))  # fmt: skip
        epoch, asked, facts = epochs[model, identity], digest_of(variables), facts_of(variables)
        return "tests", model, LoggedSample(identity, epoch, asked, scores, numbers, facts)

    return _grouped(path, "promptfoo", (sampled(number, row) for number, row in enumerate(rows, 1)))


def _prompt(row: Row) -> str:
    prompt = row.get("prompt") or {}
    if isinstance(prompt, str):
        return prompt
    return str(prompt.get("label") or prompt.get("raw") or row.get("promptIdx", ""))


def read_helm(path: Path, rows: Sequence[Row]) -> Iterator[Log]:
    """Read HELM's statistics of instances; the model and what was asked stand in other files of the folder."""
    spec = _next_to(path, "run_spec.json")
    states = _next_to(path, "scenario_state.json").get("request_states") or ()
    asked = {state["instance"]["id"]: state["instance"]["input"] for state in states}
    name = str(spec.get("name") or path.parent.name)
    model = str((spec.get("adapter_spec") or {}).get("model") or name)
    dataset = ",".join(part for part in name.split(",") if not part.startswith("model="))

    def sampled(row: Row) -> tuple[str, str, LoggedSample]:
        identity = str(row["instance_id"]) + (f" {row['perturbation'].get('name')}" if row.get("perturbation") else "")
        means = {str(each["name"]["name"]): each.get("mean") for each in row["stats"]}
        scores = {name: score_of(value, f"{path}: instance {identity}: {name}") for name, value in means.items()}
        numbers = costs_of(input_tokens=means.get("num_prompt_tokens"), output_tokens=means.get("num_output_tokens"),
                           seconds=means.get("inference_runtime"))  # fmt: skip
        epoch = int(row.get("train_trial_index") or 0) + 1
        return dataset, model, LoggedSample(identity, epoch, digest_of(asked.get(row["instance_id"])), scores, numbers)

    return _grouped(path, "HELM", map(sampled, rows))


def _next_to(path: Path, name: str) -> Row:
    file = path.with_name(name)
    try:
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except ValueError as error:
        raise DataError(f"{file}: this is no JSON: {error}") from None
    return found if isinstance(found, dict) else {}


def read_every_eval_ever(path: Path, rows: Iterable[Row]) -> Iterator[Log]:
    """Read the samples of Every Eval Ever (`UUID_samples.jsonl`)."""

    def sampled(number: int, row: Row) -> tuple[str, str, LoggedSample]:
        said, usage, place = row["evaluation"], row.get("token_usage") or {}, f"{path}:{number}"
        name = str(row.get("evaluation_result_id") or "score")
        performance = row.get("performance") or {}
        latency = performance.get("latency_ms")
        numbers = costs_of(input_tokens=usage.get("input_tokens"), output_tokens=usage.get("output_tokens"),
                           seconds=None if latency is None else latency / 1000)  # fmt: skip
        asked = digest_of([row["input"].get("raw"), row["input"].get("reference")])
        scores, facts = {name: score_of(said.get("score"), f"{place}: score")}, facts_of(row.get("metadata"))
        epoch = facts.pop("epoch", "1")
        sample = LoggedSample(
            str(row["sample_id"]), int(epoch) if epoch.isdecimal() else 1, asked, scores, numbers, facts
        )
        return str(row["evaluation_name"]), str(row["model_id"]).removeprefix(OWN_MODELS), sample

    return _grouped(path, "Every Eval Ever", (sampled(number, row) for number, row in enumerate(rows, 1)))


def read_mallm(path: Path, rows: Sequence[Row]) -> Iterator[Log]:
    """Read MALLM's debates with the scores that its evaluator added to them."""
    if not any(row.get("scores") for row in rows):
        raise DataError(f"{path}: these debates have no scores\n    let MALLM add them: mallm-evaluate")

    def sampled(row: Row) -> tuple[str, str, LoggedSample]:
        place = f"{path}: sample {row['exampleId']}"
        scores = {str(name): score_of(value, f"{place}: {name}") for name, value in (row.get("scores") or {}).items()}
        asked = digest_of([row.get("input"), row.get("context"), row.get("references")])
        numbers = costs_of(seconds=row.get("clockSeconds"))
        sample = LoggedSample(str(row["exampleId"]), 1, asked, scores, numbers, facts_of(row.get("metadata")))
        return str(row.get("dataset") or "data"), str(row.get("paradigm") or path.stem), sample

    return _grouped(path, "MALLM", map(sampled, rows))


def read_maslab(path: Path, rows: Sequence[Row]) -> Iterator[Log]:
    """Read MASLab's answers, and grade them as `cortexdsl grade` does: the files themselves have no scores."""
    replies = [{"task": row.get("source", ""), "question": row["query"], "gold": row["gt"],
                "output": row.get("response") or ""} for row in rows]  # fmt: skip
    graded = grade_rows(replies)

    def sampled(row: Row, score: float) -> tuple[str, str, LoggedSample]:
        usage = list((row.get("token_stats") or {}).values())
        tokens = {f"{kind}_tokens": sum(each.get(key) or 0 for each in usage) if usage else None
                  for kind, key in (("input", "prompt_tokens"), ("output", "completion_tokens"))}  # fmt: skip
        asked = digest_of([row["query"], row["gt"]])
        sample = LoggedSample(asked, 1, asked, {"graded": score}, costs_of(**tokens), facts_of(row))
        return str(row.get("source") or path.parent.parent.name), path.stem.removesuffix("_infer"), sample

    return _grouped(path, "MASLab", (sampled(row, each.score) for row, each in zip(rows, graded, strict=True)))
