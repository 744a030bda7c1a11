"""The state of `Guided` as a few arrays, from which the same state can be computed again.

Saved are the sampled partitions and what they were sampled with, and the averages of probabilities
that labels are computed from, in half precision. Features of pairs follow from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.kernels.partitions.tables import Answered
from clew.questions.guided._asked import AskedPairs
from clew.questions.guided._error_rate import ErrorRate
from clew.questions.guided._labels import JaccardLabels
from clew.questions.guided._model import Model, Start, Step
from clew.questions.guided._pair_log_odds import PairLogOdds
from clew.questions.guided._posterior import PairSums, Posterior, averaged, square_of, sums_of
from clew.questions.guided._within_ratio import WithinRatio

Arrays = dict[str, NDArray[Any]]


def arrays_of(model: Model) -> Arrays:
    """Return the arrays of a state; n² / 2 numbers of half precision for n rows, twice."""
    found: Arrays = {f"asked.{name}": array for name, array in model.asked._asdict().items()}
    found |= _of_odds("odds", model.odds) | _optional("prior", model.ratio.prior)
    found |= _optional("within", model.ratio.within) | _optional("start", model.start)
    found["rate"] = np.array([model.rate.mean, *model.rate.probabilities])
    found["annotators"] = np.array([*model.rate.by_annotator.items()], np.float64).reshape(-1, 2)
    found["random"] = model.posterior.states
    found["next_ratio"] = np.array(model.next_ratio)
    for at, step in enumerate(model.steps):
        found[f"step{at}.partitions"] = step.partitions.astype(np.int32)
        found[f"step{at}.factors"] = step.factors
        found |= _of_odds(f"step{at}.odds", step.odds)
        found |= _optional(f"step{at}.within", step.within)
        for name, array in step.evidence._asdict().items():
            found[f"step{at}.evidence.{name}"] = array
    lower = np.tri(len(model.labels), k=-1, dtype=np.bool_)
    for name, labels in (("found", model.found), ("shown", model.shown)):
        found[f"{name}.labels"] = labels.labels.astype(np.int32)
        found[f"{name}.average"] = labels.average.astype(np.float16)[lower]
        found[f"{name}.jaccard"] = np.array(labels.jaccard)
    return found


def model_of(start: Start, arrays: Mapping[str, NDArray[Any]]) -> Model:
    """Compute a state again. `KeyError` or `ValueError` if the arrays are not those of a state."""
    features, coordinates = start.pairs.features, start.coordinates
    n_rows = len(coordinates)
    steps: list[Step] = []
    sums: list[PairSums] = []
    while f"step{len(steps)}.factors" in arrays:
        at = f"step{len(steps)}"
        step = Step(
            arrays[f"{at}.partitions"].astype(np.int64),
            arrays[f"{at}.factors"],
            Answered(*(arrays[f"{at}.evidence.{name}"] for name in Answered._fields)),
            _odds(start.odds, f"{at}.odds", arrays),
            arrays.get(f"{at}.within"),
        )
        ratio = WithinRatio.of(coordinates, None, step.within)
        views = step.odds.views(features, ratio.values)
        parts = step.partitions, views, step.evidence, step.factors
        sums.append(sums_of(*parts, start.pairs.n_jobs))
        steps.append(step)
    before, last = [None, *sums][-2:]
    assert last is not None
    mean, *probabilities = arrays["rate"].tolist()
    rates = {int(code): rate for code, rate in arrays["annotators"].tolist()}
    odds = _odds(start.odds, "odds", arrays)
    ratio = WithinRatio.of(coordinates, arrays.get("prior"), arrays.get("within"))
    return Model(
        start.pairs,
        AskedPairs(*(arrays[f"asked.{name}"] for name in AskedPairs._fields)),
        odds,
        ratio,
        ErrorRate(mean, np.array(probabilities), rates),
        Posterior(steps[-1].partitions, arrays["random"], last),
        _labels("found", n_rows, arrays),
        _labels("shown", n_rows, arrays),
        odds.views(features, ratio.values),
        averaged(before, last, n_rows),
        tuple(steps),
        float(arrays["next_ratio"]),
        arrays.get("start"),
    )


def _optional(name: str, array: NDArray[Any] | None) -> Arrays:
    return {} if array is None else {name: array}


def _of_odds(name: str, odds: PairLogOdds) -> Arrays:
    return {f"{name}.weights": odds.weights, f"{name}.blocks": odds.block_weights}


def _odds(start: PairLogOdds, name: str, arrays: Mapping[str, NDArray[Any]]) -> PairLogOdds:
    weights, blocks = arrays[f"{name}.weights"], arrays[f"{name}.blocks"]
    return start._replace(weights=weights, block_weights=blocks)


def _labels(name: str, n: int, arrays: Mapping[str, NDArray[Any]]) -> JaccardLabels:
    of_pairs = arrays[f"{name}.average"].astype(np.float32)
    average = square_of(of_pairs, of_pairs, 2, n)
    np.fill_diagonal(average, 1.0)
    labels = arrays[f"{name}.labels"].astype(np.int64)
    return JaccardLabels(labels, average, float(arrays[f"{name}.jaccard"]))
