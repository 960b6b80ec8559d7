"""The gallery: reports and explorer sites of shipped specs, as far as their results lie in `results/`.

`make gallery` runs the specs first; `make docs` alone shows what is there.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.explorer.static_site import write_static

SPECS = ("quickstart", "examples/claims", "examples/whatif")
"""Specs of the gallery; with two cores they run in about a minute."""


def write_gallery(app: Any, exception: Exception | None) -> None:
    """Copy finished reports into the built site and write the explorer beside them."""
    if exception is not None or app.builder.format != "html":
        return
    out = Path(app.outdir) / "gallery"
    for name in finished(app):
        results = Path(app.srcdir).parent / "results" / name
        target = out / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        shutil.copy2(results / "report.html", target / "report.html")
        for part in ("figures", "tables"):
            if (results / part).is_dir():
                shutil.copytree(results / part, target / part)
        write_static([ResultsFolder(name, results)], target / "explorer")


def finished(app: Any) -> list[str]:
    """Specs of the gallery that have a report."""
    results = Path(app.srcdir).parent / "results"
    return [name for name in SPECS if (results / name / "report.html").is_file()]


def write_page(app: Any) -> None:
    """Write docs/reference/gallery.md: the links, or how to make them."""
    lines = [
        "# Gallery",
        "",
        "This page has reports of shipped specs, and their debates turn by turn. They were made with this site.",
        "",
    ]
    names = finished(app)
    for name in names:
        spec = (Path(app.srcdir).parent / "specs" / f"{name}.yaml").read_text(encoding="utf-8")
        title = next(line for line in spec.splitlines() if line.startswith("title: ")).removeprefix("title: ")
        folder = f"../gallery/{name}"
        lines += [f"## {title}", "", f"The spec is `specs/{name}.yaml`.", ""]
        lines += [
            f'<a href="{folder}/report.html">Its report</a> · <a href="{folder}/explorer/index.html">its debates</a>',
            "",
        ]
    if not names:
        lines += [
            "This site was built without reports. `make gallery` runs the specs, and builds the site again.",
            "",
        ]
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    (folder / "gallery.md").write_text("\n".join(lines), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", write_page)
    app.connect("build-finished", write_gallery)
    return {"parallel_read_safe": True}
