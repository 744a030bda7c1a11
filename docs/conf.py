"""How the documentation is built: offline, with warnings as errors (``make docs``)."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from sphinx_gallery import backreferences

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
# The gallery draws into files by itself; pages of code need the notebooks' own backend.
os.environ.pop("MPLBACKEND", None)

project = "clew"
author = "The clew developers"
project_copyright = "The clew developers"
release = importlib.metadata.version("clew")
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "commands",
    "methods",
    "offline",
    "sidebar",
]
exclude_patterns = [
    "_build",
    "_templates",
    "auto_examples/**/*.ipynb",
    "auto_examples/**/*.json",
]
templates_path = ["_templates"]
default_role = (
    "py:obj"  # `name` in a docstring is code, and a link where clew has that name
)
suppress_warnings = [
    "config.cache"
]  # the order of the examples is a class, which is not cached

# Pages in Markdown.
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
# Pages and notebooks with code cells run at every build, so that their outputs are true.
nb_execution_mode = "force"
nb_execution_in_temp = True  # what a page writes is not left among the sources
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
nb_ipywidgets_js = {}  # no widgets, and nothing fetched from elsewhere
copybutton_exclude = ".linenos, .gp, .go"
html_math_renderer = "mathml"

# The reference, from the docstrings.
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections hold the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Checks of every public docstring; ruff's D rules check the rest.
numpydoc_validation_checks = {
    "GL01", "GL03", "GL05", "GL06", "GL07", "GL08",
    "SS01", "SS02", "SS03", "SS04",
    "PR01", "PR02", "PR04", "PR05", "PR07", "PR10",
    "RT01", "YD01", "SA04",
}  # fmt: skip
# A protocol has no parameters of its own, and the fields of a record are described one by one.
numpydoc_validation_exclude = {
    r"\.Oracle\b",
    r"\.Support\b",
    r"\.PairPosterior\b",
    r"\.AnswerPosterior\b",
    r"\.Candidate\b",
    r"\.ColumnUse\.",
    r"\.Explanation\b",
    r"\.GroupQuality\.",
    r"\.Smoother\b",
    r"\.store\.Store$",
    r"\.items\.(LeftOut|Sound)$",
    r"\.features\.(Features|Images|Texts)$",
    r"\.session\.(SessionResult|Doubt|Quality|Estimate|Remaining|Advice|Suggestion|Applied)$",
    r"\.session\.(Preview|Contradiction|Change|AnnotatorQuality)$",
    r"\.store\.(Annotator|Counts|Group|ItemChanges|Job|Lease|Logged|Served|StoredResult)$",
    r"\.store\.(Suggestion|Token|WorkerState)$",
    r"\.trust\.ScreenErrors$",
    r"\.worker\.Rows$",
    r"\._",
}

# The examples: each is run, each becomes a page.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": [
        "../examples/groups",
        "../examples/similarities",
        "../examples/answers",
    ],
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("clew",),
    "reference_url": {"clew": None},
    "backreferences_dir": None,
    "abort_on_example_error": True,
    "parallel": True,  # as many processes as sphinx-build has
    "download_all_examples": False,
    "thumbnail_size": (560, 420),
    "show_memory": False,
    "show_signature": False,
    # That page loads scripts from elsewhere.
    "write_computation_times": False,
    "remove_config_comments": True,
}
warnings.filterwarnings("error", category=UserWarning, module=r"clew(\.|$)")
# Thumbnails have an empty alternative text by default.
backreferences.THUMBNAIL_TEMPLATE = backreferences.THUMBNAIL_TEMPLATE.replace(
    ":alt:", ":alt: Picture from the example: {title}"
)

# How it looks.
html_theme = "furo"
html_title = "clew"
html_logo = "_static/logo.svg"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {
        "color-brand-primary": "#9c4630",
        "color-brand-content": "#9c4630",
        "color-api-name": "#9c4630",
        "color-api-pre-name": "var(--color-foreground-secondary)",
        "color-sidebar-link-text": "var(--color-foreground-primary)",
        "color-sidebar-link-text--top-level": "var(--color-foreground-primary)",
    },
    "dark_css_variables": {
        "color-brand-primary": "#e3a18c",
        "color-brand-content": "#e3a18c",
        "color-api-name": "#e3a18c",
        "color-api-pre-name": "var(--color-foreground-secondary)",
        "color-sidebar-link-text": "var(--color-foreground-primary)",
        "color-sidebar-link-text--top-level": "var(--color-foreground-primary)",
    },
}


def skip_foreign(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what a class only inherits from elsewhere: it is documented there."""
    if name.startswith("set_") and name.endswith("_request"):
        return True
    if type(member).__name__ == "_tuplegetter":
        return None
    function = member.fget if isinstance(member, property) else member
    origin = getattr(function, "__module__", None)
    return None if origin is not None and origin.split(".")[0] == "clew" else True


def setup(app: Any) -> None:
    """Connect the rule about inherited members."""
    app.connect("autodoc-skip-member", skip_foreign)
