"""Clustering guided by answers of people, some of which may be wrong."""

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING

from clew.answers import Answer, Question

if TYPE_CHECKING:
    from clew import (
        cluster as cluster,
        collections as collections,
        datasets as datasets,
        exceptions as exceptions,
        features as features,
        items as items,
        metrics as metrics,
        oracles as oracles,
        questions as questions,
        session as session,
        similarity as similarity,
        store as store,
        tables as tables,
        trust as trust,
    )
    from clew.cluster import GuidedClustering as GuidedClustering
    from clew.constraints import Constraints as Constraints
    from clew.session import Session as Session
    from clew.web.client import Client as Client
    from clew.web.widget import widget as widget

__all__ = [
    "Answer",
    "Client",
    "Constraints",
    "GuidedClustering",
    "Question",
    "Session",
    "__version__",
    "widget",
]

__version__ = version("clew")

#: Imported when they are first used: together they take several times as long as ``import clew``.
_SUBPACKAGES = frozenset(
    {
        *("cluster", "collections", "datasets", "features", "items", "metrics", "oracles"),
        *("questions", "session", "similarity", "store", "tables", "trust"),
    }
)

_CLASSES = {
    "Constraints": "clew.constraints",
    "GuidedClustering": "clew.cluster",
    "Session": "clew.session",
    "Client": "clew.web.client",
    "widget": "clew.web.widget",
}


if not TYPE_CHECKING:  # mypy would accept any attribute

    def __getattr__(name: str) -> object:
        """Import a subpackage, or a class of one, when it is first used."""
        if name in _CLASSES:
            return getattr(importlib.import_module(_CLASSES[name]), name)
        if name in _SUBPACKAGES:
            return importlib.import_module(f"clew.{name}")
        raise AttributeError(f"module 'clew' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBPACKAGES, *_CLASSES})
