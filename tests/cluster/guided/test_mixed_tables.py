"""Groups of tables in which numbers stand beside categories and flags."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from clew import Constraints, Session
from clew.cluster import GuidedClustering
from clew.cluster.guided._latent_classes import Categories
from clew.exceptions import NoGroupsWarning
from clew.oracles import SimulatedOracle

pytestmark = pytest.mark.usefixtures("fair_search")


def _category(kind, values, fidelity, rng):
    """The value of each row's kind with this probability, and any other."""
    values = np.array(values)
    is_own = rng.random(len(kind)) < fidelity
    return np.where(is_own, values[kind % len(values)], rng.choice(values, len(kind)))


def _customers(seed, n=400):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, n)
    age = rng.normal(np.array([25, 40, 55, 70])[kind], 5)
    income = rng.normal(np.array([20, 60, 45, 30])[kind], 8)
    table = {
        "age": age,
        "income": income,
        "region": rng.choice(list("NESW"), n),
        "gender": rng.choice(["f", "m"], n),
        "plan": _category(kind, ["small", "large", "none"], 0.6, rng),
        "visits": rng.poisson(np.array([20, 8, 12, 3])[kind]),
    }
    return pd.DataFrame(table), kind


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_customers_have_as_many_groups_as_kinds_and_not_as_combinations_of_values(seed):
    table, kind = _customers(seed)
    open_number = GuidedClustering(random_state=0).fit(table)
    given = GuidedClustering(4, random_state=0).fit(table)
    assert open_number.n_clusters_ == 4
    assert adjusted_rand_score(kind, open_number.labels_) > 0.9
    assert adjusted_rand_score(kind, given.labels_) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_measures_that_depend_on_each_other_make_no_groups(seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, 500)
    common = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 8))
    center = rng.normal(size=(3, 8)) * 1.5
    table = pd.DataFrame(center[kind] + common + rng.normal(size=(500, 8)) * 0.5)
    table.columns = list("abcdefgh")
    table["kind"] = _category(kind, ["u", "v", "w"], 0.7, rng)
    table["other"] = _category(kind, ["p", "q"], 0.3, rng)
    assert GuidedClustering(random_state=0).fit(table).n_clusters_ == 3


@pytest.mark.slow
def test_skewed_measures_are_read_by_rank():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 400)
    table = {
        "spent": np.exp(rng.normal(np.array([2, 4, 6])[kind], 0.7)),
        "days": np.exp(rng.normal(np.array([5, 3, 4])[kind], 0.6)),
        "channel": _category(kind, ["web", "shop", "phone"], 0.6, rng),
        "size": _category((kind + 1) % 3, ["s", "m", "l"], 0.5, rng),
    }
    model = GuidedClustering(random_state=0).fit(pd.DataFrame(table))
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(kind, model.labels_) > 0.75


@pytest.mark.slow
def test_a_table_without_groups_says_so():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    table["where"], table["new"] = rng.choice(list("xyz"), 300), rng.random(300) < 0.5
    with pytest.warns(NoGroupsWarning, match="no groups"):
        GuidedClustering(random_state=0).fit(table)


@pytest.mark.slow
def test_a_flag_that_tells_nothing_does_not_split_groups():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 300)
    table = pd.DataFrame((rng.normal(size=(4, 5)) * 4)[kind] + rng.normal(size=(300, 5)))
    table.columns = list("abcde")
    table["flag"] = rng.random(300) < 0.5
    answers = Constraints.from_labels(kind, 75, error=0.1, random_state=0)
    model = GuidedClustering(random_state=0).fit(table, constraints=answers)
    assert adjusted_rand_score(kind, model.labels_) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [None, 3])
def test_people_may_group_by_a_category_that_measures_tell_nothing_of(n_clusters):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 300)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    table["what"], table["new"] = _category(kind, list("xyz"), 0.85, rng), rng.random(300) < 0.5
    answers = Constraints.from_labels(kind, 75, error=0.1, random_state=0)
    model = GuidedClustering(n_clusters, random_state=0).fit(table, constraints=answers)
    assert adjusted_rand_score(kind, model.labels_) > 0.6


@pytest.mark.slow
def test_a_session_and_new_rows_have_the_groups_of_the_fit():
    table, kind = _customers(0, 200)
    oracle = SimulatedOracle(kind, error=0.1, origin="asked", random_state=0)
    session = Session(table, random_state=0).run(oracle, 60, batch=10)
    known = Constraints.from_answers(session.answers, n_samples=len(session.ids))
    model = GuidedClustering(random_state=0).fit(table, constraints=known)
    numbers = {k: at for at, k in enumerate(dict.fromkeys(model.labels_.tolist()))}
    in_order = [numbers[k] for k in model.labels_.tolist()]
    np.testing.assert_array_equal(session.result().labels_, in_order)
    assert adjusted_rand_score(kind, model.labels_) > 0.85
    assert (model.predict(table) == model.labels_).mean() > 0.98
    more, kind_of_more = _customers(0, 300)
    more, kind_of_more = more.iloc[200:], kind_of_more[200:]
    assert adjusted_rand_score(kind_of_more, model.predict(more)) > 0.75


@pytest.mark.parametrize(
    ("n_measures", "n_flags", "is_read"),
    [(2, 1, True), (2, 0, False), (19, 1, False), (30, 9, False)],
)
def test_tables_of_measures_are_no_categories(n_measures, n_flags, is_read):
    rng = np.random.default_rng(0)
    flags = (rng.random((100, n_flags)) < 0.5).astype(float)
    X = np.column_stack([rng.normal(size=(100, n_measures)), flags])
    assert (Categories.of(X) is not None) == is_read


@pytest.mark.slow
def test_a_table_of_counts_is_grouped_by_topics_in_seconds():
    """Sixty sparse columns of up to ten values beside some of more took minutes."""
    rng = np.random.default_rng(0)
    shares = rng.gamma(0.1, size=(5, 60))
    topic = np.arange(100) % 5
    X = rng.poisson(30 * (shares / shares.sum(axis=1, keepdims=True))[topic]).astype(float)
    assert Categories.of(X).measures.size
    model = GuidedClustering(random_state=0).fit(X)
    assert adjusted_rand_score(topic, model.labels_) > 0.95
