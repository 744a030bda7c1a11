"""Fail the build if a finished page would ask another machine for anything when it is opened."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)

# Links that a reader may click are fine; what a browser fetches by itself is not.
_REQUESTS = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc\s*=\s*["'](?:https?:)?//[^"']+"""
    r"""|<link\b(?![^>]*\brel=["']canonical)[^>]*\bhref\s*=\s*["'](?:https?:)?//[^"']+"""
    r"""|(?:@import|url\()\s*["']?(?:https?:)?//[^"')]+""",
    re.IGNORECASE,
)


def outside_requests(folder: Path) -> list[tuple[Path, str]]:
    """List what the pages and styles in a folder would fetch from elsewhere."""
    pages = (
        page
        for page in sorted(folder.rglob("*"))
        if page.suffix in {".html", ".css"}
    )
    return [
        (page, match.group())
        for page in pages
        for match in _REQUESTS.finditer(page.read_text(encoding="utf-8"))
    ]


def check(app: Sphinx, error: Exception | None) -> None:
    """Warn, once the pages are written, about each request that would leave the machine."""
    if error is None and app.builder.format == "html":
        for page, request in outside_requests(Path(app.outdir)):
            logger.warning(
                "a request would leave the machine: %s", request, location=str(page)
            )


def setup(app: Sphinx) -> dict[str, Any]:
    """Run the check at the end of every build."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
