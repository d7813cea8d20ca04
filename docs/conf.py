"""How the documentation is built: ``make docs``. Nothing is fetched, and a warning is an error."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import matplotlib as mpl

import harmonium as hm

mpl.use("agg")

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

project = "harmonium"
author = "the harmonium developers"
release = hm.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "equations",
]

# --- text ---
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_templates", "gallery/GALLERY_HEADER.rst", "sg_execution_times.rst"]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "smartquotes"]
myst_heading_anchors = 3
math_eqref_format = "eq. {number}"
nitpicky = True

# --- reference ---
shutil.rmtree(Path(__file__).parent / "api" / "generated", ignore_errors=True)  # pages of what is no longer there would be warned of
autosummary_generate = True
autosummary_ignore_module_all = False
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's sections have them
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
nitpick_ignore_regex = [("py:obj", r"[a-z0-9_]+_")]  # properties among the attributes, which numpydoc would link to pages of their own

# --- examples: they draw the figures of all pages ---
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "capture_repr": (),
    "min_reported_time": 1e6,
    "notebook_extensions": set(),
    "reset_modules": ("matplotlib", "figures.sharp"),
    "write_computation_times": False,
}

# --- pages ---
html_theme = "pydata_sphinx_theme"
html_title = "harmonium"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["harmonium.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_nav_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "logo": {"text": "harmonium"},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copyright = "2026, the harmonium developers"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
