"""The house keeps its promises: locked installs, one list of dependencies, links that resolve."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from cortexdsl import __version__

LOCKS = ("build.lock.txt", "run.lock.txt", "dev.lock.txt")
TRAIN = "train.lock.txt"
CONDA_NAMES = {"matplotlib-base": "matplotlib", "snakemake-minimal": "snakemake"}
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def pyproject(repository: Path) -> dict[str, Any]:
    return tomllib.loads((repository / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def tracked(repository: Path) -> list[Path]:
    """Every file of the project that git follows; skipped where this is no checkout (an unpacked archive)."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=repository, capture_output=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout, so nothing says which files belong to the project")
    paths = (repository / name.decode() for name in listing.stdout.split(b"\0") if name)
    return [path for path in paths if path.is_file()]


def texts(paths: list[Path], *suffixes: str) -> list[tuple[Path, str]]:
    """Read those files that are text and end so."""
    found = []
    for path in paths:
        data = path.read_bytes()
        if (not suffixes or path.suffix in suffixes) and b"\0" not in data:
            found.append((path, data.decode()))
    return found


def pins(lock: Path) -> dict[str, set[Version]]:
    """Read the versions of each package that a lock allows (one for each kind of machine)."""
    pinned: dict[str, set[Version]] = {}
    for name, version in PIN.findall(lock.read_text()):
        pinned.setdefault(canonicalize_name(name), set()).add(Version(version))
    return pinned


@pytest.mark.parametrize("name", [*LOCKS, TRAIN])
def test_every_pin_of_a_lock_has_a_hash_and_no_line_names_a_host(repository: Path, name: str) -> None:
    """pip checks what it downloads only where each requirement has a hash; where to download from is the user's."""
    text = (repository / "locks" / name).read_text()
    entries = re.split(r"\n(?=[A-Za-z0-9])", text.strip())
    assert len(entries) > 5
    for entry in entries:
        assert PIN.match(entry), entry
        assert "--hash=sha256:" in entry, entry
    assert "://" not in text
    assert set(re.findall(r"^\s*(-[\w-]+)", text, re.MULTILINE)) == {"--hash"}


@pytest.mark.parametrize(
    ("name", "group"), [("run.lock.txt", None), ("dev.lock.txt", "dev"), ("build.lock.txt", "build")]
)
def test_a_lock_satisfies_pyproject(repository: Path, pyproject: dict[str, Any], name: str, group: str | None) -> None:
    """A pin outside of what pyproject.toml asks for means that the lock was not renewed after an edit."""
    wanted = [] if group == "build" else list(pyproject["project"]["dependencies"])
    wanted += pyproject["dependency-groups"][group] if group else []
    pinned = pins(repository / "locks" / name)
    for requirement in map(Requirement, wanted):
        versions = pinned.get(canonicalize_name(requirement.name), set())
        assert versions, f"{requirement} is not in locks/{name}: run make lock"
        assert all(requirement.specifier.contains(version) for version in versions), str(requirement)


def test_locks_agree(repository: Path) -> None:
    """One environment serves running and developing, so a package has the same versions in every lock."""
    build, run, dev = (pins(repository / "locks" / name) for name in LOCKS)
    assert {name: dev.get(name) for name in run} == run
    assert {name: versions for name, versions in build.items() if name in dev and dev[name] != versions} == {}


def test_what_training_needs_is_locked_beside_the_others(repository: Path, pyproject: dict[str, Any]) -> None:
    """All but PyTorch, whose builds differ from machine to machine; what both need has the same version."""
    pinned, dev = (pins(repository / "locks" / name) for name in (TRAIN, "dev.lock.txt"))
    wanted = list(map(Requirement, pyproject["project"]["optional-dependencies"]["train"]))
    versions = {r.name: next(iter(pinned[r.name])) for r in wanted if r.name != "torch"}
    assert all(r.specifier.contains(versions[r.name]) for r in wanted if r.name != "torch")
    assert "torch" not in pinned
    assert {name: found for name, found in pinned.items() if name in dev and dev[name] != found} == {}
    (torch,) = (r for r in wanted if r.name == "torch")
    assert f"torch{torch.specifier}" in (repository / "Makefile").read_text()


def test_build_backend_is_pinned_and_locked(repository: Path, pyproject: dict[str, Any]) -> None:
    """The project installs without build isolation: its backend must be the locked one."""
    (backend,) = map(Requirement, pyproject["build-system"]["requires"])
    pinned = pins(repository / "locks" / "build.lock.txt")[canonicalize_name(backend.name)]
    assert str(backend.specifier) == f"=={next(iter(pinned))}"


