"""How Sphinx builds this documentation: offline, with warnings as errors (`make docs`)."""

from __future__ import annotations

import os
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst  # type: ignore[import-untyped]

from dcshap import __version__

project = "dcshap"
author = "the dcshap authors"
project_copyright = "the dcshap authors, Apache-2.0"
release = __version__
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "examples/*.ipynb", "examples/*.py", "**/sg_execution_times.rst"]
suppress_warnings = ["config.cache"]  # the functions below cannot be stored between builds, and need not be

myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 4

default_role = "code"  # `x` in a docstring is code, as in Markdown
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say types, in fewer words
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
strip_signature_backslash = True  # or `parties_` loses its underscore

html_theme = "furo"
html_title = "dcshap"
html_static_path = ["_static"]
html_css_files = ["dcshap.css"]
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def scrape_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:  # noqa: ARG001
    """Save the figures that a block of an example has made; pyplot does not know dcshap's."""
    shown = block_vars.setdefault("shown_figures", set())
    paths = block_vars["image_path_iterator"]
    saved = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Figure) and id(value) not in shown:
            shown.add(id(value))
            path = next(paths)
            value.savefig(path, dpi=144, bbox_inches="tight")
            saved.append(path)
    return str(figure_rst(saved, gallery_conf["src_dir"]))


class ReadingOrder:
    """From what everybody needs to what few do."""

    names = (
        "two_hospitals",
        "bank_and_shop",
        "four_hospitals",
        "regression",
        "background",
        "many_features",
        "any_model",
        "reasons_and_receipts",
        "audit",
        "federation",
    )

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> int:
        """The place of an example in the gallery."""
        return self.names.index(filename.removeprefix("plot_").removesuffix(".py"))


os.environ.setdefault("MPLBACKEND", "agg")
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"plot_",
    "image_scrapers": (scrape_figures,),
    "capture_repr": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 3600,
    "remove_config_comments": True,
    "within_subsection_order": ReadingOrder,
    "reset_modules": (),
    "write_computation_times": False,
}


def skip_inherited(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:  # noqa: ARG001, PLR0917
    """Leave out what classes have from scikit-learn: its documentation is elsewhere."""
    return True if str(getattr(obj, "__module__", "")).startswith("sklearn.") else None


def setup(app: Any) -> None:
    """Connect the function above."""
    app.connect("autodoc-skip-member", skip_inherited)
