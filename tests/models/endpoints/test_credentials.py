"""Keys and addresses come from the environment, stay out of all text, and are named when they are missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.cli.main import main
from cortexdsl.core import Model
from cortexdsl.errors import InputError
from cortexdsl.jobs.serve import refuse_unset
from cortexdsl.models.endpoints import providers
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.endpoints.providers import (
    KEYS,
    key_variables,
    known_providers,
    nearest_provider,
    provider_of,
    unset_variables_of,
)
from cortexdsl.models.transports.addresses import mask_url, place_of
from cortexdsl.models.transports.interface import PLACEHOLDER_KEY
from cortexdsl.models.transports.litellm import load
from cortexdsl.plan.compiler import compile_spec

KEY = "sk-proj-abcdefghijklmnop"


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-abcdefgh12345678.",
        "key sk-proj-ab***************xyz is wrong",
        "Authorization: Bearer eyJhbGciOi.payload.sig",
        "GET http://user:hunter2@host/v1 failed",
        "https://host/v1?api_key=hunter2hunter2&x=1",
        "x-api-key: hunter2hunter2",
        "gsk_abcdefghijklmn and hf_abcdefghijklmn",
        "AIzaSyA1234567890abcdefghijk",
    ],
)
def test_what_looks_like_a_key_is_taken_out_of_messages(text: str) -> None:
    said = Secrets({}).clean(text)
    assert "[key]" in said
    for part in ("abcdefgh12345678", "xyz", "payload", "hunter2", "abcdefghijklmn", "SyA1234567890"):
        assert part not in said


@given(st.text(), st.text())
def test_exact_values_are_taken_out_wherever_they_stand(before: str, after: str) -> None:
    """From variables that are named like keys, whatever stands around the value."""
    secrets = Secrets({"SOME_API_KEY": KEY, "NAME": "me"})
    assert KEY not in secrets.hide(before + KEY + after)
    assert KEY not in secrets.clean(before + KEY + after)


def test_a_named_key_is_hidden_once_it_is_used_and_a_short_one_in_messages_alone() -> None:
    secrets = Secrets({"ODD": "letmein", "LONG": "letmein-letmein"})
    assert secrets.key(Model("m", "x/y", api_key_env="ODD")) == "letmein"
    assert secrets.key(Model("m", "x/y", api_key_env="LONG")) == "letmein-letmein"
    assert secrets.clean("you said letmein") == "you said [key]"
    assert secrets.hide("please letmein") == "please letmein"
    assert secrets.hide("letmein-letmein!") == "[key]!"


def test_replies_without_keys_are_untouched() -> None:
    """A reply may speak of keys: `sk-...` in an example is the model's words."""
    text = "Use sk-example1234567890 as the key."
    assert Secrets({"A_KEY": KEY}).hide(text) is text


def test_where_the_spec_names_no_key() -> None:
    """The provider's own variable is used only at the provider's own address."""
    assert Secrets({}).key(Model("m", "openai/x")) is None
    assert Secrets({}).key(Model("m", "openai/x", api_base="http://h/v1")) == PLACEHOLDER_KEY


def test_addresses_are_resolved_and_shown_without_credentials() -> None:
    secrets = Secrets({"URL": " http://me:pw@host:8000/v1?token=t "})
    address = secrets.address(Model("m", "openai/x", api_base="env:URL"))
    assert address == "http://me:pw@host:8000/v1?token=t"
    assert mask_url(address) == "http://host:8000/v1"
    assert mask_url(None) == "the provider's own address"


def test_an_address_is_one_place_however_it_is_written() -> None:
    """Two entries that write it differently share its connections; paths are told apart by their letters."""
    ways = ("http://host:8000/v1", "http://host:8000/v1/", "HTTP://HOST:8000/v1//")
    assert {place_of(way) for way in ways} == {"http://host:8000/v1"}
    assert place_of("http://host:8000/V1") != place_of("http://host:8000/v1")


SPEC = """\
title: Hosted
dataset: {{name: arithmetic, size: 3}}
models: {{m: {{{model}}}}}
agents: [{{name: a, model: m}}, {{name: b, model: m}}, {{name: c, model: m}}]
methods: {{vote: {{protocol: voting}}}}
limits: {{calls: 100}}
"""


