"""Imports: parts import only lower parts, folders form no circle, helpers stay in their family.

A part is a folder or file right under ``src/clew``. A helper is a module or folder whose name
begins with an underscore; its family is the folder that it stands in.
"""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from tests.house.sources import FILES, SOURCE, parsed

# From the lowest to the highest layer. A part may import the parts before it.
LAYERS = (
    "answers",
    "constraints",
    "_composition",
    "_estimators",
    "metrics",
    "trust",
    "similarity",
    "cluster",
    "questions",
    "features",
    "collections",
    "exports",
    "session",
    "worker",
    "web",
    "cli",
    "__main__",
)
# These import only answers and constraints; session, web and cli import them.
SIDE_PARTS = frozenset({"store", "oracles", "datasets", "tables", "items"})
SIDE_PART_USERS = frozenset(
    {"cluster", "collections", "exports", "features", "session", "worker", "web", "cli"}
)
BASE = frozenset(
    {
        "_validation",
        "_lazy",
        "_parallel",
        "_files",
        "forest",
        "graphs",
        "_units",
        "_limits",
        "_dask",
        "_warnings",
        "exceptions",
    }
)
TOP = "clew"
#: Helpers that other families import, each with the packages that may import it: helpers of all
#: estimators, and engines that several families share.
SHARED_HELPERS = {
    "clew.cluster._kmeans": ("clew.questions",),
    "clew.cluster.correlation._search": ("clew.cluster.guided",),
    "clew.cluster.guided._features": ("clew.questions",),
    "clew.cluster.guided._records": ("clew.worker", "clew.cli", "clew.session"),
    "clew.cluster.guided._explain": ("clew.session", "clew.cli"),
    "clew.cluster.guided._result": ("clew.cli", "clew.session"),
    "clew.cluster.medoids._subclusters": ("clew.questions",),
    "clew.cluster.medoids._distances": ("clew.questions",),
    "clew.answers._log": ("clew.cli", "clew.constraints", "clew.store"),
    "clew.answers._implied": ("clew.constraints",),
    "clew.answers._words": ("clew.constraints",),
    "clew.constraints._closure": ("clew.cluster.guided", "clew.cluster.kmeans", "clew.questions"),
    "clew.collections._tables": ("clew.cli",),
    "clew.constraints._files": ("clew.cli",),
    "clew.constraints._validation": ("clew.session",),
    "clew.constraints._rules": ("clew.session",),
    "clew.constraints._support": (
        "clew._estimators",
        "clew.metrics",
        "clew.trust",
        "clew.similarity",
        "clew.cluster",
    ),
    "clew.constraints._meanings": (
        "clew.metrics",
        "clew.oracles",
        "clew.similarity",
        "clew.cluster.dcrc",
        "clew.cluster.kmeans",
        "clew.questions",
        "clew.session",
    ),
    "clew.constraints._tables": ("clew.similarity", "clew.cluster.guided"),
    "clew.collections._files": ("clew.cli",),
    "clew.features._read": ("clew.cli", "clew.collections"),
    "clew.items._sound": ("clew.features",),
    "clew.metrics._scores": ("clew.cli", "clew.session", "clew.similarity"),
    "clew.questions._answers": ("clew.session",),
    "clew.questions._strategy": ("clew.session", "clew.cli"),
    "clew.tables._columns": ("clew.cli",),
    "clew.tables._features": ("clew.cluster.guided", "clew.session"),
    "clew.tables._read": ("clew.cli", "clew.collections"),
    "clew.tables._records": ("clew.cluster.guided",),
    "clew.trust._outcomes": ("clew.cluster",),
    "clew.worker._rows": ("clew.cli",),
}
#: Imports between folders that close a circle, with a reason: Session.open(worker=True) starts the
#: worker, which owns a session.
CIRCLES: tuple[tuple[str, str], ...] = (("clew.session", "clew.worker (public)"),)


def allowed_parts(part: str) -> frozenset[str]:
    """The parts that a part may import."""
    if part == "kernels":
        return frozenset({"kernels"})
    below = BASE | {"kernels"}
    if part in BASE:
        return below
    if part == TOP:
        # Subpackages are imported there when they are first used; see test_import_light.
        return BASE | SIDE_PARTS | set(LAYERS[: LAYERS.index("session") + 1]) | {"web"}
    if part in SIDE_PARTS:
        # A store holds items.
        return below | {part, "answers", "constraints"} | ({"items"} if part == "store" else set())
    layers = below | set(LAYERS[: LAYERS.index(part) + 1])
    if part == "session":
        # Session.open(worker=True) starts the worker, which owns a session.
        layers |= {"worker"}
    return layers | SIDE_PARTS if part in SIDE_PART_USERS else layers


def part_of(module: str) -> str:
    """The part that a dotted name within clew belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else TOP


def module_name(path: Path) -> str:
    """The dotted name of a source file."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported_from(node: ast.ImportFrom, package: str) -> list[str]:
    base = node.module or ""
    if node.level:
        above = package.split(".")
        above = above[: len(above) - (node.level - 1)]
        base = ".".join([*above, node.module] if node.module else above)
    if base == TOP:
        # `from clew import kernels` imports a part, `from clew import Constraints` the top.
        return [
            f"{TOP}.{name.name}"
            if (SOURCE / name.name).is_dir() or (SOURCE / f"{name.name}.py").is_file()
            else TOP
            for name in node.names
        ]
    return [base]


