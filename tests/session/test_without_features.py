"""Sessions of items without features: groups grow from answers alone."""

from typing import Any

import numpy as np
import pytest

from clew import Constraints, GuidedClustering, Session
from clew.cluster import CorrelationClustering
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle


def true_groups(n: int, k: int, seed: int) -> Any:
    return np.random.RandomState(seed).permutation(np.arange(n) % k)


def run(n: int, k: int, error: float, budget: int, seed: int, **given: Any) -> Session:
    oracle = SimulatedOracle(true_groups(n, k, seed), error=error, random_state=seed)
    return Session(items=list(range(n)), random_state=seed, **given).run(oracle, budget)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "k", "error", "budget", "kinds", "least"),
    [(60, 4, 0.1, 180, ("pair",), 0.5), (120, 6, 0.05, 120, "auto", 0.5)],
)
def test_questions_compare_items_with_groups(
    n: int, k: int, error: float, budget: int, kinds: Any, least: float
) -> None:
    # Where nearly all questions are about two single items, the means are .39 and .43.
    found = [
        adjusted_rand_score(
            true_groups(n, k, seed), run(n, k, error, budget, seed, kinds=kinds).result().labels_
        )
        for seed in (1, 2)
    ]
    assert np.mean(found) > least


@pytest.mark.slow
def test_items_that_answers_do_not_join_stay_apart() -> None:
    groups, found = true_groups(120, 6, 0), run(120, 6, 0.0, 200, 0).result()
    same, true = (labels[:, None] == labels for labels in (found.labels_, groups))
    assert (same & true).sum() > 0.98 * same.sum()
    assert found.labels_.max() > 60


@pytest.mark.slow
def test_a_pair_that_was_not_asked_is_no_evidence_where_answers_chose_the_questions() -> None:
    asked = Constraints.from_answers(run(60, 4, 0.0, 120, 1).answers, n_samples=60)
    by_others = CorrelationClustering().fit(constraints=asked.with_origin("imported"))
    model = CorrelationClustering().fit(constraints=asked)
    assert by_others.unasked_log_odds_ < -0.1
    assert model.unasked_log_odds_ == 0
    found = GuidedClustering().fit(None, constraints=asked).labels_
    assert adjusted_rand_score(model.labels_, found) == 1
    assert adjusted_rand_score(true_groups(60, 4, 1), found) > 0.3


@pytest.mark.slow
def test_a_restored_session_asks_the_same() -> None:
    asking = run(60, 4, 0.1, 41, 3)
    restored = Session.restore(None, asking.snapshot(), asking.log, items=list(range(60)))
    assert [q.ids for q in restored.ask(3)] == [q.ids for q in asking.ask(3)]
