"""Sphinx configuration of the documentation: ``make docs``."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")

import slackwater

HERE = Path(__file__).parent

project = "slackwater"
author = "the slackwater developers"
copyright = author
version = release = slackwater.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["reproduction/*", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
nitpicky = True
default_role = "literal"

# ---- Markdown

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3

# ---- API reference

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say it in words
numpydoc_show_class_members = False  # the template of a class has its own tables
numpydoc_class_members_toctree = False

# ---- gallery

warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)  # plt.show() in the examples
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("slackwater",),
    "reference_url": {"slackwater": None},
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "copyfile_regex": r".*\.rst",
    "image_srcset": ["2x"],
    "thumbnail_size": (720, 400),
    "min_reported_time": 1e9,
}

# ---- pages

html_theme = "pydata_sphinx_theme"
html_title = "slackwater"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
# Nothing stands beside these.
ALONE = ("index", "tour", "algorithm", "reproduction", "comparison/index", "measurements", "gallery/index")
html_sidebars = {name: [] for name in ALONE}
html_theme_options: dict[str, Any] = {
    "logo": {"text": "slackwater", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "gallery/index": [], "scale": []},
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _copy_reproduction(app: Any, exception: Exception | None) -> None:
    """The reproduction's own page, which is whole as it is."""
    if exception is None and app.builder.format == "html":
        target = Path(app.outdir) / "reproduction"
        target.mkdir(exist_ok=True)
        shutil.copy(HERE / "reproduction" / "index.html", target / "index.html")


def setup(app: Any) -> None:
    app.connect("build-finished", _copy_reproduction)
