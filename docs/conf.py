"""How the pages are built: `make docs`."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from draw import draw_all
from live import write_all

from hidiv import plots

draw_all(Path(__file__).parent / "pictures")
write_all(Path(__file__).parent / "made")

# Which plot shows the result of which function.
SHOWN_BY = {
    "parts": ["joint_kl", "Divergence"], "profile": ["posterior_kl"], "convergence": ["montecarlo"],
    "over_length": ["joint_kl_rate", "observed_kl_rate"], "differences": ["compare", "Comparison"],
    "pairwise": ["pairwise_kl", "PairwiseMatrix"],
    "influence": ["influence"], "reduction": ["reduce"], "choice": ["choose"], "difference": ["differ"],
    "interval": ["divergence_interval", "bootstrap_divergence"],
    "standard_errors": ["standard_errors"], "score": ["score"],
    "equivalence": ["equivalent"], "minimal": ["minimal"], "matching": ["match"], "agreement": ["agreement"],
    "state_diagram": ["Model"], "emissions": ["Gaussian"],
}  # fmt: skip

project = "hidiv"
author = "the hidiv developers"
copyright = author
version = release = installed("hidiv")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",  # a page for each function
    "sphinx_design",  # cards and grids
    "run_examples",
    "plain_docstrings",  # before napoleon, which turns the sections of docstrings into fields
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx-mathjax-offline",  # equations without a request to anywhere
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "made", "templates"]
templates_path = ["templates"]
html_extra_path = ["made"]
autosummary_context = {
    # The members that a class's page describes, and the plot that a page shows.
    "members": {
        "Model": "", "Tree": "", "Evidence": "", "Divergence": "to, to_dict", "Comparison": "to_dict",
        "Measure": "to_dict", "Collection": "load",
    },
    "pictures": {f"hidiv.plots.{name}": name for name in plots.__all__}
    | {f"hidiv.{name}": plot for plot, names in SHOWN_BY.items() for name in names},
}  # fmt: skip
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "html_image"]
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
