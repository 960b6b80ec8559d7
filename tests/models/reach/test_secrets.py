"""Keys are kept out of every text, addresses are shown without credentials."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.models.reach.secrets import Secrets, place_of, shown
from cortexdsl.models.transports.transport import PLACEHOLDER_KEY
from cortexdsl.terms import Model

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
    assert shown(address) == "http://host:8000/v1"
    assert shown(None) == "the provider's own address"


def test_an_address_is_one_place_however_it_is_written() -> None:
    """Two entries that write it differently share its connections; paths are told apart by their letters."""
    ways = ("http://host:8000/v1", "http://host:8000/v1/", "HTTP://HOST:8000/v1//")
    assert {place_of(way) for way in ways} == {"http://host:8000/v1"}
    assert place_of("http://host:8000/V1") != place_of("http://host:8000/v1")
