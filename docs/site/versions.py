"""Build the manual of each tagged version and of the last commit side by side, for a web host.

    python docs/site/versions.py build/site      # build/site/latest, build/site/0.2.0 ..., and a start page

Each page lists the versions. The list is a script at the top of the site, so pages of old versions show new ones, too.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LATEST = "latest"
SCRIPT = """\
(function () {
  const versions = %s;
  const here = document.currentScript.dataset;
  const list = document.createElement("p");
  list.className = "versions";
  list.append("Versions: ");
  for (const version of versions) {
    const link = document.createElement(version === here.version ? "strong" : "a");
    if (version !== here.version) link.href = here.root + "../" + version + "/index.html";
    link.textContent = version;
    list.append(link, " ");
  }
  document.currentScript.after(list);
})();
"""


def tagged_versions() -> list[str]:
    """Versions whose tag `vX.Y.Z` has a manual, the newest first."""
    tags = git("tag", "--list", "v*").split()
    found = [tag[1:] for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+", tag) and git("ls-tree", tag, "docs/conf.py")]
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")], reverse=True)


def git(*arguments: str) -> str:
    """The output of a git command in the repository."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def build(source: Path, target: Path, version: str) -> None:
    """Build the manual in `source` with the list of versions on its pages."""
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet", "--fail-on-warning"]
    command += ["-A", f"listed_version={version}", "-D", f"html_title=cortexdsl {version}"]
    with tempfile.TemporaryDirectory() as cache:  # of Sphinx: larger than the pages, and of no use on a web host
        subprocess.run([*command, "--doctree-dir", cache, str(source / "docs"), str(target)], check=True)


def write_start(folder: Path, versions: Iterable[str]) -> None:
    """Write the list of versions, and a start page that leads to the newest tagged one."""
    listed = list(versions)
    newest = next((version for version in listed if version != LATEST), LATEST)
    (folder / "versions.js").write_text(SCRIPT % json.dumps(listed), encoding="utf-8")
    page = f'<!doctype html><title>cortexdsl</title><meta http-equiv="refresh" content="0; url={newest}/index.html">'
    page += f'<a href="{newest}/index.html">The manual</a>\n'
    (folder / "index.html").write_text(page, encoding="utf-8")


def main(folder: Path) -> None:
    """Build every version."""
    versions = tagged_versions()
    shutil.rmtree(folder, ignore_errors=True)  # no page of an earlier build stays
    folder.mkdir(parents=True)
    build(ROOT, folder / LATEST, LATEST)
    for version in versions:
        with tempfile.TemporaryDirectory() as copy:
            packed = subprocess.run(["git", "archive", f"v{version}"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
            subprocess.run(["tar", "-x", "-C", copy], input=packed.stdout, check=True)
            build(Path(copy), folder / version, version)
    write_start(folder, [LATEST, *versions])
    print(f"The manual of {len(versions) + 1} versions: {folder}/index.html")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/site"))
