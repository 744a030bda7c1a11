"""The web process: pages, API, media and events over one store. It never loads a model."""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from clew.exceptions import ClewError
from clew.items import Media
from clew.store import open_store
from clew.web import api, pages
from clew.web.asking import Presenter
from clew.web.pages.drawing import SignedOutError, error_page, signed_out
from clew.web.problems import Problem, add_problems
from clew.web.results import Results, Watcher
from clew.web.security import Security
from clew.web.settings import WebSettings

#: Requests that are answered at the same time; each thread holds connections and memory.
N_THREADS = 16
STATIC = Path(__file__).parents[1] / "static"


def create_app(settings: WebSettings, *, clock: Callable[[], float] = time.monotonic) -> FastAPI:
    """Make the app of a project.

    Parameters
    ----------
    settings : WebSettings
        The project, and where and for whom it is served.
    clock : callable, default=time.monotonic
        Returns the seconds by which requests are limited.

    Returns
    -------
    FastAPI
        An ASGI app. The store is opened when the app starts, and closed when it ends.

    Examples
    --------
    >>> from pathlib import Path
    >>> from clew.web import WebSettings, create_app
    >>> app = create_app(WebSettings("photos/.clew/clew.db", Path("photos"), Path("photos/.clew")))
    >>> app.title
    'clew'
    """
    routers = *api.ROUTERS, *pages.ROUTERS, health
    return shell(settings, *routers, lifespan=_life, clock=clock)


def shell(
    settings: WebSettings,
    *routers: APIRouter,
    lifespan: Any = None,
    clock: Callable[[], float] = time.monotonic,
) -> FastAPI:
    """Make an app of some routers, with what every request and every reply go through."""
    app = FastAPI(
        title="clew",
        version=metadata.version("clew"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.settings = settings
    add_problems(app, error_page)
    app.add_exception_handler(SignedOutError, lambda request, _: signed_out(request))
    for router in routers:
        app.include_router(router)
    app.mount("/static", Static(directory=STATIC), name="static")
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)
    app.add_middleware(Security, settings=settings, clock=clock)
    return app


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    """Open the store when the app starts, and close it when it ends."""
    to_thread.current_default_thread_limiter().total_tokens = N_THREADS
    settings: WebSettings = app.state.settings
    store = open_store(settings.store)
    app.state.store = store
    app.state.results = Results(store)
    app.state.media = Media(settings.root, cache=settings.cache)
    app.state.presenter = Presenter(store, app.state.media.text, settings.base_path)
    app.state.watcher = Watcher(store, app.state.results)
    app.state.watcher.start()
    gc.freeze()  # what was loaded stays; the collector need not look at it again
    try:
        yield
    finally:
        await to_thread.run_sync(app.state.watcher.stop)
        store.close()


health = APIRouter(tags=["health"])


@health.get("/favicon.ico", include_in_schema=False)
def favicon() -> FileResponse:
    """Return the icon that browsers ask for."""
    return FileResponse(STATIC / "logo.svg", media_type="image/svg+xml")


@health.get("/healthz")
def healthz() -> dict[str, str]:
    """Whether the process is alive."""
    return {"status": "ok"}


@health.get("/readyz")
def readyz(request: Request) -> dict[str, str]:
    """Whether the store answers."""
    try:
        request.app.state.store.last_seq()
    except ClewError as error:
        raise Problem(503, str(error), retry_after=2) from error
    return {"status": "ok"}


@health.get("/version")
def version(request: Request) -> dict[str, str]:
    """Return the version of clew."""
    return {"version": request.app.version}


class Static(StaticFiles):
    """Files that browsers ask about again, and get only if they have changed."""

    def file_response(self, *args: Any, **kwargs: Any) -> Any:
        """Return a file."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response
