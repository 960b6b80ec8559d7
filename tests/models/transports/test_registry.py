"""A transport is one module: declared once, found by its prefix, and known to the rest by its capabilities."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest

from cortexdsl.core import Model
from cortexdsl.errors import InputError, ModelError
from cortexdsl.models.client import open_client
from cortexdsl.models.endpoints.providers import provider_of
from cortexdsl.models.transports import registry
from cortexdsl.models.transports.prices import has_price, listed_price
from cortexdsl.models.transports.registry import runs_here, transport_type, way_of, weights_of
from tests.models.kit import call_of

PARROT = """
from cortexdsl.errors import InputError
from cortexdsl.models.transports.interface import Raw, TransportType, TokenCounts


class ParrotTransport:
    async def send(self, call, api_base, api_key):
        return Raw(call.messages[-1]["content"], "stop", TokenCounts(1, 1))

    async def close(self):
        pass


TRANSPORT = TransportType(prefix="parrot", create=ParrotTransport, is_in_process=True)
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages, which Python finds; what was found in it is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    with patch.dict(sys.modules):
        registry.named_type.cache_clear()
        yield tmp_path
    registry.named_type.cache_clear()


def installed(packages: Path, name: str, text: str) -> None:
    (packages / name).mkdir()
    (packages / name / "__init__.py").write_text("")
    (packages / name / "transport.py").write_text(text)


def test_a_transport_is_added_by_one_file(packages: Path, tmp_path: Path) -> None:
    """One module, which nothing in the project names: its models answer, run here, and cost nothing."""
    installed(packages, "cortexdsl_parrot", PARROT)
    call = call_of("Polly", model="parrot/grey")

    async def scene() -> str:
        async with open_client(tmp_path / "own.jsonl") as client:
            return (await client(call)).text

    assert asyncio.run(scene()) == "Polly"
    assert runs_here(call.model)
    assert has_price(call.model)
    assert listed_price("parrot/grey") is None
    assert provider_of("parrot/grey") == "parrot"
    assert weights_of("parrot/grey") is None


def test_a_package_without_a_declaration_is_refused(packages: Path) -> None:
    installed(packages, "cortexdsl_mute", "TRANSPORT = None\n")
    with pytest.raises(InputError, match=r"cortexdsl_mute\.transport.*\n.*TransportType\(prefix=\"mute\""):
        transport_type("mute/x")


def test_a_declaration_with_another_prefix_is_refused(packages: Path) -> None:
    installed(packages, "cortexdsl_crow", PARROT)
    with pytest.raises(InputError, match="no transport for models crow/"):
        transport_type("crow/x")


def test_a_package_without_that_module_is_no_transport(packages: Path) -> None:
    (packages / "cortexdsl_quiet").mkdir()
    (packages / "cortexdsl_quiet" / "__init__.py").write_text("")
    assert transport_type("quiet/x").prefix == "litellm"


@pytest.mark.parametrize(
    ("model", "prefix", "here"),
    [
        ("builtin/solver", "builtin", True),
        ("tiny/base", "tiny", True),
        ("direct/name", "direct", False),
        ("tool/calculator", "tool", False),
        ("openai/gpt-4o", "litellm", False),
        ("gpt-4o", "litellm", False),
        ("builtin", "litellm", False),
        ("os.path/x", "litellm", False),
        ("../x", "litellm", False),
    ],
)
def test_models_belong_to_transports_by_their_prefix(model: str, prefix: str, here: bool) -> None:
    assert transport_type(model).prefix == prefix
    assert runs_here(Model("entry", model)) is here


def test_a_model_is_asked_straight_by_its_name_or_for_its_engine() -> None:
    assert way_of(Model("entry", "openai/name", engine="one")) == "direct"
    assert way_of(Model("entry", "openai/name")) == "openai"
    direct = transport_type("direct/name")
    assert [direct.serves(name) for name in ("direct/x", "openai/x", "hosted_vllm/x", "anthropic/x")] == [1, 1, 1, 0]


def test_a_transport_that_jobs_bring_is_missed_by_name(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_client(tmp_path / "own.jsonl") as client:
            await client(call_of(model="tool/calculator"))

    with pytest.raises(ModelError, match="this job has opened no transport 'tool'"):
        asyncio.run(scene())


def test_other_packages_are_not_imported_before_they_are_needed() -> None:
    """Nothing of the core imports the small models, or tokenizers, unless a spec has such a model."""
    code = (
        "import sys, cortexdsl.models.client, cortexdsl.models.probe\n"
        "import cortexdsl.models.transports.registry as r\n"
        "r.transport_type('openai/x'); r.transport_type('builtin/solver')\n"
        "assert not [m for m in sys.modules if m.startswith(('cortexdsl_tiny', 'litellm', 'tokenizers', 'aiohttp'))]\n"
        "r.transport_type('tiny/x')\n"
        "assert 'cortexdsl_tiny.transport' in sys.modules and 'tokenizers' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_modules_of_the_core_are_what_they_declare() -> None:
    for prefix in registry.CORE:
        declared = registry.named_type(prefix)
        assert declared is not None
        assert declared.prefix == prefix
        assert isinstance(sys.modules[f"cortexdsl.models.transports.{prefix}"], ModuleType)
