"""Parameters: one word, one meaning, and one order."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

import clew

#: Parts without estimators, and scripts that a library runs.
SKIPPED = {"kernels", "cli", "migrations", "web"}
#: The last parameters, in this order; `callback` stands outside it.
LAST = ("random_state", "n_jobs", "verbose")
#: How the description of a parameter of this name begins, wherever it stands.
MEANINGS = {
    "affinity": "Input of `fit`: affinities, or features",
    "diagonal": "Whether (to learn a diagonal metric|a metric is)",
    "error": "(Probability that an answer is wrong|Share of wrong answers)",
    "labels_pred": "(The groups to judge|Cluster labels to evaluate|A clustering)",
    "n_candidates": "Number of (rows|pairs)",
    "n_clusters": "(Number of (groups|subclusters)|Largest number of groups)",
    "n_init": "Number of (random )?starts",
    "n_jobs": "Number of threads",
    "n_neighbors": "Number of (nearest rows|largest affinities)",
    "penalty": "(Penalty|Factor of the penalties)",
    "prior_error": "Prior probability of",
    "proximity": '(Affinity of two rows in a tree|"leaf" is the share of trees)',
    "random_state": "(Seed|Draws)",
    "similarity": "(The base similarity|Learns affinities)",
    "tol": "(Tolerance|Stop|EM )",
    "weight": "(Weight of|Must-link)",
}


def public() -> dict[str, Callable[..., Any]]:
    """Every public class, function and method, by its address."""
    found: dict[str, Callable[..., Any]] = {}
    for module in pkgutil.walk_packages(clew.__path__, "clew."):
        parts = module.name.split(".")
        if any(part.startswith("_") for part in parts) or set(parts) & SKIPPED:
            continue
        package = importlib.import_module(module.name)
        for name in getattr(package, "__all__", []):
            thing = getattr(package, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"{thing.__module__}.{name}"] = thing
    return found


PUBLIC = public()


def signatures() -> Iterator[tuple[str, list[inspect.Parameter]]]:
    """The parameters of everything public, methods included."""
    for address, thing in PUBLIC.items():
        own = vars(thing) if inspect.isclass(thing) else {}
        methods = {k: getattr(thing, k) for k in own if not k.startswith("_")}
        for name, each in {
            address: thing,
            **{f"{address}.{k}": v for k, v in methods.items()},
        }.items():
            if callable(each) and not (inspect.isclass(each) and issubclass(each, BaseException)):
                yield name, list(inspect.signature(each).parameters.values())


def test_seeds_threads_and_words_come_last() -> None:
    for name, parameters in signatures():
        names = [p.name for p in parameters if p.name != "callback"]
        last = [p for p in LAST if p in names]
        assert names[len(names) - len(last) :] == last, name


def test_a_number_of_groups_is_first_and_open_or_required() -> None:
    found = 0
    for name, thing in PUBLIC.items():
        if not (inspect.isclass(thing) and hasattr(thing, "fit" if "cluster" in name else "ask")):
            continue
        parameters = list(inspect.signature(thing).parameters.values())
        numbers = [p for p in parameters if p.name == "n_clusters"]
        if not numbers or name.startswith("clew.session"):
            continue
        found += 1
        assert parameters[0].name == "n_clusters", name
        assert numbers[0].default in (None, inspect.Parameter.empty), name
    assert found > 25


@pytest.mark.parametrize("word", MEANINGS)
def test_a_word_has_one_meaning(word: str) -> None:
    found = 0
    for name, thing in PUBLIC.items():
        if name.startswith(("clew.forest", "clew.graphs")):
            continue
        document = ClassDoc(thing) if inspect.isclass(thing) else FunctionDoc(thing)
        for parameter in document["Parameters"]:
            if parameter.name == word:
                found += 1
                assert re.match(MEANINGS[word], " ".join(parameter.desc)), name
    assert found


def test_results_are_named_by_the_functions_that_return_them() -> None:
    for name in ("answer_posterior", "pair_posterior"):
        words = inspect.signature(getattr(clew.trust, name)).return_annotation
        assert words == name.title().replace("_", "")