def imported_modules(source: str, package: str) -> set[str]:
    """Every clew module that the source imports, anywhere in the file, by name or by string."""
    found: list[str] = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += _imported_from(node, package)
        elif isinstance(node, ast.Call) and node.args:
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0]
            if called in {"import_module", "__import__"} and isinstance(first, ast.Constant):
                found.append(str(first.value))
    return {name for name in found if name.split(".")[0] == TOP}


def broken_rules(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """List the forbidden imports of a module."""
    package = module if is_package else module.rpartition(".")[0]
    allowed = allowed_parts(part_of(module))
    return sorted(
        f"{module} imports {name}"
        for name in imported_modules(source, package)
        if part_of(name) not in allowed
    )


def test_parts_import_only_lower_parts() -> None:
    broken = [
        rule
        for path in FILES
        for rule in broken_rules(
            path.read_text("utf-8"), module_name(path), is_package=path.name == "__init__.py"
        )
    ]
    assert broken == []


def test_every_part_has_a_layer() -> None:
    parts = {part_of(module_name(path)) for path in FILES}
    assert parts <= {*LAYERS, *SIDE_PARTS, *BASE, "kernels", TOP}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("clew.kernels.tree", "from clew.exceptions import ClewError"),
        ("clew.trust.vote", "from clew.similarity import COPRF"),
        ("clew.trust.vote", "def f():\n    from clew.similarity import COPRF"),
        ("clew.trust.vote", "from ..similarity.coprf import COPRF"),
        ("clew.trust.vote", "from .. import similarity"),
        ("clew.trust.vote", "import importlib\nimportlib.import_module('clew.cluster')"),
        ("clew.similarity.coprf", "import clew.oracles"),
        ("clew.cluster.dcrc", "from clew.questions import pair_information"),
        ("clew.similarity.coprf", "from clew import Constraints"),
        ("clew.oracles.simulated", "from clew.metrics import n_violated"),
        ("clew._files", "from clew.constraints import Constraints"),
        ("clew.answers._log", "from clew.constraints import Constraints"),
    ],
)
def test_upward_import_is_seen(module: str, source: str) -> None:
    assert broken_rules(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("clew.kernels.tree", "from clew.kernels._jit import kernel"),
        ("clew.cluster.spectral", "from clew.similarity import COPRF"),
        ("clew.cluster.spectral", "from .._validation import check"),
        ("clew.cluster.spectral", "from clew import kernels"),
        ("clew.questions.information", "from clew.cluster import DCRC"),
        ("clew.cli.demo", "from clew.oracles import SimulatedOracle"),
        ("clew.forest", "from clew.kernels.tree import grow"),
    ],
)
def test_downward_import_is_let_through(module: str, source: str) -> None:
    assert broken_rules(source, module) == []


@cache
def real_imports(path: Path) -> set[str]:
    """Return the modules that a file imports; an imported name counts if it is a module itself."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path.parent / "_")
    package = package.removesuffix("._")
    source = path.read_text(encoding="utf-8")
    found = imported_modules(source, package)
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            within = {f"{node.module}.{name.name}" for name in node.names}
            found |= within & MODULES.keys()
            if within <= MODULES.keys():
                found.discard(node.module)
    return found & MODULES.keys()


MODULES = {module_name(path): path for path in FILES}


def node_of(module: str) -> str:
    """The node of the graph of folders that a module belongs to.

    A package's ``__init__``, which collects public names, is a node of its own, next to the node of
    its folder. Each file directly under ``src/clew`` is a node.
    """
    path = MODULES[module]
    if path.name == "__main__.py":
        return module
    if path.name == "__init__.py":
        return f"{module} (public)"
    return module if path.parent == SOURCE else module.rpartition(".")[0]


def test_no_folder_imports_another_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        node = node_of(module)
        graph.setdefault(node, set()).update(
            other for name in real_imports(path) if (other := node_of(name)) != node
        )
    for node, other in CIRCLES:
        graph[node].remove(other)  # fails where the exception is no longer needed
    circle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = error.args[1][::-1]
    assert not circle, " imports ".join(circle)


@cache
def foreign_helpers() -> dict[str, set[str]]:
    """Helpers that modules of other families import, each with these modules."""
    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        for name in real_imports(path):
            parts = name.split(".")
            for at in range(1, len(parts)):
                family = ".".join(parts[:at])
                if parts[at].startswith("_") and not f"{module}.".startswith(f"{family}."):
                    found.setdefault(name, set()).add(module)
    return found


def test_helpers_are_imported_from_their_own_family() -> None:
    for helper, users in sorted(foreign_helpers().items()):
        families = tuple(f"{family}." for family in SHARED_HELPERS.get(helper, ()))
        strangers = [user for user in sorted(users) if not f"{user}.".startswith(families or "-")]
        assert not strangers, f"{helper} is a helper of {helper.rpartition('.')[0]}"


def test_no_exception_is_stale() -> None:
    found = foreign_helpers()
    for helper, families in SHARED_HELPERS.items():
        for family in families:
            users = found.get(helper, set())
            assert any(f"{user}.".startswith(f"{family}.") for user in users), (helper, family)
