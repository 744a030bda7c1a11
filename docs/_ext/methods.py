"""The directive ``clew-methods``: a table of the estimators of a package, from what they declare."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator
from sphinx.util.docutils import SphinxDirective

from clew.constraints import Support

if TYPE_CHECKING:
    from docutils.nodes import Node
    from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
#: Parameters that may say that `fit` gets a table of all pairs of rows.
INPUTS = ("metric", "affinity", "kernel", "similarity")


def estimators(package: str) -> dict[str, type[BaseEstimator]]:
    """List the estimators that a package exports, by name."""
    module = importlib.import_module(package)
    members = {name: getattr(module, name) for name in module.__all__}
    return {
        name: member
        for name, member in members.items()
        if inspect.isclass(member)
        and issubclass(member, BaseEstimator)
        and not inspect.isabstract(member)
    }


def answers_of(estimator: type[BaseEstimator]) -> str:
    """Say which kinds of answers an estimator takes."""
    supports = getattr(estimator, "supports", None)
    if supports is None:
        return "none"
    if isinstance(supports, property):  # depends on a parameter
        return "those of its similarity"
    assert isinstance(supports, Support)
    taken = [
        kind.replace("_", " ")
        for kind, is_taken in supports._asdict().items()
        if is_taken
    ]
    is_all = len(taken) == len(supports)
    return "all kinds" if is_all else ", ".join(taken).replace("dont", "don't")


def pairwise_inputs(estimator: type[BaseEstimator]) -> list[str]:
    """Parameters with which `fit` takes distances, affinities or a kernel in place of features."""
    found = []
    for name in sorted(INPUTS & inspect.signature(estimator).parameters.keys()):
        try:
            tags = estimator(**{name: "precomputed"}).__sklearn_tags__()
        except (AttributeError, TypeError):
            continue
        if tags.input_tags is not None and tags.input_tags.pairwise:
            found.append(name)
    return found


def page_of(package: str, name: str) -> str:
    """Find the page that describes an estimator, the one that names it first."""
    reference = f"{{py:class}}`{package}.{name}`"
    found = []
    for page in sorted((DOCS / "methods").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if page.stem != "index" and reference in text:
            is_elsewhere = package.rpartition(".")[2] not in page.parts
            found.append((is_elsewhere, text.index(reference), page))
    if not found:
        raise LookupError(f"no page below docs/methods has {reference}")
    return "/" + min(found)[2].relative_to(DOCS).with_suffix("").as_posix()


def summary_of(estimator: type[BaseEstimator]) -> str:
    """Return the first sentence of the docstring."""
    return (inspect.getdoc(estimator) or "").partition("\n")[0].rstrip(".")


def rows_of(package: str) -> list[list[str]]:
    """Write a row for each estimator of a package, in Markdown."""
    return [
        [
            f"{{doc}}`{name} <{page_of(package, name)}>`",
            answers_of(estimator),
            re.sub(r"\|", r"\\|", summary_of(estimator)),
            ", ".join(f"`{given}`" for given in pairwise_inputs(estimator)) or "–",
        ]
        for name, estimator in sorted(
            estimators(package).items(), key=lambda item: item[0].lower()
        )
    ]


class ClewMethods(SphinxDirective):
    """List the estimators of the package in the argument."""

    required_arguments = 1
    heads: ClassVar[tuple[str, ...]] = (
        "method",
        "answers",
        "what it does",
        "precomputed",
    )

    def run(self) -> list[Node]:
        """Return the table."""
        rows = [
            list(self.heads),
            ["---"] * len(self.heads),
            *rows_of(self.arguments[0]),
        ]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        nodes = self.parse_text_to_nodes("\n".join(lines))
        for node in nodes:
            node["classes"].append("methods")
        return nodes


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("clew-methods", ClewMethods)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
