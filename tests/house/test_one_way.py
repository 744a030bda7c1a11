"""One thing, one way: no second implementation of what exists once."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache

import pytest
from sklearn.base import BaseEstimator
from tests.house.sources import FILES, SOURCE, parsed

import clew.cluster
import clew.questions
import clew.similarity
from clew import _limits

TEXTS = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in FILES}
#: Limits that belong to one method alone, and say so there.
LIMITS_OF_METHODS = {
    "ANNEALED_ROWS",
    "MAX_ROWS",
    "MAX_ROWS_OF_KERNEL",
    "MAX_ROWS_OF_SKLR",
    "ROWS_FOR_BANDWIDTH",
}
HOOKS = {"_solve", "_learn", "_embed", "_with_pivots"}


FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def trees() -> dict[str, ast.Module]:
    return {name: parsed(text) for name, text in TEXTS.items()}


@cache
def defined() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Every class and function, with the file that defines it."""
    return [
        (file, node)
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, (*FUNCTION, ast.ClassDef))
    ]


def constants() -> Iterator[tuple[str, str, object]]:
    """Every file with each constant that it sets, and its value where that is a literal."""
    for file, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                pairs = [(node.target, node.value)]
            elif isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = list(zip(target.elts, value.elts, strict=True))
                else:
                    pairs = [(target, value)]
            else:
                continue
            for target, value in pairs:
                if isinstance(target, ast.Name):
                    yield file, target.id, getattr(value, "value", None)


def files_with(pattern: str) -> set[str]:
    return {file for file, text in TEXTS.items() if re.search(pattern, text, re.MULTILINE)}


@pytest.mark.parametrize(
    ("pattern", "kind", "home"),
    [
        (r"local_scales?|_?scales_among.*", FUNCTION, "graphs/_neighbors.py"),
        (r"LocalScales?|Distinct", ast.ClassDef, "graphs/_neighbors.py"),
        (r"local_gaussian|gaussian_affinity|scaled_squares", FUNCTION, "graphs/_neighbors.py"),
        (r"coincide", FUNCTION, "graphs/_neighbors.py"),
        (r"Units?|Scaler?|Ranges?|Centred|Centered|Standardi[sz]ed", ast.ClassDef, "_units.py"),
        (r"(to_)?unit_range|spread_unit|standardi[sz]ed?", FUNCTION, "_units.py"),
        (r"guarded_fit|all_or_nothing", FUNCTION, "_estimators.py"),
        (r"answers_for", FUNCTION, "constraints/_support.py"),
        (r"AnswerTable|Said|AnswerRows", ast.ClassDef, "constraints/_tables.py"),
        (r"warn(_user)?", FUNCTION, "_warnings.py"),
        (r"(held_out_)?folds?", FUNCTION, "constraints/_support.py"),
        (r"_?fill_empty(_groups)?|costliest_row", FUNCTION, "cluster/_kmeans.py"),
        (r"_?best_(of_)?starts?", FUNCTION, "cluster/_kmeans.py"),
        (r"_?(group_)?means(_of)?", FUNCTION, "cluster/_kmeans.py"),
        (r"derived_seeds", FUNCTION, "_validation.py"),
        (r"spectral_embedding|_?leading_eigenvectors", FUNCTION, "cluster/spectral.py"),
    ],
)  # fmt: skip
def test_each_definition_is_in_one_file(pattern: str, kind: tuple[type, ...], home: str) -> None:
    homes = {
        file
        for file, node in defined()
        if isinstance(node, kind) and re.fullmatch(pattern, node.name)
    }
    assert homes <= {home}
    assert homes or kind == FUNCTION


def test_empty_groups_are_filled_in_one_loop() -> None:
    # The loop over empty groups stands in one file; methods choose the row that moves.
    cluster = {file for file in TEXTS if file.startswith("cluster/")}
    assert files_with(r"flatnonzero\(size == 0\)") & cluster == {"cluster/_kmeans.py"}
    methods = {"_kmeans.py", "kmeans/cop_kmeans.py", "kmeans/_soft.py", "kmeans/sssvad.py",
               "kernel/kernel_kmeans.py"}  # fmt: skip
    assert {f"cluster/{file}" for file in methods} <= files_with(r"\bfill_empty\(")


