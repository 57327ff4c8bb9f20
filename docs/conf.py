"""How sphinx makes the site: `make docs` writes it to docs/_build/html.

Nothing is fetched, neither then nor when it is read.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from coterie import __version__  # noqa: E402

project = "coterie"
author = "the coterie engineers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "repository",
]
exclude_patterns = ["_build", "gallery"]
smartquotes = False  # a quoted value of a parameter is to be copied as it stands
templates_path = ["_templates"]
highlight_language = "text"  # of blocks that name none: commands and their output
default_role = "py:obj"  # `name` in a docstring leads to its page where there is one, and is code elsewhere

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections have the types in words
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

SECTIONS = ("one_view", "several_views", "choosing", "knowledge", "large")
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "subsection_order": [f"gallery/{name}" for name in SECTIONS],
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "api/used",
    "doc_module": ("coterie",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 0,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
}

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"coterie {version}"
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "coterie"},
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}

CONTENTS = {
    "guide": (
        "choose",
        "user-guide",
        "reading-a-report",
        "explorer",
        "many-processes",
        "reproducibility",
        "promises",
        "errors",
    ),
    "methods/index": ("graph", "pcx", "largemvc", "mvsib", "sscnet", "fucsmf", "../errata"),
    "benchmarks/index": ("peers", "papers", "costs"),
    "project": ("architecture", "contributing", "supply", "changelog"),
}


def add_contents(app, docname, source):
    """Add the contents of a section to its page, which may also be read as plain Markdown outside the site."""
    if docname in CONTENTS:
        folder = (HERE / docname).parent
        there = [name for name in CONTENTS[docname] if (folder / f"{name}.md").exists()]
        shown = [":hidden:"] if docname == "benchmarks/index" else [":maxdepth: 1"]
        source[0] += "\n".join(["", "```{toctree}", *shown, "", *there, "```", ""])


def leave_out(app, what, name, obj, skip, options):
    """Leave methods of scikit-learn, torch and Python out of the reference: they are described at home."""
    made = getattr(obj, "fget", obj)
    return True if callable(made) and not str(getattr(made, "__module__", "")).startswith("coterie") else None


def setup(app):
    """Connect what is defined here."""
    app.connect("source-read", add_contents)
    app.connect("autodoc-skip-member", leave_out)
