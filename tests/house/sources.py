"""The files of clew, each parsed once for all tests of the house."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "clew"
FILES = sorted(SOURCE.rglob("*.py"))


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)
