"""The labelling app: pages, HTTP API and accounts over a project's store.

Needs ``pip install 'clew[web]'``. A web process uses the store and the media alone; a worker beside
it learns. `clew serve` starts both.
"""

from typing import TYPE_CHECKING

from clew._lazy import imported_when_used
from clew.web.settings import WebSettings

if TYPE_CHECKING:
    from clew.web.serving.app import create_app as create_app

__all__ = ["WebSettings", "create_app"]


if not TYPE_CHECKING:  # mypy would accept any attribute
    # Settings alone need no extra.
    __getattr__, __dir__ = imported_when_used(__name__, {"create_app": "serving.app"})
