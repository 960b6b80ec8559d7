"""Each format is read from a log in the form that its tool documents; scores are checked by hand."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.errors import CortexError, DataError
from cortexdsl.logs import inspect_logs
from cortexdsl.logs.plain import read_transcripts
from cortexdsl.logs.samples import Log
from cortexdsl.logs.sources import read_logs


def promptfoo(provider: str, test: int, passed: bool, **more: Any) -> dict[str, Any]:
    return {"provider": {"id": provider}, "prompt": {"raw": "Q: {{q}}", "label": "plain"}, "vars": {"q": f"{test}?"},
            "testIdx": test, "promptIdx": 0, "success": passed, "score": float(passed), "latencyMs": 1500,
            "cost": 0.01, "response": {"tokenUsage": {"prompt": 7, "completion": 3}}, **more}  # fmt: skip


PROMPTFOO = {
    "evalId": "e", "config": {},
    "results": {"version": 3, "results": [promptfoo("a", 0, True), promptfoo("a", 1, False), promptfoo("b", 0, False),
                                          promptfoo("a", 0, False), promptfoo("b", 1, True)]},
}  # fmt: skip


def helm(instance: str, match: float) -> dict[str, Any]:
    stats = {"exact_match": match, "num_prompt_tokens": 30.0, "num_output_tokens": 4.0, "inference_runtime": 0.5}
    means = [{"name": {"name": name, "split": "test"}, "mean": mean} for name, mean in stats.items()]
    return {"instance_id": instance, "train_trial_index": 0, "stats": means}


HELM_SPEC = {"name": "mmlu:subject=law,model=x_y", "adapter_spec": {"model": "x/y"}}
HELM_STATE = {"request_states": [{"instance": {"id": f"id{k}", "input": {"text": f"{k}?"}}} for k in (1, 2)]}
HARNESS = [
    {"doc_id": k, "doc": {"question": f"{k}?", "level": 3}, "doc_hash": f"h{k}", "filter": kind,
     "filtered_resps": ["x"], "metrics": ["exact_match", "perplexity"], "exact_match": score, "perplexity": [1.0, 2]}
    for kind, scores in (("strict", (1.0, 0.0)), ("loose", (1.0, 1.0))) for k, score in enumerate(scores)
]  # fmt: skip
EEE = [
    {"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "x/y", "evaluation_name": "GSM8K",
     "sample_id": f"gsm8k_{k}", "interaction_type": "single_turn", "input": {"raw": f"{k}?", "reference": ["4"]},
     "output": {"raw": ["4"]}, "answer_attribution": [], "evaluation": {"score": float(k), "is_correct": bool(k)},
     "token_usage": {"input_tokens": 5, "output_tokens": 6, "total_tokens": 11}, "performance": {"latency_ms": 250}}
    for k in (0, 1)
]  # fmt: skip
MALLM = [
    {"dataset": "gsm8k", "exampleId": f"x{k}", "datasetId": None, "paradigm": "relay", "input": [f"{k}?"],
     "context": None, "references": ["4"], "finalAnswer": "4", "clockSeconds": 2.5, "scores": {"correct": bool(k)}}
    for k in (0, 1)
]  # fmt: skip
MASLAB = [
    {"query": f"What is {k}+{k}?", "gt": str(2 * k), "source": "GSM8K", "tag": ["math"],
     "response": f"Therefore, the answer is {answer}.",
     "token_stats": {"m": {"num_llm_calls": 2, "prompt_tokens": 20, "completion_tokens": 8}}}
    for k, answer in ((1, 2), (2, 5))
]  # fmt: skip


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def scores(log: Log) -> list[dict[str, float | None]]:
    return [dict(sample.scores) for sample in log.samples]


def test_promptfoo(tmp_path: Path) -> None:
    """A provider is a model; a test that ran twice has two epochs."""
    a, b = read_logs([str(written(tmp_path, out__json=json.dumps(PROMPTFOO)) / "out.json")])
    assert (a.tool, a.dataset, a.model, b.model) == ("promptfoo", "tests", "a", "b")
    assert scores(a) == [{"pass": 1, "score": 1}, {"pass": 0, "score": 0}, {"pass": 0, "score": 0}]
    assert [(sample.id, sample.epoch) for sample in a.samples] == [("0", 1), ("1", 1), ("0", 2)]
    assert a.samples[0].numbers == {"input_tokens": 7, "output_tokens": 3, "seconds": 1.5, "dollars": 0.01}
    assert a.samples[0].digest == b.samples[0].digest != a.samples[1].digest


def test_prompts_of_promptfoo_are_told_apart(tmp_path: Path) -> None:
    rows = [promptfoo("a", 0, True), promptfoo("a", 0, False, prompt={"raw": "Think. {{q}}", "label": "long"})]
    text = json.dumps({"results": {"version": 3, "results": rows}})
    assert [log.model for log in read_logs([str(written(tmp_path, o__json=text))])] == ["a, plain", "a, long"]


def test_helm(tmp_path: Path) -> None:
    """The folder of a run is one log: the other files in it say what ran, and what was asked."""
    stats = json.dumps([helm("id1", 1.0), helm("id2", 0.0)])
    folder = written(tmp_path, per_instance_stats__json=stats, run_spec__json=json.dumps(HELM_SPEC),
                     scenario_state__json=json.dumps(HELM_STATE), stats__json="[]")  # fmt: skip
    (log,) = read_logs([str(folder)])
    assert (log.tool, log.dataset, log.model) == ("HELM", "mmlu:subject=law", "x/y")
    assert [sample.scores["exact_match"] for sample in log.samples] == [1, 0]
    assert log.samples[0].numbers == {"input_tokens": 30, "output_tokens": 4, "seconds": 0.5}
    assert all(sample.digest for sample in log.samples)


def test_lm_evaluation_harness(tmp_path: Path) -> None:
    """A score is called as in the results: by its metric and its filter. Parts of a perplexity are none."""
    name = "2026-01-21T03-44-18.458309"
    (tmp_path / f"samples_sums_{name}.jsonl").write_text(lines(HARNESS))
    (tmp_path / f"results_{name}.json").write_text(json.dumps({"model_name": "x/y", "results": {}, "configs": {}}))
    (log,) = read_logs([str(tmp_path)])
    assert (log.dataset, log.model) == ("sums", "x/y")
    assert scores(log) == [
        {"exact_match,strict": 1, "exact_match,loose": 1},
        {"exact_match,strict": 0, "exact_match,loose": 1},
    ]
    assert log.samples[0].labels == {"question": "0?", "level": "3"}


def test_every_eval_ever(tmp_path: Path) -> None:
    folder = written(tmp_path, u_samples__jsonl=lines(EEE), u__json=json.dumps({"evaluation_results": []}))
    (log,) = read_logs([str(folder)])
    assert (log.dataset, log.model, scores(log)) == ("GSM8K", "x/y", [{"score": 0}, {"score": 1}])
    assert log.samples[0].numbers == {"input_tokens": 5, "output_tokens": 6, "seconds": 0.25}


def test_mallm(tmp_path: Path) -> None:
    (log,) = read_logs([str(written(tmp_path, relay_eval__json=json.dumps(MALLM)))])
    assert (log.dataset, log.model, scores(log)) == ("gsm8k", "relay", [{"correct": 0}, {"correct": 1}])


def test_maslab_is_graded_as_replies_are(tmp_path: Path) -> None:
    (log,) = read_logs([str(written(tmp_path, llm_debate_infer__jsonl=lines(MASLAB)))])
    assert (log.dataset, log.model, scores(log)) == ("GSM8K", "llm_debate", [{"graded": 1}, {"graded": 0}])
    assert log.samples[0].numbers == {"input_tokens": 20, "output_tokens": 8}


PICKLE = b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94."


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b"", "it is empty"),
        ("a.json", PICKLE, "begins like a pickle, which is not opened"),
        ("a.json", b"{", "is the file cut?"),
        ("a.json", b"[" * 100_000, "is the file cut?"),
        ("a.json", b'{"x": 1}', "the log of no tool that is known"),
        ("a.json", b"[1, 2]", "the log of no tool that is known"),
        ("a.json", json.dumps({"evaluation_results": []}).encode(), "give the file of its samples"),
        ("a.json", json.dumps({"results": {"sums": {}}, "configs": {}}).encode(), "lm_eval --log_samples"),
        ("a.json", json.dumps({"results": {"results": []}}).encode(), "no samples in it"),
        ("a.json", json.dumps({"results": {"results": [{"vars": {}}]}}).encode(), "no scores that are numbers"),
        ("a.json", json.dumps([{"instance_id": "x", "stats": [{"mean": 1}]}]).encode(), "it lacks 'name'"),
        ("a.json", json.dumps([MALLM[0] | {"scores": None}]).encode(), "mallm-evaluate"),
        ("a.json", json.dumps([MALLM[0] | {"scores": {"f1": "high"}}]).encode(), "'high', which is not a number"),
        ("a.json", json.dumps([MALLM[0] | {"scores": {"f1": {"p": 1}}}]).encode(), "is a dict, and scores are numbers"),
        ("a.jsonl", (lines(EEE) + '{"schema').encode(), "a.jsonl:3: this line is no JSON"),
        ("a.jsonl", lines([EEE[0] | {"evaluation": {}}]).encode(), "no scores that are numbers"),
        ("a.eval", b"PK\x05\x06" + b"\0" * 18, "does not hold a log of Inspect"),
        ("a.eval", b"nothing", "it is no JSON"),
        ("a.eval", b"PK\x03\x04" + b"\0" * 200, "it is an archive without its end; is the file cut?"),
    ],
)  # fmt: skip
def test_what_is_no_log_is_one_sentence(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CortexError, match=r"(?s)a\.(json|jsonl|eval)") as raised:
        read_logs([str(tmp_path / name)])
    assert said in str(raised.value)


@pytest.mark.parametrize("place", ["", "*.eval", "no.eval"])
def test_nothing_is_found_is_said(tmp_path: Path, place: str) -> None:
    with pytest.raises(DataError, match=r"no log in this folder|there is no such file or folder"):
        read_logs([str(tmp_path / place)])


@pytest.mark.parametrize("name", ["summaries.json", "samples/q1_epoch_1.json"])
def test_an_archive_that_unpacks_without_end_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A zip bomb, with the limit made small."""
    monkeypatch.setattr(inspect_logs, "_MOST_BYTES", 1 << 20)
    with zipfile.ZipFile(tmp_path / "bomb.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr(name, bytes(2 << 20))
    with pytest.raises(DataError, match="more than a log of Inspect holds"):
        read_logs([str(tmp_path / "bomb.eval")])
    with pytest.raises(DataError, match="more than a log of Inspect holds"):
        list(read_transcripts(tmp_path / "bomb.eval", dataset="d", cell="c"))
