"""Guided clustering of answers alone, of graded answers, and of many small groups."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._alone import evidence_of, gain_of_dont_knows
from clew.exceptions import InvalidArgumentError, NoGroupsWarning

pytestmark = pytest.mark.usefixtures("small_search")

N_ROWS = 90


def classes(seed, n_groups=3, n_rows=N_ROWS):
    return np.random.RandomState(seed).permutation(np.arange(n_rows) % n_groups)


def identities(seed, n_rows=200, repeats=1, error=0.02):
    """Groups of one to three rows, and questions about pairs that look alike."""
    random = np.random.RandomState(seed)
    y = random.permutation(np.repeat(np.arange(n_rows), random.randint(1, 4, n_rows))[:n_rows])
    same = np.argwhere(np.triu(y[:, None] == y, 1))
    other = random.randint(0, n_rows, (4 * n_rows, 2))
    pairs = np.concatenate([same, other[y[other[:, 0]] != y[other[:, 1]]]])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0).repeat(repeats, axis=0)
    is_same = (y[pairs[:, 0]] == y[pairs[:, 1]]) ^ (random.rand(len(pairs)) < error)
    return y, Constraints(n_rows, pairs=np.column_stack([pairs, is_same]))


def by(annotator, answers):
    """Name the annotator of all answers about pairs."""
    pairs = np.column_stack([answers.pairs, answers.pair_answers])
    return Constraints(answers.n_samples, pairs=pairs, pair_annotators=[annotator] * len(pairs))


def graded(seed, n_answers=4000):
    """Triplets about positions on a plane: the nearer row is named more often, but not always."""
    random = np.random.RandomState(seed)
    y = classes(seed, 3, 45)
    z = np.array([[0, 0], [3, 0], [0, 3]])[y] + random.normal(size=(45, 2))
    rows = np.stack([random.permutation(45)[:3] for _ in range(n_answers)])
    near = np.linalg.norm(z[rows[:, :1]] - z[rows[:, 1:]], axis=2)
    is_second = random.rand(n_answers) > 1 / (1 + np.exp(near[:, 0] - near[:, 1]))
    return y, Constraints(45, triplets=np.column_stack([rows, is_second]))


@pytest.mark.parametrize("X", [None, np.eye(N_ROWS)], ids=["no features", "useless features"])
def test_pairs_suffice(X):
    y = classes(0)
    answers = Constraints.from_labels(y, n_pairs=5 * N_ROWS, error=0.1, random_state=0)
    model = GuidedClustering(3, random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert model.regime_ == "answers"
    assert model.probabilities_.shape == (N_ROWS, 3)
    assert 0.05 < model.error_rate_ < 0.2
    assert "Decided by answers" in model.summary()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["n_triplets", "n_odd_one_out"])
def test_answers_about_three_rows_suffice(kind):
    y = classes(1)
    answers = Constraints.from_labels(y, **{kind: 12 * N_ROWS}, error=0.1, random_state=1)
    model = GuidedClustering(3, random_state=0).fit(constraints=answers)
    assert adjusted_rand_score(y, model.labels_) > 0.8


def test_all_groups_are_filled_where_fewer_would_predict_more():
    """Rows of four groups in two pairs; people mostly put rows of a pair of groups together."""
    y = classes(5, 4, 40)
    random = np.random.RandomState(5)
    pairs = np.stack([random.permutation(40)[:2] for _ in range(1500)])
    is_equal = y[pairs[:, 0]] == y[pairs[:, 1]]
    is_like = y[pairs[:, 0]] // 2 == y[pairs[:, 1]] // 2
    p_same = np.select([is_equal, is_like], [0.98, 0.75], 0.02)
    said = random.rand(len(pairs)) < p_same
    answers = Constraints(40, pairs=np.column_stack([pairs, said]))
    model = GuidedClustering(4, random_state=0).fit(constraints=answers)
    assert len(np.unique(model.labels_)) == 4
    assert adjusted_rand_score(y // 2, model.labels_) > 0.4
    assert adjusted_rand_score(y, model.labels_) > 0.6


def test_the_number_of_groups_follows_from_answers_alone():
    y = classes(2, 4)
    answers = Constraints.from_labels(y, n_pairs=8 * N_ROWS, random_state=2)
    model = GuidedClustering(random_state=0).fit(constraints=answers)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.fixture(scope="module")
def of_graded():
    return GuidedClustering(3, random_state=0).fit(np.eye(45), constraints=graded(0)[1])


@pytest.mark.slow
def test_graded_answers_are_read_in_a_space(of_graded):
    (y, answers), model = graded(0), of_graded
    assert model.regime_ == "answers"
    assert adjusted_rand_score(y, model.labels_) > 0.5
    # An answer is wrong if the groups imply another one, even if it is "graded".
    a, *others = model.labels_[answers.triplets.T]
    is_like = np.stack(others) == a
    is_determined = is_like[0] != is_like[1]
    share = (is_like[1] != (answers.triplet_answers == 1))[is_determined].mean()
    assert model.error_rate_ == pytest.approx(share, abs=0.05)
    assert model.confusion_.error_rates_ == pytest.approx([model.error_rate_])


def test_groups_tell_which_triplets_are_not_known():
    answers = Constraints.from_labels(classes(0), n_triplets=200, random_state=0)
    gains = [
        gain_of_dont_knows(
            SimpleNamespace(
                partitions=[SimpleNamespace(error=np.array([0.05]))], probabilities=np.eye(3)[y]
            ),
            answers,
        )
        for y in (classes(0), classes(1))
    ]
    assert gains[0] > 100
    assert gains[1] == 0


@pytest.mark.slow
def test_the_error_rate_of_several_people_with_graded_answers_is_the_mean_of_theirs():
    _, answers = graded(0, 1000)
    table = np.column_stack([answers.triplets, answers.triplet_answers])
    named = Constraints(45, triplets=table, triplet_annotators=["ann", "ben"] * 500)
    model = GuidedClustering(3, random_state=0).fit(constraints=named)
    assert model.error_rate_ == pytest.approx(model.confusion_.error_rates_.mean())
    low, high = model.error_interval_
    assert low <= model.error_rate_ <= high
    assert f"Error rate of the answers: {model.error_rate_:.1%}" in model.summary()


@pytest.fixture(scope="module")
def of_identities():
    """A model of many small groups, from answers alone."""
    return GuidedClustering(random_state=0).fit(constraints=identities(0)[1])


@pytest.fixture(scope="module")
def of_pairs():
    """A model of three groups, from answers about pairs alone."""
    answers = Constraints.from_labels(classes(0), n_pairs=300, random_state=0)
    return GuidedClustering(3, random_state=0).fit(constraints=answers)


@pytest.mark.slow
def test_many_small_groups_are_found(of_identities):
    (y, _), model = identities(0), of_identities
    assert model.regime_ == "identities"
    assert adjusted_rand_score(y, model.labels_) > 0.7
    assert model.n_clusters_ == len(np.unique(model.labels_))
    assert np.isfinite(model.answer_posterior_.pairs).all()


def test_rows_that_nobody_was_asked_about_may_belong_to_any_group():
    y = np.repeat(np.arange(5), 20)
    random = np.random.RandomState(0)
    pairs = random.permutation(80)[:60].reshape(30, 2)  # the last twenty rows are in none
    answers = Constraints(100, pairs=np.column_stack([pairs, y[pairs[:, 0]] == y[pairs[:, 1]]]))
    with pytest.warns(NoGroupsWarning, match="answers too few to group"):
        model = GuidedClustering(random_state=0).fit(constraints=answers)
    assert model.regime_ == "identities"
    sure = model.probabilities_[np.arange(100), model.labels_]
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.probabilities_.argmax(axis=1), model.labels_)
    is_matched = np.isin(np.arange(100), pairs[y[pairs[:, 0]] == y[pairs[:, 1]]])
    assert sure[80:].max() < 0.1 < sure[is_matched].min()


@pytest.mark.slow
def test_wrong_answers_about_identities_are_doubted():
    y, answers = identities(1, repeats=3, error=0.05)
    model = GuidedClustering(random_state=0).fit(constraints=answers)
    is_wrong = answers.is_must_link != (y[answers.pairs[:, 0]] == y[answers.pairs[:, 1]])
    doubted = model.answer_posterior_.pairs > 0.5
    assert doubted[is_wrong].mean() > 0.9
    assert doubted[~is_wrong].mean() < 0.02


@pytest.mark.parametrize("case", ["features", "answers", "graded", "identities"])
def test_the_tree_holds_the_groups(case, of_pairs, of_graded, of_identities):
    y = classes(0)
    X = np.random.RandomState(0).normal(size=(N_ROWS, 2)) + 6 * np.eye(3)[y][:, :2]
    model = {
        "features": lambda: GuidedClustering(3, random_state=0).fit(X),
        "answers": lambda: of_pairs,
        "graded": lambda: of_graded,
        "identities": lambda: of_identities,
    }[case]()
    n = len(model.labels_)
    assert model.tree_.shape == (n - 1, 4)
    assert is_valid_linkage(model.tree_)
    cut = fcluster(model.tree_, model.n_clusters_, "maxclust")
    assert adjusted_rand_score(cut, model.labels_) == 1
    assert len(np.unique(fcluster(model.tree_, 2, "maxclust"))) == 2


def test_new_rows_need_features(of_pairs):
    with pytest.raises(InvalidArgumentError, match="without X"):
        of_pairs.predict(np.eye(N_ROWS))
    found = str(of_pairs.explain(0, 1))
    assert "Together" in found or "apart" in found.lower()


def test_fit_without_features_and_answers_is_refused():
    with pytest.raises(InvalidArgumentError, match="both are None"):
        GuidedClustering().fit()


def test_no_features_and_no_informative_answers_are_refused():
    answers = Constraints(5, pairs=[(0, 1, "dont_know"), (2, 3, "dont_know")])
    with pytest.raises(InvalidArgumentError, match="there is no answer"):
        GuidedClustering(2).fit(constraints=answers)


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter():
    y, answers = identities(4, repeats=3)
    order = np.random.RandomState(0).permutation(len(y))
    place = np.argsort(order)
    moved = Constraints(len(y), pairs=np.column_stack([place[answers.pairs], answers.pair_answers]))
    one = GuidedClustering(random_state=0).fit(constraints=answers).labels_
    other = GuidedClustering(random_state=0).fit(constraints=moved).labels_
    assert adjusted_rand_score(one, other[place]) > 0.98


def test_a_regime_survives_pickling(of_pairs):
    again = pickle.loads(pickle.dumps(of_pairs))
    assert again.regime_ == of_pairs.regime_
    assert again.regime_.reason == of_pairs.regime_.reason
    assert np.array_equal(again.tree_, of_pairs.tree_)


def test_answers_that_are_all_same_are_all_followed():
    joined = [(i, j) for i in range(0, 60, 4) for j in range(i + 1, 60, 7)]
    answers = Constraints.from_pairs(must_link=joined, n_samples=60)
    model = GuidedClustering(random_state=0).fit(constraints=answers)
    links = coo_array((np.ones(len(joined)), tuple(np.transpose(joined))), (60, 60))
    assert model.n_clusters_ == connected_components(links)[0] == 9
    assert model.n_violated_ == 0
    assert "all answers are 'same'" in model.regime_.reason


BAD = {
    "one annotator contradicts everybody": lambda y: (
        by("ann", Constraints.from_labels(y, 300, random_state=0))
        + by("eve", Constraints.from_labels(y, 300, error=1.0, random_state=1))
    ),
    "only annotators who contradict everybody": lambda y: by(
        "eve", Constraints.from_labels(y, 300, error=1.0, random_state=1)
    ),
    "all the same": lambda y: Constraints(
        N_ROWS, pairs=[(i, i + 1, "same") for i in range(N_ROWS - 1)]
    ),
    "all different": lambda y: Constraints(
        N_ROWS, pairs=[(i, i + 1, "different") for i in range(N_ROWS - 1)]
    ),
    "one answer": lambda y: Constraints(N_ROWS, pairs=[(0, 1, "same")]),
    "all about ten rows": lambda y: Constraints(
        N_ROWS,
        pairs=np.random.RandomState(0).randint(0, 2, (20_000, 1))
        + np.column_stack([np.full(20_000, k) for k in (0, 4, 0)]),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_clusters"), [(name, (None, 3)[at % 2]) for at, name in enumerate(BAD)]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_unusual_answers_give_groups(name, n_clusters):
    answers = BAD[name](classes(0))
    model = GuidedClustering(n_clusters, random_state=0).fit(constraints=answers)
    assert model.labels_.shape == (N_ROWS,)
    assert np.allclose(np.asarray(model.probabilities_.sum(axis=1)).ravel(), 1)
    assert model.tree_.shape == (N_ROWS - 1, 4)
    assert model.summary()


@pytest.mark.slow
def test_small_groups_of_a_given_number_are_as_good_as_without_the_number(of_identities):
    y, answers = identities(0)
    n_groups = len(np.unique(y))
    model = GuidedClustering(n_groups, random_state=0).fit(constraints=answers)
    assert (model.regime_, model.n_clusters_) == ("identities", n_groups)
    of_open = adjusted_rand_score(y, of_identities.labels_)
    assert adjusted_rand_score(y, model.labels_) > of_open - 0.05


@pytest.mark.slow
def test_rows_that_stay_alone_for_want_of_answers_are_named():
    few = Constraints.from_pairs(cannot_link=[(0, 1), (2, 3)], n_samples=12)
    with pytest.warns(NoGroupsWarning, match="answers too few to group"):
        model = GuidedClustering(random_state=0).fit(constraints=few)
    assert model.n_clusters_ == 12
    every = [(i, j) for i in range(12) for j in range(i)]
    all_different = Constraints.from_pairs(cannot_link=every, n_samples=12)
    assert GuidedClustering(random_state=0).fit(constraints=all_different).n_clusters_ == 12


def random_pairs(seed, n_answers, error):
    """Answers about random pairs of 120 rows in four groups."""
    random = np.random.default_rng(seed)
    y = random.integers(4, size=120)
    pairs = np.array([random.choice(120, 2, replace=False) for _ in range(n_answers)])
    is_same = (y[pairs[:, 0]] == y[pairs[:, 1]]) ^ (random.random(n_answers) < error)
    return y, Constraints(120, pairs=np.column_stack([pairs, is_same]))


@pytest.mark.slow
def test_large_groups_are_not_taken_for_many_small_ones():
    """Correlation clustering alone finds 30 groups, at an ARI of .10."""
    y, answers = random_pairs(0, 900, 0.1)
    model = GuidedClustering(random_state=0).fit(constraints=answers)
    assert (model.regime_, model.n_clusters_ <= 8) == ("answers", True)
    assert adjusted_rand_score(y, model.labels_) > 0.5


@pytest.mark.slow
def test_small_groups_of_few_answers_are_said_to_be_no_more_than_that():
    """One answer for each row: the number of groups follows from what was not asked."""
    _, answers = random_pairs(0, 120, 0.0)
    with pytest.warns(NoGroupsWarning, match="answers too few to group"):
        model = GuidedClustering(random_state=0).fit(constraints=answers)
    assert model.regime_ == "identities"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GuidedClustering(4, random_state=0).fit(constraints=answers)


@pytest.mark.slow
def test_few_answers_about_large_groups_are_said_to_be_few():
    """Pairs of successive rows, every fifth row in the other group: third groups are possible."""
    rows = np.arange(30)
    pairs = np.column_stack([rows[:-1], rows[1:], (rows[:-1] % 5 > 0) & (rows[1:] % 5 > 0)])
    answers = Constraints(30, pairs=pairs)
    with pytest.warns(NoGroupsWarning, match="answers too few to group"):
        model = GuidedClustering(random_state=0).fit(constraints=answers)
    assert model.n_violated_ == 0


def test_answers_of_little_weight_are_little_evidence():
    """Of how probable groups are; `Constraints` honors weights softly."""
    y, answers = random_pairs(0, 240, 0.0)
    pairs = np.column_stack([answers.pairs, answers.pair_answers])
    light = Constraints(120, pairs=pairs, pair_weights=np.full(240, 1e-9))
    labels = np.arange(120)
    lead_of = [evidence_of(y, of) - evidence_of(labels, of) for of in (answers, light)]
    assert lead_of[0] - lead_of[1] > 50


@pytest.mark.slow
def test_an_answer_that_no_other_contradicts_is_not_doubted():
    """Questions about 300 rows, a tenth of the answers wrong; most pairs differ."""
    y, answers = identities(5, n_rows=300, error=0.1)
    model = GuidedClustering(random_state=0).fit(constraints=answers)
    said, (i, j) = answers.pair_answers, answers.pairs.T
    doubt, labels = model.answer_posterior_.pairs, model.labels_
    between = {
        tuple(sorted(pair)) for pair in np.column_stack([labels[i], labels[j]])[said == 0].tolist()
    }
    for at in np.flatnonzero((said == 1) & (doubt > 0.5)):
        assert tuple(sorted((labels[i[at]], labels[j[at]]))) in between
    wrong = (said == 1) != (y[i] == y[j])
    assert wrong[doubt > 0.5].mean() > 0.5


@pytest.mark.slow
def test_features_of_noise_do_not_hide_many_small_groups():
    y, answers = identities(0, 120, repeats=2)
    X = np.random.RandomState(0).normal(size=(120, 5))
    model = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert model.regime_ in ("answers", "identities")
    assert 0.5 * len(np.unique(y)) < model.n_clusters_ < 1.5 * len(np.unique(y))
    assert adjusted_rand_score(y, model.labels_) > 0.4


@pytest.mark.slow
def test_forced_choices_between_three_groups_are_not_doubted_however_the_answers_are_read():
    random = np.random.RandomState(0)
    y = np.arange(24) % 4
    rows = np.stack([random.permutation(24)[:3] for _ in range(600)])
    is_odd = (y[rows][:, :, None] == y[rows][:, None]).sum(axis=2) == 1
    chosen = np.where(is_odd.sum(axis=1) == 1, is_odd.argmax(axis=1), random.randint(3, size=600))
    known = Constraints(24, odd_one_out=np.column_stack([rows, chosen]))
    is_open = is_odd.all(axis=1)
    for n_clusters in (None, 4):  # without the number, these answers seem to be graded
        model = GuidedClustering(n_clusters, random_state=0).fit(constraints=known)
        assert adjusted_rand_score(y, model.labels_) > 0.9
        assert (model.answer_posterior_.odd_one_out[is_open] < 0.1).all()


def test_no_probability_is_rounded_above_one():
    """Four rows in one group had 1 + 2e-16, which sessions refuse."""
    answers = Constraints(4, pairs=[(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 2, 1)])
    model = GuidedClustering(random_state=0).fit(constraints=answers)
    assert model.n_clusters_ == 1
    assert model.probabilities_.max() <= 1
