"""A task of lm-evaluation-harness with two mock models, which `test_harness.py` runs to have logs of the real tool."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from lm_eval.__main__ import cli_evaluate
from lm_eval.api.registry import register_model
from lm_eval.models.dummy import DummyLM

TASK = """\
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: sums.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "What is {{a}}+{{a}}?"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"]}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""


def register(name: str, share: float) -> None:
    """Register a mock model that is right in a share of its replies."""
    draws = random.Random(name)

    class Mock(DummyLM):  # type: ignore[misc, unused-ignore]
        def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
            sums = [2 * int(request.args[0].split("+")[1].rstrip("?")) for request in requests]
            return [str(right if draws.random() < share else right + 1) for right in sums]

    register_model(name)(Mock)


if __name__ == "__main__":
    Path("sums.yaml").write_text(TASK)
    Path("sums.jsonl").write_text("".join(json.dumps({"a": k, "answer": str(2 * k)}) + "\n" for k in range(40)))
    for name, share, most in (("weak", 0.5, "40"), ("strong", 0.85, "40"), ("short", 0.85, "10")):
        register(name, share)
        sys.argv = ["lm_eval", "--model", name, "--tasks", "sums", "--include_path", ".", "--log_samples",
                    "--output_path", f"out/{name}", "--limit", most]  # fmt: skip
        cli_evaluate()