def test_litellm_is_newer_than_the_malicious_releases(repository: Path, pyproject: dict[str, Any]) -> None:
    """1.82.7 and 1.82.8, uploaded on 2026-03-24, stole credentials; neither lock nor range may allow them."""
    (asked,) = (
        requirement
        for requirement in map(Requirement, pyproject["project"]["dependencies"])
        if requirement.name == "litellm"
    )
    assert not asked.specifier.contains("1.82.7")
    assert not asked.specifier.contains("1.82.8")
    for name in ("run.lock.txt", "dev.lock.txt"):
        assert all(version > Version("1.82.8") for version in pins(repository / "locks" / name)["litellm"])


def test_environment_yml_asks_for_what_pyproject_asks_for(repository: Path, pyproject: dict[str, Any]) -> None:
    """Two lists of dependencies drift apart unless they are compared: same names, same bounds."""
    entries = yaml.safe_load((repository / "environment.yml").read_text())["dependencies"]
    (from_pip,) = (entry["pip"] for entry in entries if isinstance(entry, dict))
    conda = {}
    for entry in (*(entry for entry in entries if isinstance(entry, str)), *from_pip):
        requirement = Requirement(entry)
        conda[CONDA_NAMES.get(requirement.name, requirement.name)] = (
            requirement.specifier,
            requirement.extras,
        )
    project = {
        requirement.name: (requirement.specifier, requirement.extras)
        for requirement in map(Requirement, pyproject["project"]["dependencies"])
    }
    assert str(conda.pop("python")[0]) == pyproject["project"]["requires-python"]
    assert conda.pop("pip")
    extra = {
        r.name: (r.specifier, r.extras)
        for r in map(Requirement, pyproject["project"]["optional-dependencies"]["embeddings"])
    }
    assert conda.pop("sentence-transformers") == extra["sentence-transformers"]
    assert conda == project


def test_the_citation_is_of_this_version_and_names_nobody(repository: Path, pyproject: dict[str, Any]) -> None:
    """Whoever cites the program cites its version; its authors are not invented."""
    said = yaml.safe_load((repository / "CITATION.cff").read_text())
    assert said["version"] == __version__
    assert said["license"] == pyproject["project"]["license"]
    assert said["authors"] == [{"name": "The cortexdsl authors"}]


def test_no_tracked_file_names_a_machine_or_an_index(tracked: list[Path]) -> None:
    """A path of somebody's machine or the address of a package index in a file binds the project to that place."""
    roots = "|".join(("work", "root", "home", "tmp", "Users"))
    machine = re.compile(rf"(?:^|[^A-Za-z0-9_.])/(?:{roots})/\w")
    index = re.compile("|".join(("index" + "-url", "find" + "-links", r"https?://[^\s]*/simple(?:/|\s|$)")))
    found = []
    for path, text in texts(tracked):
        for number, line in enumerate(text.splitlines(), 1):
            if machine.search(line) or index.search(line):
                found.append(f"{path.name}:{number}: {line.strip()}")
    assert found == []


GENERATED = Path(__file__).resolve().parents[2] / "docs" / "reference"


def test_links_of_the_documents_resolve(repository: Path, tracked: list[Path]) -> None:
    """Every relative link and picture of a Markdown file leads to a file that is there.

    Pages that `make docs` generates need not be: it checks the links to them itself. Fragments become lines of
    CHANGELOG.md, so their links are relative to its folder.
    """
    link = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")
    broken = []
    for path, text in texts(tracked, ".md"):
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        folder = repository if path.parent.name == "changelog.d" else path.parent
        for target in link.findall(prose):
            if re.match(r"[a-z]+:|#", target) or GENERATED in (folder / target).resolve().parents:
                continue
            if not (folder / target.split("#")[0]).exists():
                broken.append(f"{path.relative_to(repository)}: {target}")
    assert broken == []


def test_the_licence_is_apache_2(repository: Path, pyproject: dict[str, Any]) -> None:
    """The declared licence and the text that is shipped are the same one, whole."""
    text = (repository / "LICENSE").read_text()
    assert pyproject["project"]["license"] == "Apache-2.0"
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_versions_agree(repository: Path, pyproject: dict[str, Any]) -> None:
    """The package, its metadata and the newest entry of the changelog name one version."""
    version = pyproject["project"]["version"]
    assert f'__version__ = "{version}"' in (repository / "cortexdsl" / "__init__.py").read_text()
    assert f"## {version}" in (repository / "CHANGELOG.md").read_text()


RUNNERS = {
    "tests/workflow/bench.py",
    "tests/specs/test_examples.py",
    "tests/workflow/test_forks.py",
    "tests/zoo/test_workflow.py",
}


def test_tests_run_snakemake_by_the_bench(repository: Path, tracked: list[Path]) -> None:
    """A run of its own costs four seconds of imports, and a fork none: the files that name the command use `Bench`."""
    named = {
        path.relative_to(repository).as_posix(): text
        for path, text in texts([path for path in tracked if path.is_relative_to(repository / "tests")], ".py")
        if re.search(r'"-m",\s*"snakemake"', text)
    }
    assert set(named) == RUNNERS
    assert all("Bench(" in text or "class Bench" in text for text in named.values())
