"""Turn links to files that are not pages into links to the repository, or into file names while it has no address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:)([^)\s#]+)(#[^)\s]*)?\)")
OUTSIDE = ("benchmarks", "decisions", "architecture.md", "extending.md")
"""Folders and pages of docs/ that stay in the repository: they are for those who change the program."""


def resolve_links(app: Any, page: str, source: list[str]) -> None:
    """Rewrite the links of a page that lead out of the manual; a missing file is an error."""
    root, folder = Path(app.srcdir).parent, (Path(app.srcdir) / page).parent

    def replacement(match: re.Match[str]) -> str:
        label, path, anchor = match[1], match[2], match[3] or ""
        target = (folder / path).resolve()
        left_out = any(target.is_relative_to(Path(app.srcdir) / name) for name in OUTSIDE)
        if target.is_relative_to(app.srcdir) and not left_out:
            return match[0]
        if not target.exists():
            raise ValueError(f"{page}.md links to {path}, which does not exist")
        name = target.relative_to(root).as_posix()
        address = app.config.repository_url
        if address:
            return f"[{label}]({address.rstrip('/')}/blob/main/{name}{anchor})"
        return label if name in label else f"{label} (`{name}`)"

    source[0] = LINK.sub(replacement, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_config_value("repository_url", "", "html", str)
    app.connect("source-read", resolve_links)
    return {"parallel_read_safe": True}
