"""The labelling app: pages, HTTP API and accounts over a project's store.

Needs ``pip install 'clew[web]'``. A web process uses the store and the media alone; a worker beside
it learns. `clew serve` starts both.
"""

from clew.web.app import create_app
from clew.web.settings import WebSettings

__all__ = ["WebSettings", "create_app"]
