"""COPRF: which answers hold, its components, its distances, and which results stay the same."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.exceptions import InconsistentConstraintsError, InvalidParameterError
from clew.similarity import COPRF, ClustRF, coprf as module
from clew.similarity.coprf import (
    MAX_ENTAILED,
    AnswerWeights,
    LocalGaussian,
    Space,
    distances_are_informative,
    hard_links,
    remixed_graph,
)

X, y = load_iris(return_X_y=True)
ANSWERS = Constraints.from_labels(y, 60, random_state=0)
NOISY = Constraints.from_labels(y, 90, error=0.15, dont_know=0.1, random_state=1)

#: The forest alone, without principal components, distances and weights.
PLAIN = {"components": None, "euclidean": 0.0, "proximity": "leaf"}


def coprf(**parameters):
    return COPRF(**({"n_trees": 40, "random_state": 0} | PLAIN | parameters))


def violated(leaf, must_link, cannot_link):
    """Count, tree by tree, must-links between leaves and cannot-links within one."""
    return np.array([
        sum(tree[i] != tree[j] for i, j in must_link)
        + sum(tree[i] == tree[j] for i, j in cannot_link)
        for tree in leaf
    ])  # fmt: skip


def entailed(constraints):
    rows, answers = constraints.closure().entailed_pairs()
    return rows[answers == 1], rows[answers == 0]


@st.composite
def consistent_answers(draw):
    labels = draw(st.lists(st.integers(0, 2), min_size=40, max_size=40))
    n_pairs = draw(st.integers(1, 60))
    return Constraints.from_labels(labels, n_pairs, random_state=draw(st.integers(0, 99)))


@settings(max_examples=25)
@given(answers=consistent_answers())
def test_hard_trees_never_separate_a_must_link_that_is_given_or_entailed(answers):
    model = coprf(n_trees=8, mode="hard", share=1.0, trust=None)
    leaf = model.fit(X[:80:2], constraints=answers).forest_.leaf
    must_link, cannot_link = entailed(answers)
    i, j = must_link.T
    np.testing.assert_array_equal(leaf[:, i], leaf[:, j])
    np.testing.assert_array_equal(model.n_violated_, violated(leaf, must_link, cannot_link))


def test_rows_that_must_links_keep_together_share_leaves_though_far_apart():
    far = np.array([[int(np.argmin(X[:, 2])), int(np.argmax(X[:, 2]))]])
    c = Constraints.from_pairs(must_link=far, n_samples=150)
    model = coprf(mode="hard", share=1.0, trust=None).fit(X, constraints=c)
    assert model.affinity_matrix_[tuple(far[0])] == 1
    assert model.n_violated_.sum() == 0


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_cannot_links_are_honored_more_often_than_without_answers(mode):
    # Rows of one class, which the forest without answers rarely separates.
    pairs = np.random.default_rng(0).choice(50, (30, 2))
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (X[pairs[:, 0]] != X[pairs[:, 1]]).any(axis=1)]
    c = Constraints.from_pairs(cannot_link=pairs, n_samples=150)
    i, j = pairs.T
    together = [
        (model.leaf[:, i] == model.leaf[:, j]).mean()
        for model in (
            coprf(mode=mode, share=1.0, trust=None).fit(X).forest_,
            coprf(mode=mode, share=1.0, trust=None).fit(X, constraints=c).forest_,
        )
    ]
    assert together[1] < 0.75 * together[0]


@pytest.mark.parametrize("answers", [ANSWERS, NOISY], ids=["right", "noisy"])
def test_soft_violations_are_counted_from_the_leaves(answers):
    model = coprf(share=1.0, trust=None).fit(X, constraints=answers)
    expected = violated(model.forest_.leaf, answers.must_link, answers.cannot_link)
    np.testing.assert_array_equal(model.n_violated_, expected)
    assert model.n_violated_.any()


def test_repeated_answers_count_each_time_when_soft():
    model = coprf(share=1.0, trust=None).fit(X, constraints=ANSWERS + ANSWERS)
    expected = violated(model.forest_.leaf, ANSWERS.must_link, ANSWERS.cannot_link)
    np.testing.assert_array_equal(model.n_violated_, 2 * expected)


def test_a_tree_follows_its_share_of_the_answers():
    # Rows that coincide are never separated, so every drawn answer is violated.
    rows = np.zeros((30, 3))
    rows[25:] = np.random.default_rng(0).normal(size=(5, 3))
    c = Constraints.from_pairs(cannot_link=[(0, k) for k in range(1, 25)], n_samples=30)
    for mode, share, expected in (("soft", 0.4, 0.4), ("hard", 0.5, 0.5), ("soft", 1.0, 1.0)):
        model = coprf(n_trees=300, mode=mode, share=share, trust=None).fit(rows, constraints=c)
        assert model.n_violated_.mean() == pytest.approx(24 * expected, rel=0.06)


@pytest.mark.parametrize("chain", [(0, 5), (0, 5, 9, 3)])
def test_contradictions_are_refused_by_name_when_hard(chain):
    c = Constraints.from_pairs(
        must_link=list(pairwise(chain)), cannot_link=[(chain[0], chain[-1])], n_samples=150
    )
    with pytest.raises(InconsistentConstraintsError) as caught:
        coprf(mode="hard", trust=None).fit(X, constraints=c)
    assert caught.value.chain in (chain, chain[::-1])
    for row in chain:
        assert str(row) in str(caught.value)
    assert "soft mode" in str(caught.value)
    for accepted in ({"mode": "soft", "trust": None}, {"mode": "hard", "trust": "inconsistency"}):
        assert coprf(**accepted).fit(X, constraints=c).n_violated_.shape == (40,)


def test_answers_of_weight_0_contradict_nothing():
    c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 1)], n_samples=150)
    c = c.with_weights(pair_weights=[1.0, 0.0])
    model = coprf(mode="hard", share=1.0, trust=None).fit(X, constraints=c)
    assert model.affinity_matrix_[0, 1] == 1


def test_answers_of_weight_0_are_ignored():
    weightless = ANSWERS.with_weights(pair_weights=np.zeros(60))
    for mode in ("soft", "hard"):
        plain = coprf(mode=mode, trust=None).fit(X).affinity_matrix_
        other = coprf(mode=mode, trust=None).fit(X, constraints=weightless).affinity_matrix_
        np.testing.assert_array_equal(plain, other)


@pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
def test_answers_of_weight_0_among_others_are_ignored(kind):
    more = Constraints.from_pairs(**{kind: [(0, 89)] * 5}, n_samples=len(X), weights=0.0)
    expected = coprf(trust=None).fit(X, constraints=ANSWERS).affinity_matrix_
    found = coprf(trust=None).fit(X, constraints=ANSWERS + more).affinity_matrix_
    np.testing.assert_array_equal(found, expected)


def test_answers_of_larger_weight_hold_more_often():
    few = ANSWERS.select(pairs=ANSWERS.is_cannot_link)
    counts = [
        violated(
            coprf(trust=None, share=1.0)
            .fit(X, constraints=few.with_weights(pair_weights=np.full(len(few), weight)))
            .forest_.leaf,
            [], few.cannot_link,
        ).mean()
        for weight in (0.0, 1.0)
    ]  # fmt: skip
    assert counts[1] < counts[0]


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_dont_knows_are_ignored(mode):
    unknown = Constraints.from_pairs(dont_know=ANSWERS.pairs, n_samples=150)
    for trust in ("auto", "posterior", "inconsistency", None):
        model = coprf(mode=mode, trust=trust).fit(X, constraints=unknown)
        np.testing.assert_array_equal(
            model.affinity_matrix_, coprf(mode=mode).fit(X).affinity_matrix_
        )
        assert not model.constraint_weight_.any()
        assert np.isnan(model.doubt_).all()
        assert model.error_rate_ is None


def test_without_answers_the_forest_is_that_of_clustrf():
    plain, steered = ClustRF(40, proximity="leaf"), coprf()
    forests = []
    for model in (plain, steered):
        model._grow(X, [3, 4])
        forests.append(model.forest_)
    np.testing.assert_array_equal(forests[0].leaf, forests[1].leaf)


@pytest.mark.parametrize("trust", ["auto", "posterior", "inconsistency", None])
def test_estimates_have_one_entry_for_each_answer(trust):
    model = coprf(trust=trust).fit(X, constraints=NOISY)
    known = ~NOISY.is_dont_know
    assert model.constraint_weight_.shape == model.doubt_.shape == (90,)
    assert not model.constraint_weight_[~known].any()
    assert np.isnan(model.doubt_[~known]).all()
    assert model.constraint_weight_.min() >= 0
    assert model.constraint_weight_.max() <= 1
    if trust in ("auto", "posterior"):
        assert 0.02 < model.error_rate_ < 0.35
        assert ((model.doubt_[known] > 0) & (model.doubt_[known] < 1)).all()
    else:
        assert model.error_rate_ is None
        assert np.isnan(model.doubt_).all()
    if trust == "posterior":
        np.testing.assert_allclose(model.constraint_weight_[known], 1 - model.doubt_[known])
    if trust == "inconsistency":
        assert (model.constraint_weight_ == 1).sum() == round(known.sum() / 2)
    if trust is None:
        np.testing.assert_array_equal(model.constraint_weight_, known)


def test_wrong_answers_are_doubted():
    points, truth = make_blobs(200, 5, centers=4, cluster_std=2.0, random_state=0)
    answers = Constraints.from_labels(truth, 300, error=0.15, random_state=0)
    i, j = answers.pairs.T
    is_wrong = answers.is_must_link != (truth[i] == truth[j])
    model = coprf(trust="auto").fit(points, constraints=answers)
    assert model.doubt_[is_wrong].mean() > 0.6
    assert model.doubt_[~is_wrong].mean() < 0.1
    assert model.error_rate_ == pytest.approx(0.15, abs=0.06)


def attributes(model):
    return [
        model.affinity_matrix_, model.kneighbors_graph(9).toarray(), model.transform(X[:9] + 0.1),
        model.constraint_weight_, model.doubt_, model.n_violated_, model.forest_.leaf,
        np.array([model.error_rate_], dtype=float),
    ]  # fmt: skip


def assert_same(one, other):
    for a, b in zip(attributes(one), attributes(other), strict=True):
        np.testing.assert_array_equal(a, b)


SETTINGS = [
    {},
    {"mode": "hard", "trust": "inconsistency"},
    {"trust": "posterior", "proximity": "adaptive", "euclidean": 0.5, "components": 3},
]


@pytest.mark.parametrize("parameters", SETTINGS)
def test_threads_and_seed(parameters):
    fits = [coprf(**parameters, n_jobs=n_jobs).fit(X, constraints=NOISY) for n_jobs in (1, 2, None)]
    assert_same(fits[0], fits[1])
    assert_same(fits[0], fits[2])
    other = coprf(**parameters, random_state=1).fit(X, constraints=NOISY)
    assert not np.array_equal(fits[0].forest_.leaf, other.forest_.leaf)


@pytest.mark.parametrize("parameters", SETTINGS)
@pytest.mark.parametrize("is_computed", [False, True])
def test_pickles_and_clones(parameters, is_computed):
    model = coprf(**parameters).fit(X, constraints=NOISY)
    if is_computed:
        _ = model.affinity_matrix_
    assert_same(model, pickle.loads(pickle.dumps(model)))
    copy = clone(model)
    assert not hasattr(copy, "forest_")
    assert copy.get_params() == model.get_params()
    assert_same(model, copy.fit(X, constraints=NOISY))


@pytest.mark.parametrize("parameters", SETTINGS)
def test_affinities_are_symmetric_and_those_of_transform(parameters):
    model = coprf(**parameters).fit(X, constraints=NOISY)
    A = model.affinity_matrix_
    np.testing.assert_allclose(A, A.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(A), 1, atol=1e-6)
    np.testing.assert_allclose(model.transform(X), A, atol=1e-5)
    assert A.min() >= 0
    assert A.max() <= 1 + 1e-6


def test_more_entailed_answers_than_are_taken(monkeypatch):
    monkeypatch.setattr(module, "MAX_ENTAILED", 20)
    model = coprf(mode="hard", share=1.0, trust=None).fit(X, constraints=ANSWERS)
    i, j = ANSWERS.must_link.T
    np.testing.assert_array_equal(model.forest_.leaf[:, i], model.forest_.leaf[:, j])


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "firm"},
        {"share": 0.0},
        {"share": 1.5},
        {"share": "all"},
        {"trust": "blind"},
        {"components": 0},
        {"euclidean": -0.1},
    ],
)
def test_parameters_out_of_range_are_named(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidParameterError, match=rf"COPRF\({name}={value!r}\): {name} must"):
        COPRF(**wrong).fit(X)


SIGNS = np.array([1.0, -1.0])


def test_components_are_those_of_standardized_features() -> None:
    space = Space.fit(X, 20, "auto", 0)
    widened = space.widened(X)
    assert widened.shape == (150, 8)
    np.testing.assert_array_equal(widened[:, :4], X)
    scores = PCA(4).fit_transform(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(np.abs(widened[:, 4:]), np.abs(scores), atol=1e-8)


@pytest.mark.parametrize(
    ("components", "auto", "width"), [(None, 20, 4), ("auto", 0, 4), (2, 0, 6)]
)
def test_number_of_components(components: int | str | None, auto: int, width: int) -> None:
    assert Space.fit(X, auto, components, 0).widened(X).shape[1] == width


def test_one_feature_and_constant_features_have_no_components() -> None:
    assert Space.fit(X[:, :1], 20, "auto", 0).widened(X[:, :1]).shape[1] == 1
    constant = np.ones((10, 3))
    assert Space.fit(constant, 20, "auto", 0).widened(constant).shape[1] == 3


def test_units_of_features_do_not_matter() -> None:
    answers = Constraints.from_labels(y, 60, error=0.1, random_state=0)
    # Powers of two: the bins, and all that is computed from the ranges, stay the same to the bit.
    rescaled = X * np.array([2.0**20, 2.0**-9, 1.0, 8.0])
    fits = [
        COPRF(n_trees=40, random_state=0).fit(data, constraints=answers) for data in (X, rescaled)
    ]
    np.testing.assert_array_equal(fits[0].doubt_, fits[1].doubt_)
    np.testing.assert_array_equal(fits[0].affinity_matrix_, fits[1].affinity_matrix_)


@pytest.mark.parametrize("mix", [0.0, 0.3, 1.0])
def test_mix_is_a_weighted_mean_of_forest_and_distances(mix: float) -> None:
    answers = Constraints.from_labels(y, 40, random_state=0)
    parts = [
        COPRF(n_trees=30, euclidean=share, random_state=1).fit(X, constraints=answers)
        for share in (0.0, 1.0, mix)
    ]
    forest, distances, mixed = (part.affinity_matrix_ for part in parts)
    np.testing.assert_allclose(mixed, (1 - mix) * forest + mix * distances, atol=1e-6)
    np.testing.assert_allclose(parts[2].transform(X), mixed, atol=1e-5)


def test_graph_holds_entries_of_the_mix() -> None:
    answers = Constraints.from_labels(y, 40, random_state=0)
    model = COPRF(n_trees=60, euclidean=0.5, random_state=0).fit(X, constraints=answers)
    graph = model.kneighbors_graph(10)
    assert graph.shape == (150, 150)
    assert np.diff(graph.indptr).max() <= 10
    assert not graph.diagonal().any()
    rows = np.repeat(np.arange(150), np.diff(graph.indptr))
    assert (y[rows] == y[graph.indices]).mean() > 0.9
    forest = COPRF(n_trees=60, euclidean=0.0, random_state=0).fit(X, constraints=answers)
    at = rows, graph.indices
    assert (graph.data >= 0.5 * forest.kneighbors_graph(30).toarray()[at] - 1e-6).all()


def test_hard_mode_leaves_out_what_is_not_in_the_paper() -> None:
    answers = Constraints.from_labels(y, 40, random_state=0)
    auto = COPRF(n_trees=30, mode="hard", trust="inconsistency", random_state=0)
    plain = COPRF(
        n_trees=30, mode="hard", trust="inconsistency", random_state=0,
        components=None, euclidean=0.0, proximity="leaf", share=0.5,
    )  # fmt: skip
    matrices = [model.fit(X, constraints=answers).affinity_matrix_ for model in (auto, plain)]
    np.testing.assert_array_equal(*matrices)


def test_hard_trees_leave_out_answers_that_are_probably_wrong() -> None:
    answers = Constraints.from_labels(y, 120, error=0.1, random_state=0)
    model = COPRF(n_trees=60, mode="hard", trust="posterior", share=1.0, random_state=0)
    model.fit(X, constraints=answers)
    kept = answers.select(pairs=model.doubt_ < 0.5)
    assert len(kept.pairs) < len(answers.pairs)
    leaf = model.forest_.leaf
    i, j = kept.must_link.T
    assert (leaf[:, i] == leaf[:, j]).all()
    doubted = answers.select(pairs=answers.is_must_link & (model.doubt_ > 0.5)).must_link
    assert len(doubted)
    assert (leaf[:, doubted[:, 0]] != leaf[:, doubted[:, 1]]).any()


GENERATOR = np.random.RandomState(0)
#: The first feature separates the groups of the answers, the other eight separate other groups.
TRUTH, OTHERS = GENERATOR.randint(0, 2, (2, 120))
SPLIT = np.hstack([
    GENERATOR.normal(size=(120, 1)) + 2 * TRUTH[:, None],
    0.3 * GENERATOR.normal(size=(120, 8)) + 4 * OTHERS[:, None],
])  # fmt: skip
MEANT = Constraints.from_labels(TRUTH, 150, random_state=0)
APART = Constraints.from_labels(OTHERS, 150, random_state=0)


def test_alternative_is_the_same_forest_without_distances():
    model = COPRF(40, random_state=0).fit(SPLIT, constraints=MEANT)
    (alternative,) = model.alternatives()
    alone = COPRF(40, euclidean=0.0, random_state=0).fit(SPLIT, constraints=MEANT)
    np.testing.assert_array_equal(alternative.affinity_matrix_, alone.affinity_matrix_)
    np.testing.assert_array_equal(alternative.transform(SPLIT[:5]), alone.transform(SPLIT[:5]))
    assert (model.euclidean_, alternative.euclidean_) == (0.5, 0.0)
    assert abs(model.affinity_matrix_ - alone.affinity_matrix_).max() > 0.1


@pytest.mark.parametrize("parameters", [{"euclidean": 0.5}, {"euclidean": 0.0}, {"mode": "hard"}])
def test_a_given_share_of_distances_has_no_alternative(parameters):
    model = COPRF(10, random_state=0, **parameters)
    assert model.fit(SPLIT, constraints=MEANT).alternatives() == []


def test_no_alternative_if_distances_are_informative_or_all_answers_are_must_links():
    one_kind = Constraints.from_pairs(must_link=[(0, 1), (2, 3)], dont_know=[(4, 5)], n_samples=120)
    for known in (APART, one_kind, None):
        assert COPRF(10, random_state=0).fit(SPLIT, constraints=known).alternatives() == []


def test_distances_are_those_of_the_gaussian_affinities():
    # The area under the curve is that of the affinities that would be mixed in.
    from sklearn.metrics import roc_auc_score

    for known in (MEANT, APART):
        A = LocalGaussian(SPLIT).affinity(SPLIT)[tuple(known.pairs.T)]
        area = roc_auc_score(known.is_must_link, A, sample_weight=known.pair_weights)
        assert distances_are_informative(SPLIT, known, known.pair_weights, 0) == (
            area >= module.INFORMATIVE_AUC
        )
    assert not distances_are_informative(SPLIT, MEANT, MEANT.pair_weights, 0)


def test_answers_of_weight_0_do_not_count():
    both = MEANT + APART
    for weighted, is_informative in ((MEANT, False), (APART, True)):
        first = np.arange(len(both)) < len(MEANT)
        weight = np.where(first == (weighted is MEANT), 1.0, 0.0)
        assert distances_are_informative(SPLIT, both, weight, 0) == is_informative


def test_many_answers_are_sampled(monkeypatch):
    monkeypatch.setattr(module, "MAX_ANSWERS", 60)
    assert not distances_are_informative(SPLIT, MEANT, MEANT.pair_weights, 0)
    assert distances_are_informative(SPLIT, APART, APART.pair_weights, 0)


def expected_graph(proposed, rows, mix, n_neighbors):
    """Mix row by row, and keep the largest entries; the first ones if some are equal."""
    n = len(rows)
    squared = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    scale = np.ones(n)
    for i in range(n):
        apart = sorted(d for d in squared[i, proposed[i] > 0] if d > 1e-10)
        scale[i] = np.sqrt(apart[min(7, len(apart)) - 1]) if apart else 1.0
    graph = np.zeros((n, n))
    for i in range(n):
        candidates = np.flatnonzero(proposed[i])
        gaussian = np.exp(-squared[i, candidates] / (scale[i] * scale[candidates]))
        value = np.float32((1 - mix) * proposed[i, candidates] + mix * gaussian)
        kept = np.argsort(-value, kind="stable")[:n_neighbors]
        graph[i, candidates[kept]] = value[kept]
    return graph


@pytest.mark.parametrize("mix", [0.3, 1.0])
@pytest.mark.parametrize("n_entries", [50, 1 << 16])
def test_graph_is_that_of_the_definition(monkeypatch, mix, n_entries):
    monkeypatch.setattr(module, "ENTRIES_PER_BLOCK", n_entries)
    random = np.random.default_rng(0)
    rows = np.round(random.normal(size=(60, 2)), 1)
    rows[10:14] = rows[9]
    proposed = np.round(random.uniform(size=(60, 60)), 1).astype(np.float32)
    proposed[random.uniform(size=(60, 60)) < 0.8] = 0
    np.fill_diagonal(proposed, 0)
    proposed[5] = 0  # a row without candidates
    proposed[:, 6:8] = 0
    graph = remixed_graph(csr_array(proposed), rows, mix, 4)
    np.testing.assert_allclose(
        graph.toarray(), expected_graph(proposed, rows, mix, 4), rtol=1e-5, atol=1e-7
    )
    assert graph.dtype == np.float32


def test_rows_that_never_meet_have_an_empty_graph():
    X = np.random.default_rng(0).normal(size=(4, 3))
    model = COPRF(
        1, proximity="leaf", euclidean=0.5, components=None, max_samples=8, max_features=None,
        random_state=0,
    ).fit(X)  # fmt: skip
    assert not np.triu(model.forest_.leaf[0][:, None] == model.forest_.leaf[0], 1).any()
    graph = model.kneighbors_graph(2)
    assert graph.shape == (4, 4)
    assert graph.nnz == 0


def bound(known: Constraints) -> tuple[set[tuple[int, ...]], int]:
    weights = AnswerWeights(known.pair_weights.copy(), np.full(len(known.pairs), np.nan), None)
    links = hard_links(known, weights, seed=0)
    return {tuple(sorted(pair)) for pair in links.rows.tolist()}, len(links.rows)


def test_a_sample_of_many_entailed_pairs_binds_no_given_pair_again() -> None:
    # Two chains, of 400 and 50 rows, with a cannot-link between them: 101,025 entailed pairs.
    chain = [(k, k + 1) for k in range(399)] + [(k, k + 1) for k in range(400, 449)]
    # Answers may be repeated, in either order.
    known = Constraints.from_pairs(
        must_link=[*chain, (1, 0)], cannot_link=[(0, 449), (449, 0)], n_samples=450
    )
    assert sum(known.closure().n_entailed()) > MAX_ENTAILED
    pairs, n_links = bound(known)
    assert {*chain, (0, 449)} <= pairs
    assert len(pairs) == n_links > MAX_ENTAILED - 500


def test_few_entailed_pairs_are_all_bound_once() -> None:
    known = Constraints.from_pairs(
        must_link=[(0, 1), (1, 2), (2, 1)], cannot_link=[(2, 3)], n_samples=4
    )
    assert bound(known) == ({(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)}, 6)
