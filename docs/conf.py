"""Sphinx configuration; `make docs` builds the site without a network."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from hips import __version__  # noqa: E402

project = "HIPS-ε"
copyright = "the HIPS-ε developers"
version = release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "_extensions.mathml",
    "_extensions.generated",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
# Files outside the site, such as examples, are shown in the repository.
suppress_warnings = ["myst.xref_missing"]
html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"HIPS-ε {version}"
html_static_path = ["_static"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
add_module_names = False
