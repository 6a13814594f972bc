"""Settings of the documentation site (`make docs`)."""

from tqnet.version import __version__

project = "tqnet"
release = __version__
extensions = ["autoapi.extension", "myst_parser", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["results/**/*.json"]
html_theme = "furo"
html_title = f"tqnet {release}"

# The API reference is read from the sources: nothing is imported for it.
autoapi_dirs = ["../tqnet"]
autoapi_options = ["members", "show-module-summary"]
autoapi_add_toctree_entry = False
autoapi_ignore = ["*/recipes/*"]
suppress_warnings = ["autoapi", "docutils", "ref.python", "myst.xref_missing"]
