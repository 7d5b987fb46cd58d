"""How the pages are built: `make docs`."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from draw import three_divergences

three_divergences(Path(__file__).parent / "pictures" / "three_divergences.svg")

project = "hidiv"
author = "the hidiv developers"
copyright = author
version = release = installed("hidiv")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "plain_docstrings",  # before napoleon, which turns the sections of docstrings into fields
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx-mathjax-offline",  # equations without a request to anywhere
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # members that have docstrings of their own are described once
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autoclass_content = "class"
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_title = f"hidiv {release}"
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True


def without_last_empty_lines(app: object, name: str, source: list[str]) -> None:
    """Doctests end with an empty line that no reader needs."""
    source[0] = re.sub(r"\n\n```(?=\n|$)", "\n```", source[0])


def setup(app: object) -> None:
    """Sphinx calls this."""
    app.connect("source-read", without_last_empty_lines)  # type: ignore[attr-defined]