@pytest.fixture
def without_keys(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in [name for name in os.environ if name.endswith(("_KEY", "_TOKEN", "_API_BASE")) or "AWS" in name]:
        monkeypatch.delenv(name)
    return monkeypatch


@pytest.mark.parametrize("provider", [name for name in KEYS if name != "vertex_ai"])
def test_the_variables_are_those_of_litellm(provider: str, without_keys: pytest.MonkeyPatch) -> None:
    """What litellm misses in an empty environment is in the table; it names nothing for some that it does ask."""
    missing = set(load().validate_environment(f"{provider}/x")["missing_keys"])
    secret = {name for name in missing if name.endswith(("_KEY", "_TOKEN"))} - {"AWS_SECRET_ACCESS_KEY"}
    assert secret <= set(KEYS[provider])
    unset = unset_variables_of(Model("m", f"{provider}/x"), {})
    assert unset[0].variable == KEYS[provider][0]
    if secret:
        without_keys.setenv(KEYS[provider][0], "x")
        still = set(load().validate_environment(f"{provider}/x")["missing_keys"])
        assert not {name for name in still if name in KEYS[provider]} or len(missing) > 1


def test_the_providers_of_litellm_are_known() -> None:
    """But for those that have no chat: storage, speech, tools."""
    known = known_providers()
    assert len(known) > 100
    unknown = {str(getattr(one, "value", one)) for one in load().provider_list} - known
    chats = {"openai", "anthropic", "gemini", "azure", "mistral", "groq", "ollama_chat", "hosted_vllm", "openrouter",
             "deepseek", "xai", "together_ai", "bedrock", "vertex_ai", "lm_studio", "llamafile"}  # fmt: skip
    assert not unknown & chats
    assert len(unknown) < 30


@pytest.mark.parametrize(
    ("model", "provider", "variable"),
    [
        ("openai/gpt-4o", "openai", "OPENAI_API_KEY"),
        ("gpt-4o", "openai", "OPENAI_API_KEY"),
        ("claude-sonnet-4-5", "anthropic", "ANTHROPIC_API_KEY"),
        ("poe/x", "poe", "POE_API_KEY"),
        ("ollama_chat/llama3.1", "ollama_chat", None),
        ("tiny/wren", "tiny", None),
        ("ft:gpt-4o-mini:mine", "openai", "OPENAI_API_KEY"),
        ("nosuch/q", None, None),
        ("mystery", None, None),
    ],
)
def test_a_name_has_a_provider_and_its_variable(model: str, provider: str | None, variable: str | None) -> None:
    assert provider_of(model) == provider
    assert next(iter(key_variables(Model("m", model))), None) == variable


def test_an_address_of_ones_own_needs_no_provider_key() -> None:
    own = Model("m", "openai/q", api_base="env:BASE")
    assert unset_variables_of(own, {}) == []
    assert [one.variable for one in unset_variables_of(Model("m", "openai/q", api_key_env="MINE"), {})] == ["MINE"]
    assert unset_variables_of(Model("m", "gemini/x"), {"GOOGLE_API_KEY": "x"}) == []
    assert [one.variable for one in unset_variables_of(Model("m", "azure/x"), {"AZURE_API_KEY": "x"})] == [
        "AZURE_API_BASE"
    ]


def checked(folder: Path, model: str, capsys: pytest.CaptureFixture[str], status: int = 0) -> tuple[str, str]:
    (folder / "x.yaml").write_text(SPEC.format(model=model))
    assert main(["check", str(folder / "x.yaml")]) == status
    said = capsys.readouterr()
    return said.out, said.err


def test_check_says_which_key_is_missing(
    tmp_path: Path, without_keys: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = checked(tmp_path, "model: anthropic/claude-sonnet-4-5", capsys)
    assert "it can run once the environment has ANTHROPIC_API_KEY" in out
    assert "before the run: export ANTHROPIC_API_KEY=..." in err
    without_keys.setenv("ANTHROPIC_API_KEY", "x")
    out, err = checked(tmp_path, "model: anthropic/claude-sonnet-4-5", capsys)
    assert "it can run\n" in out
    assert not err


def test_check_warns_if_a_key_may_come_from_elsewhere(
    tmp_path: Path, without_keys: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = checked(tmp_path, "model: bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", capsys)
    assert "it can run\n" in out
    assert "unless the key is in a file or comes from this machine" in err
    assert "AWS_ACCESS_KEY_ID" in err


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("model: antropic/claude-sonnet-4-5", "did you mean anthropic/claude-sonnet-4-5?"),
        ("model: nosuch/q", "write PROVIDER/NAME as litellm does"),
        ("model: nosuch/q, api_base: env:BASE", "openai/NAME with api_base: for a server of your own"),
        ("model: mystery", "does not name its provider"),
    ],
)
def test_check_refuses_an_unknown_provider(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str, hint: str
) -> None:
    _, err = checked(tmp_path, model, capsys, 2)
    assert hint in err


def test_the_nearest_spelling_is_a_provider() -> None:
    assert nearest_provider("opnai/gpt-4o") == "openai"


def test_a_run_does_not_begin_without_the_keys_of_its_providers(
    tmp_path: Path, without_keys: pytest.MonkeyPatch
) -> None:
    """Nor without that of the model which compares texts; one message, which names every variable and its model."""
    spec = SPEC.format(model="model: anthropic/claude-sonnet-4-5, parameters: 1e9, tokens: 1e12").replace(
        "{vote: {protocol: voting}}", "{sparse: {protocol: cortexdebate, similarity: text-embedding-3-large}}"
    )
    (tmp_path / "x.yaml").write_text(spec)
    plan = compile_spec(str(tmp_path / "x.yaml"))
    with pytest.raises(InputError, match="the environment lacks ANTHROPIC_API_KEY, OPENAI_API_KEY") as caught:
        refuse_unset([plan])
    assert "export ANTHROPIC_API_KEY=...  # for model m (anthropic/claude-sonnet-4-5)" in str(caught.value)
    without_keys.setenv("ANTHROPIC_AUTH_TOKEN", "x")
    without_keys.setenv("OPENAI_API_KEY", "x")
    refuse_unset([plan])


def test_a_package_that_a_provider_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """litellm imports `google.auth` for Vertex AI, and does not depend on it."""
    monkeypatch.setattr(providers.importlib.util, "find_spec", lambda name: None)
    assert providers.missing_package("vertex_ai/gemini-2.5-flash") == "google-auth"
    assert providers.missing_package("gemini/gemini-2.5-flash") is None
    monkeypatch.setattr(providers.importlib.util, "find_spec", lambda name: object())
    assert providers.missing_package("vertex_ai/gemini-2.5-flash") is None
