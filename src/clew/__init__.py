"""Clustering guided by answers of people, some of which may be wrong."""

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING

from clew.answers import Answer, Question
from clew.constraints import Constraints

if TYPE_CHECKING:
    from clew import cluster as cluster
    from clew import collections as collections
    from clew import datasets as datasets
    from clew import exceptions as exceptions
    from clew import features as features
    from clew import items as items
    from clew import metrics as metrics
    from clew import oracles as oracles
    from clew import questions as questions
    from clew import session as session
    from clew import similarity as similarity
    from clew import store as store
    from clew import tables as tables
    from clew import trust as trust
    from clew.cluster import GuidedClustering as GuidedClustering
    from clew.session import Session as Session

__all__ = ["Answer", "Constraints", "GuidedClustering", "Question", "Session", "__version__"]

__version__ = version("clew")

#: Imported when they are first used: together they take several times as long as ``import clew``.
_SUBPACKAGES = frozenset(
    {
        *("cluster", "collections", "datasets", "features", "items", "metrics", "oracles"),
        *("questions", "session", "similarity", "store", "tables", "trust"),
    }
)

_CLASSES = {"GuidedClustering": "clew.cluster", "Session": "clew.session"}


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
