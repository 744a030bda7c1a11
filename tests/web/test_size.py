"""The app stays small enough for one person to read."""

from __future__ import annotations

from pathlib import Path

import clew.web

WEB = Path(clew.web.__file__).parent


def n_lines(*patterns: str) -> int:
    """Count the lines of files, comments and blank ones among them."""
    files = [one for pattern in patterns for one in WEB.rglob(pattern)]
    return sum(len(one.read_text(encoding="utf-8").splitlines()) for one in files)


def test_scripts_and_styles() -> None:
    assert 1000 < n_lines("*.js", "*.css") <= 3000


def test_python() -> None:
    assert 1000 < n_lines("*.py") <= 8000
