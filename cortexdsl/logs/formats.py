"""The formats of logs: where each tool has the fields of a sample, and what its agents said.

Each is read as its tool writes it, in these files of its repository:

- lm-evaluation-harness 0.4: `samples_TASK_TIME.jsonl` (next to `results_TIME.json`), EleutherAI/lm-evaluation-harness,
  lm_eval/loggers/evaluation_tracker.py
- promptfoo, version 3 of `eval -o FILE.json`: `EvaluateResult` in promptfoo/promptfoo, src/types/index.ts
- HELM 0.5, `per_instance_stats.json`: `PerInstanceStats` in stanford-crfm/helm, src/helm/benchmark/metrics/metric.py
- Every Eval Ever, samples of schema 0.3: evaleval/every_eval_ever
- MALLM, with or without `-eval.json`: Multi-Agent-LLMs/mallm, mallm/scheduler.py and mallm/evaluation/evaluator.py
- MASLab, `METHOD_infer.jsonl`: MASWorks/MASLab, inference.py
- Inspect, `.eval` and JSON: by its own reader

A path leads through the keys of a sample, from left to right; `*` adds up numbers of all keys. What no path can say,
such as the model of a log that stands in another file, a function adds to the samples as keys of their own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from string import ascii_uppercase
from typing import Any, TypeAlias

from cortexdsl.core import EMPTY, by_key
from cortexdsl.errors import CortexError, DataError
from cortexdsl.logs import inspect_logs
from cortexdsl.logs.samples import Log, LoggedSample, digest_of, facts_of, score_of
from cortexdsl.logs.transcripts import WHERE, Message, Transcript, own_message
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
    debate : callable or None
        Returns the messages of a sample, with what is known of `question, choices, context, answer, final`.
    debates : callable or None
        Returns the samples with their messages, if `samples` leaves them out.
    remedy : str
        What to do about samples without scores.
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
    debate: Callable[[Row], Row] | None = None
    debates: Callable[[Path, Iterable[Row]], Iterable[Row]] | None = None
    remedy: str = "score them first with {tool}, or grade the replies: cortexdsl grade"

    def logs(self, path: Path, rows: Iterable[Row]) -> Iterator[Log]:
        """Yield a log for each dataset and model, in order of appearance."""
        with self._form(str(path)):
            logs = by_key(
                ((self._dataset(row), str(_at(row, self.model)).removeprefix(OWN_MODELS)), self._sample(path, row))
                for row in self.samples(path, rows)
            )
        for (dataset, model), samples in logs.items():
            yield Log(str(path), self.tool, dataset, model, tuple(samples))

    def transcripts(self, path: Path, rows: Iterable[Row]) -> Iterator[Transcript]:
        """Yield the debates; a tool that only keeps answers has none.

        Raises
        ------
        DataError
            The tool has no debates, a debate lacks a field, or it has no message.
        """
        if self.debate is None:
            raise DataError(
                f"{path}: a log of {self.tool} has answers, not debates\n    read it with: cortexdsl compare"
            )
        with self._form(str(path)):
            for row in (self.debates or self.samples)(path, rows):
                with self._form(row[WHERE]):
                    yield self._transcript(row, self.debate(row))

    def _transcript(self, row: Row, debate: Row) -> Transcript:
        task = {word: value for word, value in debate.items() if value is not None}
        if choices := _without_letters(task.pop("choices", None)):
            task["choices"] = choices
        cell = row.get("cell") or str(_at(row, self.model)).rpartition("/")[2]
        return Transcript(
            row[WHERE], str(_needed(row, self.id)), self._dataset(row), cell, self._epoch(row),
            tuple(task.pop("messages")), task.pop("final", None), task,
        )  # fmt: skip

    def _sample(self, path: Path, row: Row) -> LoggedSample:
        identity = str(_needed(row, self.id))
        asked = [_at(row, one) for one in self.asked]
        scores = {
            str(name): score_of(value, f"{path}: sample {identity}: score {name}")
            for name, value in (_at(row, self.scores) or {}).items()
        }
        costs = {name: _at(row, one) for name, one in self.costs.items()}
        if (milliseconds := costs.pop("milliseconds", None)) is not None:
            costs["seconds"] = milliseconds / 1000
        return LoggedSample(
            identity, self._epoch(row),
            digest_of(asked[0] if len(asked) == 1 else asked if any(asked) else None), scores,
            {name: float(cost) for name, cost in costs.items() if isinstance(cost, int | float)},
            facts_of(_at(row, self.facts)),
        )  # fmt: skip

    def _dataset(self, row: Row) -> str:
        return str(_at(row, self.dataset))

    def _epoch(self, row: Row) -> int:
        epoch = str(_at(row, self.epoch) or 1)
        return int(epoch) if epoch.isdecimal() else 1

    @contextmanager
    def _form(self, where: str) -> Iterator[None]:
        """Turn the errors of reading something that lacks a field into one sentence."""
        try:
            yield
        except CortexError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise DataError(f"{where} does not have the form of {self.tool}: {why}\n    is the file whole?") from None


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


def _without_letters(texts: Sequence[str] | None) -> Sequence[str] | None:
    """Return choices without the letters before them (`A: 4`), if all have theirs."""
    labelled = list(zip(ascii_uppercase, texts or (), strict=False))
    is_labelled = all(text.startswith(f"{letter}: ") for letter, text in labelled)
    return [text[3:] for _, text in labelled] if labelled and is_labelled else texts


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


def _every_eval_ever_debate(row: Row) -> Row:
    """Read the replies of a sample. Without a speaker, each of them is a round of one agent."""
    asked = row["input"]
    finals = [one["extracted_value"] for one in row["answer_attribution"] if one["is_terminal"]]
    replies = [one for one in row.get("messages") or () if one["role"] == "assistant" and one.get("content")]
    return {
        "messages": [own_message(reply, reply["content"], row["model_id"]) for reply in replies],
        "question": asked["raw"],
        "choices": asked.get("choices"),
        "answer": next(iter(asked["reference"]), None),
        "final": finals[-1] if finals else None,
    }


def _mallm(path: Path, rows: Iterable[Row]) -> Iterable[Row]:
    for row in rows:
        dataset = PurePosixPath(str(row.get("dataset") or "mallm")).stem
        yield row | {"dataset": dataset, "paradigm": row.get("paradigm") or "baseline"}


def _mallm_debate(row: Row) -> Row:
    """Read the memory of a debate: a turn of MALLM is a round, and agents heard the messages in their memory."""
    messages = [(str(one.get("agent_id") or one.get("persona") or "agent"), one) for one in row["globalMemory"] or ()]
    about = {str(one.get("agentId")): one for one in row.get("personas") or ()}
    names = {agent: str(one.get("persona") or "agent") for agent, one in messages}
    count: Counter[str] = Counter()
    for agent, persona in names.items():
        count[persona] += 1
        names[agent] = persona if count[persona] == 1 else f"{persona} {count[persona]}"
    return {
        "messages": [
            Message(
                names[agent], one["message"], one["message_id"], one.get("memory_ids") or (), (one["turn"],),
                str(about.get(agent, {}).get("model") or "unknown"), about.get(agent, {}).get("personaDescription"),
            )
            for agent, one in messages
        ],
        "question": "\n".join(row["input"]) or None,
        "context": "\n".join(row.get("context") or ()) or None,
        "answer": next(iter(row.get("references") or ()), None) or None,
        "final": row.get("finalAnswer") or None,
    }  # fmt: skip


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
    "Inspect", frozenset(), "id", "dataset", "model", ("input", "target"),
    costs=_tokens("model_usage.*.input_tokens", "model_usage.*.output_tokens", seconds="total_time"),
    samples=lambda path, _: inspect_logs.read_summaries(path), debates=lambda path, _: inspect_logs.read_samples(path),
    debate=inspect_logs.words_of,
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
        debate=_every_eval_ever_debate,
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
        debate=_mallm_debate, remedy="let MALLM add them: mallm-evaluate",
    ),
)  # fmt: skip
