"""The manual as a site: `make docs` builds it with Sphinx from the Markdown pages of this folder, without a network.

Sphinx and MyST are the best kept of the tools that check every link and heading and read Markdown as it is;
MkDocs 1 is no longer maintained, and its successors were in flux when this was decided.
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "site"), str(DOCS.parent)]

from repository_links import OUTSIDE  # noqa: E402

from cortexdsl import __version__  # noqa: E402

project, author = "cortexdsl", "the authors of cortexdsl"
project_copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "reference_pages",  # docs/site: pages generated from the declarations of the program
    "gallery",  # reports and explorer sites of shipped specs
    "repository_links",  # links to files that are not pages of the site
    "plain_text",  # llms.txt, and each page as Markdown beside its HTML
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["schema", "site", *OUTSIDE]
master_doc = "index"

# Until the project has a public address, links to files that are not pages show the file's name without a link.
repository_url = ""

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
smartquotes_action = "qe"  # quotes and ellipses, but `--option` stays as it is typed
suppress_warnings = [
    "myst.header",  # reference pages start their tables below different levels
    "toc.not_included",  # pages of a section are linked from its first page; tests/house/test_manual.py checks that
]
nitpicky = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = False

html_theme = "furo"
html_title = f"cortexdsl {release}"
html_favicon = "site/favicon.svg"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["site/static"]
html_css_files = ["layout.css"]
templates_path = ["site/templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
        "sidebar/versions.html",  # empty, but for `make site`
    ]
}
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = "$ "