def test_random_starts_are_compared_in_one_loop() -> None:
    # DCRC's `best_of` compares two named initializations in threads: no random starts.
    cluster = {file for file in TEXTS if file.startswith("cluster/")}
    pattern = r"best = min\(|if .* < best\.|for .* in (range\(self\.n_init\)|derived_seeds\()"
    assert not files_with(pattern) & cluster - {"cluster/kmeans/cop_kmeans.py"}
    methods = {"_kmeans.py", "kmeans/cop_kmeans.py", "kmeans/_soft.py", "kmeans/sssvad.py",
               "kernel/kernel_kmeans.py"}  # fmt: skip
    assert {f"cluster/{file}" for file in methods} <= files_with(r"\bbest_start\(")


def test_there_is_one_rule_for_rows_that_coincide() -> None:
    assert {file for file, name, _ in constants() if "COINCID" in name} == {"graphs/_neighbors.py"}


def test_gaussians_on_local_scales_are_computed_in_one_file() -> None:
    # The product or the mean of two scales under an exponential.
    assert files_with(r"exp\(-.*scale.*\[.*\]") == set()
    assert "graphs/_neighbors.py" in files_with(r"np\.exp\(-scaled_squares")


def test_limits_of_rows_stand_in_one_file() -> None:
    names = {name for name in vars(_limits) if name.isupper()}
    # Those of checks and answers are no limits of rows.
    values = {getattr(_limits, name) for name in names if not name.startswith("LEAST_")}
    elsewhere = {
        (file, name)
        for file, name, value in constants()
        if file != "_limits.py"
        and (name in names or (isinstance(value, int) and value in values and "ROWS" in name))
        and name not in LIMITS_OF_METHODS
    }
    assert not elsewhere
    assert not {name for _, name, value in constants() if name == "LARGE" and value}


def test_only_one_file_counts_stack_levels() -> None:
    assert files_with(r"stacklevel|warnings\.warn\(") == {"_warnings.py"}


def test_fits_are_undone_by_the_decorator_alone() -> None:
    assert files_with(r"__dict__\.update|vars\(self\)\.update") == {"_estimators.py"}
    # Fitted attributes are set one by one, so that people and mypy can read which there are.
    assert not files_with(r"setattr\(self,")


def test_sparse_eigenproblems_are_solved_in_one_file() -> None:
    assert files_with(r"\beigsh\b") == {"cluster/spectral.py"}


def test_methods_that_subclasses_implement_have_the_usual_names() -> None:
    hooks = {
        node.name
        for _, node in defined()
        if isinstance(node, FUNCTION) and "NotImplementedError" in ast.unparse(node.body[-1])
    }
    assert hooks == HOOKS


def estimators() -> list[type]:
    packages = (clew.similarity, clew.cluster)
    members = [getattr(package, name) for package in packages for name in package.__all__]
    return [cls for cls in members if inspect.isclass(cls) and issubclass(cls, BaseEstimator)]


def test_there_are_two_layers_at_most_above_a_method() -> None:
    for estimator in estimators():
        layers = [
            base for base in estimator.__mro__[1:]
            if base.__module__.startswith("clew.") and base.__module__ != "clew._estimators"
        ]  # fmt: skip
        assert len(layers) <= 2, layers


def clusterers_and_strategies() -> list[type]:
    packages = (clew.cluster, clew.questions)
    members = [getattr(package, name) for package in packages for name in package.__all__]
    return [
        cls
        for cls in members
        if inspect.isclass(cls) and "n_clusters" in inspect.signature(cls).parameters
    ]


def test_the_number_of_groups_comes_first_and_everything_else_by_name() -> None:
    for cls in clusterers_and_strategies():
        first, *others = inspect.signature(cls).parameters.values()
        assert first.name == "n_clusters", cls
        assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in others), cls


def test_every_clusterer_takes_the_number_of_groups_or_says_how_it_finds_it() -> None:
    without = {
        cls.__name__
        for cls in estimators()
        if cls.__module__.startswith("clew.cluster")
        and "n_clusters" not in inspect.signature(cls).parameters
    }
    assert without == {"KernelMeanShift", "SimilarityClustering"}  # a bandwidth; a clusterer


def test_models_have_a_type():
    untyped = [
        f"{name}, line {node.lineno}"
        for name, text in TEXTS.items()
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.arg) and node.arg == "model"
        and isinstance(node.annotation, ast.Name) and node.annotation.id == "Any"
    ]  # fmt: skip
    assert untyped == []
