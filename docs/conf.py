"""Sphinx configuration; the pages of methods and of the API are written from the registry."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("MPLBACKEND", "Agg")

import pages
from docstrings import without_markup

import kilogram

project = "Kilogram"
author = "The Kilogram developers"
copyright = "2026, the Kilogram developers"
release = version = kilogram.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "html_image"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings have them in words
exclude_patterns = ["_build", "_book", "gallery", "Thumbs.db"]
templates_path: list[str] = []
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "Kilogram"
html_static_path = ["_static"]
html_css_files = ["kilogram.css"]
html_favicon = html_logo = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_depth": 1,
    "show_toc_level": 1,
    "collapse_navigation": True,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
#: Pages whose list of siblings is hundreds of lines long have no left sidebar.
html_sidebars = {
    "index": [],
    "install": [],
    "getting_started": [],
    "changelog": [],
    "benchmarks": [],
    "reference/**": [],
    "auto_examples/**": [],
    "methods/index": [],
}

#: MathJax is copied into the build from a package: reading a page fetches nothing.
mathjax_path = "mathjax/tex-svg.js"
mathjax_options = {"defer": "defer"}

TOPICS = (
    "regression", "gaussian_process", "classification", "trees", "subspaces", "clustering",
    "density", "kernels", "evaluation", "experiments", "large_data", "optimization",
)  # fmt: skip


sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "subsection_order": [f"gallery/{topic}" for topic in TOPICS],
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "gallery_style.quiet_style"),
    "image_srcset": ["2x"],
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1000,
    "write_computation_times": False,
    "capture_repr": (),
    "plot_gallery": os.environ.get("KILOGRAM_DOCS_PLOTS", "True"),
    "parallel": int(os.environ.get("KILOGRAM_DOCS_JOBS", "1")) or False,
}

pages.write()


def copy_mathjax(app, error):
    """One file of MathJax and its TeX extensions, from the installed package."""
    if error is not None or app.builder.name != "html":
        return
    package = Path(find_spec("sphinx-mathjax-offline").origin).parent
    source, target = package / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "tex-svg.js", target)
    shutil.copytree(
        source / "input/tex/extensions", target / "input/tex/extensions", dirs_exist_ok=True
    )


def copy_book(app, error):
    """The exported live book, where `make docs` made one."""
    book = HERE / "_book"
    if error is None and app.builder.name == "html" and book.is_dir():
        shutil.copytree(book, Path(app.outdir) / "live", dirs_exist_ok=True)


def setup(app):
    app.connect("autodoc-process-docstring", without_markup, priority=600)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", copy_book)
