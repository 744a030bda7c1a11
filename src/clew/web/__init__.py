"""The labelling app: pages, HTTP API and accounts over a project's store.

Needs ``pip install 'clew[web]'``. A web process uses the store and the media alone; a worker beside
it learns. `clew serve` starts both.
"""

import importlib
from typing import TYPE_CHECKING

from clew.web.settings import WebSettings

if TYPE_CHECKING:
    from clew.web.serving.app import create_app as create_app

__all__ = ["WebSettings", "create_app"]


if not TYPE_CHECKING:  # mypy would accept any attribute

    def __getattr__(name: str) -> object:
        """Import the app when it is first used: settings alone need no extra."""
        if name != "create_app":
            raise AttributeError(f"module 'clew.web' has no attribute {name!r}")
        return importlib.import_module("clew.web.serving.app").create_app
