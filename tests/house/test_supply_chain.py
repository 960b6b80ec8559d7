"""The bill of materials, licences, and the workflows of hosted CI."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml


@pytest.fixture(scope="module")
def sbom(repository: Path) -> Iterator[ModuleType]:
    """The script `locks/sbom.py`."""
    spec = importlib.util.spec_from_file_location("sbom", repository / "locks" / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["sbom"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["sbom"]


def test_the_bill_of_materials_has_every_locked_package(
    sbom: ModuleType, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With version, hashes and licence; equal bytes each time; and no licence is unknown or refused."""
    out = tmp_path / "one.json"
    assert sbom.main(["--out", str(out)]) == 0, capsys.readouterr().err
    assert sbom.main(["--out", str(tmp_path / "two.json")]) == 0
    assert out.read_bytes() == (tmp_path / "two.json").read_bytes()
    bill = json.loads(out.read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    lock = (repository / "locks" / "run.lock.txt").read_text()
    pinned = set(re.findall(r"^([a-z0-9-]+)==([^ ;\\]+) \\$", lock, re.MULTILINE))
    assert pinned <= {(one["name"], one["version"]) for one in bill["components"]}
    for one in bill["components"]:
        assert one["licenses"]
        digests = [digest["content"] for digest in one["externalReferences"][0]["hashes"]]
        assert digests
        assert all(f"sha256:{digest}" in lock for digest in digests)


def test_the_image_of_jobs_is_installed_by_the_steps_of_the_makefile(repository: Path) -> None:
    """From the same locks, with hashes, in the same order, and a package that is not editable."""
    makefile, recipe = (repository / path for path in ("Makefile", "locks/Containerfile"))
    text = makefile.read_text("utf-8")
    setup = text[text.index("$(VENV)/.build:") : text.index("$(VENV)/.dev:")]
    for lock in ("build", "run"):
        setup = setup.replace("-r $<", f"-r locks/{lock}.lock.txt", 1)
    locked = re.search(r"^LOCKED := (.*)$", text, re.MULTILINE)
    assert locked is not None
    setup = setup.replace("$(LOCKED)", locked[1]).replace("--editable ", "")
    steps = re.findall(r"\$\(INSTALL\) (.*)", setup)
    assert len(steps) == 3
    assert re.findall(r"pip install --no-cache-dir (.*?)(?: \\)?$", recipe.read_text("utf-8"), re.MULTILINE) == steps


def test_licences_that_are_refused(sbom: ModuleType) -> None:
    """Unknown ones, and those that are not permitted; of a choice one is enough."""

    def why(licence: str) -> str | None:
        reason: str | None = sbom.refused(sbom.Component("one", "1", (), licence))
        return reason

    assert why("MIT") is None
    assert why("Apache-2.0 AND MIT") is None
    assert why("GPL-3.0-only OR MIT") is None
    assert why("") == "its licence is not known"
    assert why("AGPL-3.0-only") == "not permitted: AGPL-3.0-only"
    assert why("MIT AND GPL-2.0-only") == "not permitted: GPL-2.0-only"
    assert sbom.licence_of("no-such-package") == ""


def workflows(repository: Path) -> dict[str, Any]:
    return {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in sorted((repository / ".github" / "workflows").glob("*.yml"))
    }


def test_hosted_workflows(repository: Path) -> None:
    """Actions are pinned by hash but for one, nothing may write by default, and all Pythons are tested."""
    found = workflows(repository)
    assert set(found) == {"tests", "fuzz", "release"}
    unpinned = set()
    for workflow in found.values():
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            assert job["timeout-minutes"]
            for step in job["steps"]:
                assert ("uses" in step) != ("run" in step)
                if not re.search(r"@[0-9a-f]{40}$", step.get("uses", "@" + "0" * 40)):
                    unpinned.add(step["uses"])
                assert "${{" not in step.get("run", "")  # values reach scripts by their environment
    assert unpinned == {"actions/attest-build-provenance@v4"}
    assert found["tests"]["jobs"]["tests"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert found["release"][True] == {"push": {"tags": ["v*"]}}  # `on` is true in YAML 1.1
    assert "secrets" not in json.dumps(found["release"], default=str)


def test_targets_that_workflows_make(repository: Path) -> None:
    """Each `make TARGET` of a workflow is in the Makefile."""
    targets = set(re.findall(r"^([a-z]+):", (repository / "Makefile").read_text(), re.MULTILINE))
    text = "\n".join(path.read_text() for path in (repository / ".github" / "workflows").glob("*.yml"))
    named = {word for line in re.findall(r"make ([a-z ]+)", text) for word in line.split()}
    assert {"wheel", "sbom", "fuzz"} <= named <= targets
